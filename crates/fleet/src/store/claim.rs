//! Workers and claims: register, renew, claim, end a claim.

use std::collections::BTreeMap;
use std::time::Duration;

use ring::hmac;
use sqlx::postgres::PgRow;
use sqlx::{FromRow, Row};
use windlass_host::random;
use windlass_vocabulary::to_hex;

use super::{FleetStore, SCHEMA_VERSION, StoreError, to_i64, to_u64};
use crate::tenant_policy::TenantPolicy;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerRow {
    pub id: String,
    pub host: String,
    pub pid: i32,
    pub capacity: i32,
    pub running: i64,
    pub is_draining: bool,
    /// Milliseconds until the lease ends, by the database's clock; negative after its end.
    pub lease_millis: i64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimedRow {
    pub id: String,
    pub epoch: u64,
    pub spec: String,
    /// Claims since the last orderly end, including this one.
    pub attempts: i32,
    /// The commit that the first host checked out.
    pub base_commit: Option<String>,
    pub policy: TenantPolicy,
}

impl FromRow<'_, PgRow> for ClaimedRow {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        Ok(Self {
            id: row.try_get("id")?,
            epoch: to_u64(row.try_get("epoch")?),
            spec: row.try_get("spec")?,
            attempts: row.try_get("attempts")?,
            base_commit: row.try_get("base_commit")?,
            policy: TenantPolicy {
                is_trusted: row.try_get("is_trusted")?,
                repositories: row.try_get("repositories")?,
                push_prefix: row.try_get("push_prefix")?,
            },
        })
    }
}

/// The store's response to a renewal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RenewedLease {
    pub held: Vec<HeldSession>,
    /// The store's schema version, which a migration may have raised meanwhile.
    pub schema: i64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldSession {
    pub id: String,
    pub epoch: u64,
    pub is_cancelled: bool,
}

/// Schema version, then id, epoch and cancellation of a held session.
type RenewedRow = (i64, Option<String>, Option<i64>, Option<bool>);

#[derive(Clone, Debug, Default)]
pub struct ClaimEnd {
    /// The session's next state.
    pub state: &'static str,
    pub reason: Option<String>,
    pub result: Option<String>,
    /// An orderly end: earlier losses of a worker no longer count.
    pub is_orderly: bool,
    /// Delay before the next claim, if the session is queued.
    pub wake_after: Duration,
    /// The provider limits the rate: sessions with the same key wait for `wake_after` too.
    pub is_rate_limited: bool,
    /// The provider failed: the session goes on later, at most this often in a row, with a message
    /// of ours.
    pub retries_max: Option<u32>,
    /// Set if the session only waits for an answer to a question: it is claimed again when there is
    /// one, or a message that is not among these, which its process was sent.
    pub asks: Option<Vec<String>>,
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

    /// Extends a worker's lease by the database's clock. Returns `None` if the worker's row was
    /// removed.
    pub async fn renew_worker(
        &self,
        id: &str,
        lease: Duration,
        drains: bool,
    ) -> Result<Option<RenewedLease>, StoreError> {
        let rows: Vec<RenewedRow> = sqlx::query_as(
            "with renewed as (update windlass.workers set drains = $3, \
             lease_until = now() + $2 * interval '1 millisecond' where id = $1 returning id) \
             select x.version::bigint, s.id, s.epoch, s.is_cancelled \
             from windlass.store x cross join renewed r \
             left join windlass.sessions s on s.worker = r.id and s.state = 'running'",
        )
        .bind(id)
        .bind(to_millis(lease))
        .bind(drains)
        .fetch_all(&self.pool)
        .await?;
        let Some((schema, ..)) = rows.first() else { return Ok(None) };
        let schema = *schema;
        let held = rows.into_iter().filter_map(|(_, id, epoch, cancelled)| {
            Some(HeldSession {
                id: id?,
                epoch: to_u64(epoch?),
                is_cancelled: cancelled.unwrap_or(false),
            })
        });
        Ok(Some(RenewedLease { held: held.collect(), schema }))
    }

    /// Gives back sessions that the store attributes to this worker, except these (id and epoch).
    /// Returns their number.
    pub async fn give_back_sessions(
        &self,
        worker: &str,
        except: &[(String, u64)],
        attempts_max: u32,
    ) -> Result<i64, StoreError> {
        let (ids, epochs): (Vec<&str>, Vec<i64>) =
            except.iter().map(|(id, epoch)| (id.as_str(), to_i64(*epoch))).unzip();
        let count = sqlx::query_scalar("select windlass.give_back_sessions($1, $2, $3, $4)")
            .bind(worker)
            .bind(ids)
            .bind(epochs)
            .bind(i32::try_from(attempts_max).unwrap_or(i32::MAX));
        Ok(count.fetch_one(&self.pool).await?)
    }

