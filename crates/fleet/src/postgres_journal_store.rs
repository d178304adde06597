//! [`JournalStore`] on PostgreSQL. Calls block; they run on the store's own runtime, so any thread
//! outside an async context may call them.

use std::io::Cursor;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use windlass_host::random;
use windlass_journal::store::journal_lines::{
    encode_claim_line, encode_group_line, encode_head_line, read_lines,
};
use windlass_journal::store::{RecordIterator, StoreSearchHit, is_blob_name};
use windlass_journal::{
    ClaimHolder, ClaimedSession, JournalError, JournalHead, JournalRecord, JournalStore,
    NewRecordItem,
};
use windlass_vocabulary::SessionId;

use crate::store::{AppendRequest, FleetStore, StoreError, TenantChange, to_i64, to_u64};

/// Journals in a fleet's store, for sessions outside its queue.
#[derive(Debug)]
pub struct PostgresJournalStore {
    runtime: Arc<tokio::runtime::Runtime>,
    store: FleetStore,
    /// The worker id that holds the claims, under a lease.
    worker: String,
    lease: Duration,
}

impl PostgresJournalStore {
    /// Connects. Its claims expire when they are not renewed within `lease`.
    pub fn open(url: &str, lease: Duration) -> Result<Self, StoreError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .map_err(|error| StoreError::Database(sqlx::Error::Io(error)))?;
        let worker = random::generate_uuid();
        let store = runtime.block_on(async {
            let store = FleetStore::open(url, 4).await?;
            let host = ClaimHolder::current_process().host;
            store.register_worker(&worker, &host, 0, lease).await?;
            store.put_tenant(LOCAL_TENANT, &TenantChange::default()).await?;
            Ok::<_, StoreError>(store)
        })?;
        Ok(Self { runtime: Arc::new(runtime), store, worker, lease })
    }

    async fn claim_row(&self, session: &str) -> Result<ClaimOutcome, StoreError> {
        let (epoch, seq, host, pid): (i64, i64, Option<String>, Option<i32>) =
            sqlx::query_as("select epoch, seq, host, pid from windlass.claim_journal($1, $2, $3)")
                .bind(session)
                .bind(LOCAL_TENANT)
                .bind(&self.worker)
                .fetch_one(&self.store.pool)
                .await?;
        Ok(match host {
            Some(host) => {
                let pid = u32::try_from(pid.unwrap_or(0)).unwrap_or(0);
                ClaimOutcome::Busy(ClaimHolder { pid, host })
            }
            None => ClaimOutcome::Claimed { epoch: to_u64(epoch), seq: to_u64(seq) },
        })
    }

    async fn append_line(
        &self,
        claimed: &ClaimedSession,
        expected_seq: Option<u64>,
        bytes: &[u8],
    ) -> Result<(), StoreError> {
        let request = AppendRequest {
            session: claimed.session.as_str(),
            epoch: claimed.epoch,
            worker: &self.worker,
            file: crate::store::MAIN_FILE,
            position: None,
            expected_seq,
            bytes,
        };
        self.store.append_journal(request).await.map(drop)
    }
}

enum ClaimOutcome {
    Claimed { epoch: u64, seq: u64 },
    Busy(ClaimHolder),
}

impl JournalStore for PostgresJournalStore {
    fn claim(
        &self,
        session: &SessionId,
        head: &JournalHead,
    ) -> Result<ClaimedSession, JournalError> {
        let outcome = self.runtime.block_on(self.claim_row(session.as_str()));
        let (epoch, seq) = match outcome.map_err(to_journal_error("claimed"))? {
            ClaimOutcome::Claimed { epoch, seq } => (epoch, seq),
            ClaimOutcome::Busy(holder) => {
                let path = PathBuf::from(session.as_str());
                return Err(JournalError::Busy { path, holder: Some(holder) });
            }
        };
        let claimed = ClaimedSession { session: session.clone(), epoch, seq };
        let mut lines = Vec::new();
        if epoch == 1 {
            let head = JournalHead { created: unix_millis(), ..head.clone() };
            lines = encode_head_line(session, &head)?;
        }
        lines.extend(encode_claim_line(session, epoch, unix_millis())?);
        let written = self.runtime.block_on(self.append_line(&claimed, Some(seq), &lines));
        written.map_err(to_journal_error("claimed"))?;
        Ok(claimed)
    }

