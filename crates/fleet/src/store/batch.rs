//! Batches: sessions that were submitted together, and may share a budget within their tenant's.

use sqlx::postgres::PgRow;
use sqlx::{FromRow, Row};

use super::{FleetStore, StoreError, to_i64};

#[derive(Clone, Copy, Debug)]
pub struct NewBatch<'a> {
    pub id: &'a str,
    pub tenant: &'a str,
    pub name: &'a str,
    /// What its sessions together may spend; `None` keeps what a batch of this id has.
    pub budget_micro: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredBatch {
    pub id: String,
    pub name: String,
    pub tenant: String,
    /// In millionths of a dollar, like the others.
    pub budget_micro: Option<i64>,
    pub spent_micro: i64,
    pub reserved_micro: i64,
    pub sessions: i64,
    /// How many of them are neither queued nor running.
    pub ended: i64,
}

impl FromRow<'_, PgRow> for StoredBatch {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        Ok(Self {
            id: row.try_get("id")?,
            name: row.try_get("name")?,
            tenant: row.try_get("tenant")?,
            budget_micro: row.try_get("budget_micro")?,
            spent_micro: row.try_get("spent_micro")?,
            reserved_micro: row.try_get("reserved_micro")?,
            sessions: row.try_get("sessions")?,
            ended: row.try_get("ended")?,
        })
    }
}

impl FleetStore {
    /// Adds a batch, or changes the budget of the one with this id.
    pub async fn add_batch(&self, batch: NewBatch<'_>) -> Result<(), StoreError> {
        let done = sqlx::query(
            "insert into windlass.batches (id, tenant, name, budget_micro) values ($1, $2, $3, $4) \
             on conflict (id) do update \
             set budget_micro = coalesce(excluded.budget_micro, batches.budget_micro) \
             where batches.tenant = excluded.tenant",
        )
        .bind(batch.id)
        .bind(batch.tenant)
        .bind(batch.name)
        .bind(batch.budget_micro.map(to_i64))
        .execute(&self.pool)
        .await?;
        match done.rows_affected() {
            // Names of tenants that have a slash can lead to the same id.
            0 => Err(StoreError::Invalid("that name cannot be used".to_owned())),
            _ => Ok(()),
        }
    }

    /// The newest batches, of one tenant or of all.
    pub async fn list_batches(&self, tenant: Option<&str>) -> Result<Vec<StoredBatch>, StoreError> {
        let rows = sqlx::query_as(
            "select b.*, s.sessions, s.ended from (select * from windlass.batches \
             where $1::text is null or tenant = $1 order by created desc limit 1000) b \
             cross join lateral (select count(*) as sessions, \
             count(*) filter (where state not in ('queued', 'running')) as ended \
             from windlass.sessions where batch = b.id) s order by b.created desc",
        );
        Ok(rows.bind(tenant).fetch_all(&self.pool).await?)
    }
}
