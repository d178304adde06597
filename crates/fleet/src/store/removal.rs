//! Removes sessions that ended long ago, with everything that belongs to them.

use std::time::Duration;

use super::{FleetStore, StoreError, to_i64, to_u64};

/// Which sessions to remove.
#[derive(Clone, Debug)]
pub struct RemovalFilter {
    /// Unchanged for at least this long.
    pub age: Duration,
    /// Only those of this tenant.
    pub tenant: Option<String>,
    /// Parked ones too. A message would start them again, so they are kept unless asked for.
    pub includes_parked: bool,
}

/// How many sessions a removal concerns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemovalCount {
    pub tenant: String,
    pub state: String,
    pub sessions: u64,
}

/// Sessions of the queue have ended in one of three states. Those outside the queue (`idle`) belong to
/// people, and one that a live process holds is in use.
const CONDITION: &str = "s.state in ('done', 'failed', 'cancelled', 'parked') \
    and (s.state <> 'parked' or $3) and ($2::text is null or s.tenant = $2) \
    and s.updated < now() - $1 * interval '1 second' \
    and not exists (select 1 from windlass.workers w \
    where w.id = s.worker and w.lease_until > now())";

impl FleetStore {
    pub async fn count_removable(
        &self,
        filter: &RemovalFilter,
    ) -> Result<Vec<RemovalCount>, StoreError> {
        let text = format!(
            "select s.tenant, s.state, count(*) from windlass.sessions s where {CONDITION} \
             group by 1, 2 order by 1, 2"
        );
        let rows: Vec<(String, String, i64)> = sqlx::query_as(&text)
            .bind(to_seconds(filter.age))
            .bind(&filter.tenant)
            .bind(filter.includes_parked)
            .fetch_all(&self.pool)
            .await?;
        let to_count =
            |(tenant, state, count)| RemovalCount { tenant, state, sessions: to_u64(count) };
        Ok(rows.into_iter().map(to_count).collect())
    }

    /// Removes some of the sessions. Returns their number; 0 when none is left. In parts, so that no
    /// transaction is long.
    pub async fn remove_some_sessions(&self, filter: &RemovalFilter) -> Result<u64, StoreError> {
        // The condition holds for the locked rows: those that another transaction changes are skipped.
        let text = format!(
            "delete from windlass.sessions where id in (select s.id from windlass.sessions s \
             where {CONDITION} order by s.updated limit {PART} for update skip locked)"
        );
        let done = sqlx::query(&text)
            .bind(to_seconds(filter.age))
            .bind(&filter.tenant)
            .bind(filter.includes_parked)
            .execute(&self.pool)
            .await?;
        Ok(done.rows_affected())
    }

    /// Removes batches without sessions, and workers that have been gone, for as long.
    pub async fn remove_leftovers(&self, filter: &RemovalFilter) -> Result<(), StoreError> {
        for statement in [
            "delete from windlass.batches b where created < now() - $1 * interval '1 second' \
             and ($2::text is null or tenant = $2) and not exists \
             (select 1 from windlass.sessions s where s.batch = b.id)",
            "delete from windlass.workers w where $2::text is null \
             and lease_until < now() - $1 * interval '1 second' and not exists \
             (select 1 from windlass.sessions s where s.worker = w.id)",
        ] {
            sqlx::query(statement)
                .bind(to_seconds(filter.age))
                .bind(&filter.tenant)
                .execute(&self.pool)
                .await?;
        }
        Ok(())
    }
}

fn to_seconds(age: Duration) -> i64 {
    to_i64(age.as_secs())
}

const PART: u32 = 200;