    fn renew(&self, claimed: &ClaimedSession) -> Result<(), JournalError> {
        self.runtime.block_on(async {
            let renewed = self.store.renew_worker(&self.worker, self.lease, false).await;
            renewed.map_err(to_journal_error("renewed"))?;
            let row: Option<(i64, Option<String>)> =
                sqlx::query_as("select epoch, worker from windlass.sessions where id = $1")
                    .bind(claimed.session.as_str())
                    .fetch_optional(&self.store.pool)
                    .await
                    .map_err(|error| to_journal_error("renewed")(error.into()))?;
            let (epoch, holder) = row.unwrap_or_default();
            let current = to_u64(epoch);
            match current == claimed.epoch && holder.as_deref() == Some(&*self.worker) {
                true => Ok(()),
                false => Err(JournalError::Fenced { ours: claimed.epoch, current }),
            }
        })
    }

    fn append(
        &self,
        claimed: &ClaimedSession,
        expected: u64,
        at: u64,
        items: &[NewRecordItem<'_>],
    ) -> Result<u64, JournalError> {
        let line = encode_group_line(&claimed.session, expected + 1, at, claimed.epoch, items)?;
        let appended = self.runtime.block_on(self.append_line(claimed, Some(expected), &line));
        appended.map_err(to_journal_error("written"))?;
        Ok(expected + u64::try_from(items.len()).unwrap_or(u64::MAX))
    }

    fn release(&self, claimed: &ClaimedSession) {
        // If this fails, the claim expires with its lease.
        let _ = self.runtime.block_on(
            sqlx::query(
                "update windlass.sessions set worker = null where id = $1 and epoch = $2 \
                 and worker = $3",
            )
            .bind(claimed.session.as_str())
            .bind(to_i64(claimed.epoch))
            .bind(&self.worker)
            .execute(&self.store.pool),
        );
    }

    fn read_from(&self, session: &SessionId, after: u64) -> Result<RecordIterator, JournalError> {
        let files = self.runtime.block_on(self.store.read_journals(session.as_str()));
        let files = files.map_err(to_journal_error("read"))?;
        let main = files.into_iter().find(|file| file.name == crate::store::MAIN_FILE);
        let main = main.ok_or_else(|| {
            to_journal_error("read")(StoreError::NoSession(session.as_str().to_owned()))
        })?;
        let mut reader = read_lines(Cursor::new(main.bytes), session.as_str());
        let next = move || reader.next_record().transpose();
        let is_new = move |record: &Result<JournalRecord, JournalError>| {
            record.as_ref().map_or(true, |record| record.seq > after)
        };
        Ok(Box::new(core::iter::from_fn(next).filter(is_new)))
    }

    fn wait_for_records(
        &self,
        session: &SessionId,
        after: u64,
        at_most: Duration,
    ) -> Result<u64, JournalError> {
        let deadline = Instant::now() + at_most;
        self.runtime.block_on(async {
            loop {
                let row = self.store.read_session(session.as_str()).await;
                let row = row.map_err(to_journal_error("read"))?.ok_or_else(|| {
                    to_journal_error("read")(StoreError::NoSession(session.as_str().to_owned()))
                })?;
                let seq = to_u64(row.seq);
                if seq > after || Instant::now() >= deadline {
                    return Ok(seq);
                }
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        })
    }

    fn list(&self) -> Result<Vec<SessionId>, JournalError> {
        let ids: Result<Vec<String>, _> = self.runtime.block_on(
            sqlx::query_scalar("select id from windlass.sessions order by id collate \"C\"")
                .fetch_all(&self.store.pool),
        );
        let ids = ids.map_err(|error| to_journal_error("listed")(error.into()))?;
        Ok(ids.iter().map(|id| SessionId::from(id.as_str())).collect())
    }

    fn search(&self, words: &str, hits_max: usize) -> Result<Vec<StoreSearchHit>, JournalError> {
        let needle = words.to_lowercase();
        let mut hits = Vec::new();
        let mut before = None;
        let deadline = Instant::now() + SEARCH_WAIT;
        while hits.len() < hits_max {
            let found = self.store.find_sessions_with(&needle, before.as_ref(), SEARCH_PAGE);
            let page = self.runtime.block_on(found).map_err(to_journal_error("searched"))?;
            before = page.next;
            let ids = page.found.iter().map(|id| SessionId::from(id.as_str()));
            hits.extend(ids.filter_map(|id| self.search_in(&id, words)));
            if before.is_none() {
                break;
            }
            if Instant::now() > deadline {
                let source = "it has too many sessions; search in fewer".into();
                return Err(JournalError::Store { action: "searched", source });
            }
        }
        hits.truncate(hits_max);
        Ok(hits)
    }

    fn set_title(&self, session: &SessionId, title: &str) -> Result<(), JournalError> {
        let title = Some(title).filter(|title| !title.is_empty());
        let done = self.runtime.block_on(
            sqlx::query("update windlass.sessions set title = $2 where id = $1")
                .bind(session.as_str())
                .bind(title)
                .execute(&self.store.pool),
        );
        done.map(drop).map_err(|error| to_journal_error("named")(error.into()))
    }

    fn read_title(&self, session: &SessionId) -> Result<Option<String>, JournalError> {
        let row = self.runtime.block_on(self.store.read_session(session.as_str()));
        Ok(row.map_err(to_journal_error("read"))?.and_then(|row| row.title))
    }

    fn put_blob(
        &self,
        claimed: &ClaimedSession,
        name: &str,
        bytes: &[u8],
    ) -> Result<(), JournalError> {
        check_blob_name(name)?;
        let done = self.runtime.block_on(
            sqlx::query(
                "insert into windlass.blobs (session, name, epoch, bytes) \
                 select id, $4, epoch, $5 from windlass.sessions where id = $1 and epoch = $2 \
                 and worker = $3 for update \
                 on conflict (session, name) do update set bytes = $5, epoch = $2",
            )
            .bind(claimed.session.as_str())
            .bind(to_i64(claimed.epoch))
            .bind(&self.worker)
            .bind(name)
            .bind(bytes)
            .execute(&self.store.pool),
        );
        let done = done.map_err(|error| to_journal_error("written")(error.into()))?;
        match done.rows_affected() {
            0 => self.renew(claimed),
            _ => Ok(()),
        }
    }

    fn read_blob(&self, session: &SessionId, name: &str) -> Result<Option<Vec<u8>>, JournalError> {
        check_blob_name(name)?;
        let bytes = self.runtime.block_on(
            sqlx::query_scalar("select bytes from windlass.blobs where session = $1 and name = $2")
                .bind(session.as_str())
                .bind(name)
                .fetch_optional(&self.store.pool),
        );
        bytes.map_err(|error| to_journal_error("read")(error.into()))
    }
}

fn check_blob_name(name: &str) -> Result<(), JournalError> {
    let words = "a name is one word of letters, digits, `.`, `_` and `-`";
    match is_blob_name(name) {
        true => Ok(()),
        false => Err(JournalError::Store { action: "named", source: words.into() }),
    }
}

fn to_journal_error(action: &'static str) -> impl FnOnce(StoreError) -> JournalError {
    move |error| match error {
        StoreError::Fenced { ours, current } => JournalError::Fenced { ours, current },
        StoreError::Conflict { expected, found } => JournalError::Conflict { expected, found },
        StoreError::NotAUrl
        | StoreError::BadUrl(_)
        | StoreError::Refused(_)
        | StoreError::NoDatabase(_)
        | StoreError::Unreachable(_)
        | StoreError::Missing
        | StoreError::NotOurs
        | StoreError::Older(_)
        | StoreError::Newer(_)
        | StoreError::SlowMigration
        | StoreError::NoSession(_)
        | StoreError::SessionExists(_)
        | StoreError::NoTenant(_)
        | StoreError::Invalid(_)
        | StoreError::Database(_) => JournalError::Store { action, source: Box::new(error) },
    }
}

fn unix_millis() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| u64::try_from(now.as_millis()).unwrap_or(u64::MAX))
}

/// The tenant of sessions outside the queue.
pub const LOCAL_TENANT: &str = "local";
/// Sessions that one statement of a search looks at, and how long a search may take.
const SEARCH_PAGE: u32 = 200;
const SEARCH_WAIT: Duration = Duration::from_secs(60);
/// Interval at which `wait_for_records` polls.
const POLL_INTERVAL: Duration = Duration::from_millis(25);
