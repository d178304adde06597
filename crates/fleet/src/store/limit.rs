//! Limits on the sessions that run at once in one repository or at one provider, whatever their
//! tenants.

use super::{FleetStore, StoreError};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitKind {
    /// The URL of `workspace.git`, without `.git` and `/` at its end.
    Repository,
    /// What is before the `/` of a session's model; empty for a model without a provider.
    Provider,
}

impl LimitKind {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Repository => "repository",
            Self::Provider => "provider",
        }
    }
}

/// A limit in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredLimit {
    pub kind: String,
    pub name: String,
    pub running_max: i32,
}

impl FleetStore {
    /// Sets a limit, or with `None` removes it. Sessions that run already go on.
    pub async fn put_limit(
        &self,
        kind: LimitKind,
        name: &str,
        running_max: Option<u32>,
    ) -> Result<(), StoreError> {
        let query = match running_max {
            Some(most) => sqlx::query(
                "insert into windlass.limits (kind, name, running_max) values ($1, $2, $3) \
                 on conflict (kind, name) do update set running_max = $3",
            )
            .bind(kind.name())
            .bind(name)
            .bind(i32::try_from(most).unwrap_or(i32::MAX)),
            None => sqlx::query("delete from windlass.limits where kind = $1 and name = $2")
                .bind(kind.name())
                .bind(name),
        };
        query.execute(&self.pool).await?;
        // Sessions that waited may be claimed now.
        sqlx::query("select pg_notify('windlass_queue', '')").execute(&self.pool).await?;
        Ok(())
    }

    pub async fn list_limits(&self) -> Result<Vec<StoredLimit>, StoreError> {
        let rows: Vec<(String, String, i32)> = sqlx::query_as(
            "select kind, name, running_max from windlass.limits order by kind, name limit 10000",
        )
        .fetch_all(&self.pool)
        .await?;
        let to_limit = |(kind, name, running_max)| StoredLimit { kind, name, running_max };
        Ok(rows.into_iter().map(to_limit).collect())
    }
}