    /// Removes a worker that holds nothing any more.
    pub async fn remove_worker(&self, id: &str) -> Result<(), StoreError> {
        sqlx::query("delete from windlass.workers where id = $1")
            .bind(id)
            .execute(&self.pool)
            .await?;
        Ok(())
    }

    /// Stores with which keys a worker asks providers: their digests, under the store's secret.
    pub async fn put_provider_keys(
        &self,
        worker: &str,
        keys: &BTreeMap<String, String>,
    ) -> Result<(), StoreError> {
        let secret: String = sqlx::query_scalar("select key_secret from windlass.store limit 1")
            .fetch_one(&self.pool)
            .await?;
        let secret = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
        let digest = |key: &String| to_hex(hmac::sign(&secret, key.as_bytes()).as_ref());
        let (names, digests): (Vec<&String>, Vec<String>) =
            keys.iter().map(|(name, key)| (name, digest(key))).unzip();
        sqlx::query(
            "update windlass.workers set provider_keys = jsonb_object($2, $3) where id = $1",
        )
        .bind(worker)
        .bind(names)
        .bind(digests)
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    /// Whether there may be a session to claim. Cheaper than `claim_session`, which locks claims.
    pub async fn has_claimable(&self, worker: &str) -> Result<bool, StoreError> {
        let found = sqlx::query_scalar(
            "select exists (select 1 from windlass.sessions q where state = 'queued' \
             and wake_at <= now() and q.provider <> all((select windlass.list_backed_off($1))::text[])) \
             or exists (select 1 from windlass.sessions s \
             left join windlass.workers w on w.id = s.worker where s.state = 'running' \
             and (w.id is null or w.lease_until < now()))",
        );
        Ok(found.bind(worker).fetch_one(&self.pool).await?)
    }

    pub async fn claim_session(
        &self,
        worker: &str,
        attempts_max: u32,
    ) -> Result<Option<ClaimedRow>, StoreError> {
        let row = sqlx::query_as("select * from windlass.claim_session($1, $2, $3)")
            .bind(worker)
            .bind(i32::try_from(attempts_max).unwrap_or(i32::MAX))
            .bind(i32::try_from(SCHEMA_VERSION).unwrap_or(i32::MAX));
        Ok(row.fetch_optional(&self.pool).await?)
    }

    /// Ends a claim. Returns whether it still held.
    pub async fn end_claim(
        &self,
        session: &str,
        epoch: u64,
        worker: &str,
        end: &ClaimEnd,
    ) -> Result<bool, StoreError> {
        if end.is_rate_limited {
            let ended = sqlx::query_scalar("select windlass.back_off_session($1,$2,$3,$4,$5,$6)")
                .bind(session)
                .bind(to_i64(epoch))
                .bind(worker)
                .bind(end.reason.as_deref())
                .bind(to_millis(end.wake_after))
                .bind(WAITS_MAX);
            return Ok(ended.fetch_one(&self.pool).await?);
        }
        if let Some(retries_max) = end.retries_max {
            let ended =
                sqlx::query_scalar("select windlass.retry_session($1,$2,$3,$4,$5,$6,$7,$8,$9)")
                    .bind(session)
                    .bind(to_i64(epoch))
                    .bind(worker)
                    .bind(end.reason.as_deref())
                    .bind(end.result.as_deref())
                    .bind(i32::try_from(retries_max).unwrap_or(i32::MAX))
                    .bind(to_millis(end.wake_after))
                    .bind(random::generate_uuid())
                    .bind(RETRY_MESSAGE);
            return Ok(ended.fetch_one(&self.pool).await?);
        }
        if let Some(sent) = &end.asks {
            let ended = sqlx::query_scalar("select windlass.wait_for_answer($1,$2,$3,$4,$5)")
                .bind(session)
                .bind(to_i64(epoch))
                .bind(worker)
                .bind(end.reason.as_deref())
                .bind(sent);
            return Ok(ended.fetch_one(&self.pool).await?);
        }
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

    /// All workers, including those whose lease has ended.
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

/// What a session goes on with after a failure of its provider.
pub(super) const RETRY_MESSAGE: &str = "The provider of the model failed. Go on where you stopped.";
/// Rate limit waits in a row before a session is parked.
const WAITS_MAX: i32 = 50;
