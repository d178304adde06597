//! The schema and its versions: migrated forward only, in one transaction; a foreign schema is
//! refused.

use std::time::Duration;

use sqlx::{Connection, PgConnection};

use super::store_pool::{ANSWER_WAIT, in_time};
use super::{FleetStore, StoreError};

/// The schema version this program works with.
pub const SCHEMA_VERSION: i64 = 5;

/// Each script migrates from the previous version to the given one.
const MIGRATIONS: &[(i64, &str)] = &[
    (1, include_str!("schema_1.sql")),
    (2, include_str!("schema_2.sql")),
    (3, include_str!("schema_3.sql")),
    (4, include_str!("schema_4.sql")),
    (5, include_str!("schema_5.sql")),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemaState {
    /// No schema named `windlass`.
    Missing,
    /// A schema of that name that is not ours.
    NotOurs,
    Version(i64),
}

impl FleetStore {
    pub async fn read_schema(&self) -> Result<SchemaState, StoreError> {
        let mut held = self.pool.connection().await?;
        let state = in_time(ANSWER_WAIT, read_schema(held.get()?)).await?;
        held.release();
        Ok(state)
    }

    /// Fails unless the store has exactly this version.
    pub async fn check_schema(&self) -> Result<(), StoreError> {
        match self.read_schema().await? {
            SchemaState::Missing => Err(StoreError::Missing),
            SchemaState::NotOurs => Err(StoreError::NotOurs),
            SchemaState::Version(found) if found < SCHEMA_VERSION => Err(StoreError::Older(found)),
            SchemaState::Version(found) if found > SCHEMA_VERSION => Err(StoreError::Newer(found)),
            SchemaState::Version(_) => Ok(()),
        }
    }

    /// Migrates the store to this version. Returns its previous version, 0 if it did not exist.
    pub async fn migrate(&self) -> Result<i64, StoreError> {
        let mut held = self.pool.connection().await?;
        let migration = migrate_connection(held.get()?);
        tokio::time::timeout(MIGRATION_WAIT, migration)
            .await
            .map_err(|_| StoreError::SlowMigration)?
    }
}

async fn migrate_connection(connection: &mut PgConnection) -> Result<i64, StoreError> {
    let mut transaction = connection.begin().await?;
    // Rewriting a large table may take long, and so may waiting for another program's lock.
    sqlx::query("set local statement_timeout = 0").execute(&mut *transaction).await?;
    sqlx::query("set local lock_timeout = 0").execute(&mut *transaction).await?;
    // Two concurrent migrations would both see the older version.
    sqlx::query("select pg_advisory_xact_lock(5787213827046133841)")
        .execute(&mut *transaction)
        .await?;
    let before = match read_schema(&mut transaction).await? {
        SchemaState::Missing => 0,
        SchemaState::NotOurs => return Err(StoreError::NotOurs),
        SchemaState::Version(found) if found > SCHEMA_VERSION => {
            return Err(StoreError::Newer(found));
        }
        SchemaState::Version(found) => found,
    };
    for (version, text) in MIGRATIONS {
        if *version > before {
            sqlx::raw_sql(text).execute(&mut *transaction).await?;
            sqlx::query("update windlass.store set version = $1")
                .bind(i32::try_from(*version).unwrap_or(i32::MAX))
                .execute(&mut *transaction)
                .await?;
        }
    }
    transaction.commit().await?;
    Ok(before)
}

async fn read_schema(connection: &mut PgConnection) -> sqlx::Result<SchemaState> {
    let (has_schema, has_marker): (bool, bool) = sqlx::query_as(
        "select to_regnamespace('windlass') is not null, \
         exists (select 1 from information_schema.columns where table_schema = 'windlass' \
         and table_name = 'store' and column_name = 'version')",
    )
    .fetch_one(&mut *connection)
    .await?;
    if !has_schema {
        return Ok(SchemaState::Missing);
    }
    if !has_marker {
        return Ok(SchemaState::NotOurs);
    }
    let version: Option<i64> =
        sqlx::query_scalar("select max(version)::bigint from windlass.store")
            .fetch_one(&mut *connection)
            .await?;
    Ok(version.map_or(SchemaState::NotOurs, SchemaState::Version))
}

/// Rewriting a large store takes long.
const MIGRATION_WAIT: Duration = Duration::from_secs(3600);
