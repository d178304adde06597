//! Workers and what they hold: register, renew, claim, end a claim.

use std::time::Duration;

use super::{FleetStore, StoreError, to_i64, to_u64};

/// A worker as the store knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerRow {
    pub id: String,
    pub host: String,
    pub pid: i32,
    pub capacity: i32,
    pub running: i64,
    pub is_draining: bool,
    /// Milliseconds until the lease ends, by the database's clock; negative when it has.
    pub lease_millis: i64,
}

/// A session that was claimed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimedRow {
    pub id: String,
    pub epoch: u64,
    pub tenant: String,
    pub spec: String,
    /// Claims since the last orderly end, this one included.
    pub attempts: i32,
}

/// A session that a worker still holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldSession {
    pub id: String,
    pub epoch: u64,
    pub is_cancelled: bool,
}

/// How a claim ends.
#[derive(Clone, Debug, Default)]
pub struct ClaimEnd {
    /// The state of the session from here on.
    pub state: &'static str,
    pub reason: Option<String>,
    pub result: Option<String>,
    /// It ended as it should: earlier losses of a worker no longer count.
    pub is_orderly: bool,
    /// How long it waits before the next claim, if it is queued.
    pub wake_after: Duration,
}

impl FleetStore {
    pub async fn register_worker(
        &self,
        id: &str,
        host: &str,
        capacity: u32,
        lease: Duration,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "insert into windlass.workers (id, host, pid, capacity, lease_until) \
             values ($1, $2, $3, $4, now() + $5 * interval '1 millisecond')",
        )
        .bind(id)
        .bind(host)
        .bind(i32::try_from(std::process::id()).unwrap_or(0))
        .bind(i32::try_from(capacity).unwrap_or(i32::MAX))
        .bind(to_millis(lease))
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    /// Extends a worker's lease by the database's clock. Returns what it still holds, or nothing if the
    /// worker is no longer known.
    pub async fn renew_worker(
        &self,
        id: &str,
        lease: Duration,
        drains: bool,
    ) -> Result<Option<Vec<HeldSession>>, StoreError> {
        let rows: Vec<(Option<String>, Option<i64>, Option<bool>)> = sqlx::query_as(
            "with renewed as (update windlass.workers set drains = $3, \
             lease_until = now() + $2 * interval '1 millisecond' where id = $1 returning id) \
             select s.id, s.epoch, s.is_cancelled from renewed r \
             left join windlass.sessions s on s.worker = r.id and s.state = 'running'",
        )
        .bind(id)
        .bind(to_millis(lease))
        .bind(drains)
        .fetch_all(&self.pool)
        .await?;
        if rows.is_empty() {
            return Ok(None);
        }
        let held = rows.into_iter().filter_map(|(id, epoch, cancelled)| {
            Some(HeldSession {
                id: id?,
                epoch: to_u64(epoch?),
                is_cancelled: cancelled.unwrap_or(false),
            })
        });
        Ok(Some(held.collect()))
    }

    /// Forgets a worker that holds nothing any more.
    pub async fn remove_worker(&self, id: &str) -> Result<(), StoreError> {
        sqlx::query("delete from windlass.workers where id = $1")
            .bind(id)
            .execute(&self.pool)
            .await?;
        Ok(())
    }

    /// Is there something to claim? Asked before the lock of claims is taken.
    pub async fn has_claimable(&self) -> Result<bool, StoreError> {
        let found = sqlx::query_scalar(
            "select exists (select 1 from windlass.sessions where state = 'queued' \
             and wake_at <= now()) or exists (select 1 from windlass.sessions s \
             left join windlass.workers w on w.id = s.worker where s.state = 'running' \
             and (w.id is null or w.lease_until < now()))",
        );
        Ok(found.fetch_one(&self.pool).await?)
    }

    pub async fn claim_session(
        &self,
        worker: &str,
        attempts_max: u32,
    ) -> Result<Option<ClaimedRow>, StoreError> {
        let row: Option<(String, i64, String, String, i32)> = sqlx::query_as(
            "select id, epoch, tenant, spec, attempts from windlass.claim_session($1, $2)",
        )
        .bind(worker)
        .bind(i32::try_from(attempts_max).unwrap_or(i32::MAX))
        .fetch_optional(&self.pool)
        .await?;
        Ok(row.map(|(id, epoch, tenant, spec, attempts)| ClaimedRow {
            id,
            epoch: to_u64(epoch),
            tenant,
            spec,
            attempts,
        }))
    }

    /// Ends a claim. Says whether it still held.
    pub async fn end_claim(
        &self,
        session: &str,
        epoch: u64,
        worker: &str,
        end: &ClaimEnd,
    ) -> Result<bool, StoreError> {
        let ended = sqlx::query_scalar("select windlass.end_claim($1,$2,$3,$4,$5,$6,$7,$8)")
            .bind(session)
            .bind(to_i64(epoch))
            .bind(worker)
            .bind(end.state)
            .bind(end.reason.as_deref())
            .bind(end.result.as_deref())
            .bind(end.is_orderly)
            .bind(to_millis(end.wake_after));
        Ok(ended.fetch_one(&self.pool).await?)
    }

    /// Every worker, those whose lease has ended included.
    pub async fn list_workers(&self) -> Result<Vec<WorkerRow>, StoreError> {
        let rows: Vec<(String, String, i32, i32, bool, i64, i64)> = sqlx::query_as(
            "select w.id, w.host, w.pid, w.capacity, w.drains, \
             (extract(epoch from w.lease_until - now()) * 1000)::bigint, \
             (select count(*) from windlass.sessions s where s.worker = w.id) \
             from windlass.workers w order by w.started limit 10000",
        )
        .fetch_all(&self.pool)
        .await?;
        let to_row = |(id, host, pid, capacity, is_draining, lease_millis, running)| WorkerRow {
            id,
            host,
            pid,
            capacity,
            running,
            is_draining,
            lease_millis,
        };
        Ok(rows.into_iter().map(to_row).collect())
    }
}

fn to_millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}
