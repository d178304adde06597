//! The store that a worker and a gateway use: a database that many hosts share, or files for a
//! gateway that runs its sessions itself.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use sqlx::postgres::PgListener;
use tokio::sync::broadcast;

use super::file_store::{FileStore, StoreNews};
use super::{
    AnsweredQuestion, AppendRequest, BranchOutcome, ClaimEnd, ClaimedRow, FleetStore, HeldClaim,
    JournalFile, LiveEndpoint, NewAnswer, NewBatch, NewFork, NewPack, NewQuestion, NewSession,
    RenewedLease, SessionFilter, SessionInbox, SessionRow, StoreError, StoredBatch, TokenHolder,
    WorkerRow,
};

#[derive(Clone, Debug)]
pub enum SessionStore {
    Database(FleetStore),
    Files(Arc<FileStore>),
}

/// Both stores have these; those of files do not wait.
macro_rules! delegate {
    ($($name:ident($($argument:ident: $kind:ty),*) -> $output:ty;)*) => {
        impl SessionStore {
            $(pub async fn $name(&self, $($argument: $kind),*) -> Result<$output, StoreError> {
                match self {
                    Self::Database(store) => store.$name($($argument),*).await,
                    Self::Files(store) => store.$name($($argument),*),
                }
            })*
        }
    };
}

delegate! {
    register_worker(id: &str, host: &str, capacity: u32, lease: Duration) -> ();
    put_live_endpoint(worker: &str, endpoint: &LiveEndpoint) -> ();
    read_client_address() -> Option<String>;
    read_live_endpoint(session: &str, epoch: u64) -> Option<LiveEndpoint>;
    renew_worker(id: &str, lease: Duration, drains: bool) -> Option<RenewedLease>;
    give_back_sessions(worker: &str, except: &[(String, u64)], attempts_max: u32) -> i64;
    remove_worker(id: &str) -> ();
    list_workers() -> Vec<WorkerRow>;
    put_provider_keys(worker: &str, keys: &BTreeMap<String, String>) -> ();
    has_claimable(worker: &str) -> bool;
    claim_session(worker: &str, attempts_max: u32) -> Option<ClaimedRow>;
    end_claim(session: &str, epoch: u64, worker: &str, end: &ClaimEnd) -> bool;
    append_journal(request: AppendRequest<'_>) -> u64;
    cut_journal(session: &str, epoch: u64, worker: &str, file: &str, length: u64) -> ();
    read_journal_length(session: &str, file: &str) -> u64;
    read_journals(session: &str) -> Vec<JournalFile>;
    read_spills(session: &str) -> Vec<(String, Vec<u8>)>;
    read_packs(session: &str) -> Vec<(i32, Vec<u8>)>;
    put_pack(claim: HeldClaim<'_>, pack: NewPack<'_>) -> ();
    put_blob(claim: HeldClaim<'_>, name: &str, bytes: &[u8]) -> ();
    read_blob(session: &str, name: &str) -> Option<Vec<u8>>;
    put_base_commit(claim: HeldClaim<'_>, commit: &str) -> ();
    put_branch(claim: HeldClaim<'_>, outcome: &BranchOutcome) -> ();
    read_inbox(claim: HeldClaim<'_>) -> SessionInbox;
    take_message(session: &str, epoch: u64, worker: &str, uuid: &str) -> ();
    add_message(session: &str, uuid: &str, content: &str, sender: &str) -> i64;
    add_question(claim: HeldClaim<'_>, question: NewQuestion<'_>) -> ();
    close_question(claim: HeldClaim<'_>, request: &str, outcome: Option<&str>) -> ();
    list_questions(session: &str) -> Vec<(String, String)>;
    list_answers(session: &str) -> Vec<AnsweredQuestion>;
    answer_question(session: &str, answer: NewAnswer<'_>) -> bool;
    add_event(session: &str, epoch: u64, worker: &str, uuid: Option<&str>, frame: &str) -> Option<u64>;
    read_events(session: &str, after: u64, limit: u32) -> Vec<(u64, String)>;
    list_event_ids(session: &str) -> Vec<String>;
    submit_session(new: &NewSession) -> ();
    fork_session(fork: &NewFork) -> ();
    read_spec(id: &str) -> Option<String>;
    read_session(id: &str) -> Option<SessionRow>;
    list_sessions(filter: &SessionFilter) -> Vec<SessionRow>;
    count_states() -> Vec<(String, u64)>;
    cancel_session(id: &str) -> String;
    add_batch(batch: NewBatch<'_>) -> ();
    list_batches(tenant: Option<&str>) -> Vec<StoredBatch>;
    find_token(token: &str) -> Option<TokenHolder>;
    ping() -> ();
}

impl SessionStore {
    /// Hears of changes. `None` if the database cannot be reached.
    pub(crate) async fn listen(&self) -> Option<StoreListener> {
        match self {
            Self::Database(store) => {
                let channels = ["windlass_queue", "windlass_control", "windlass_events"];
                store.pool.listen(&channels).await.ok().map(StoreListener::Database)
            }
            Self::Files(store) => Some(StoreListener::Files(store.subscribe())),
        }
    }
}

/// Notifications of a store. Without them everything still works, by polling.
pub(crate) enum StoreListener {
    Database(PgListener),
    Files(broadcast::Receiver<StoreNews>),
}

impl StoreListener {
    /// The next notification; `None` when it has to be opened again.
    pub(crate) async fn next(&mut self) -> Option<StoreNews> {
        match self {
            Self::Database(listener) => {
                let heard = listener.try_recv().await.ok()??;
                let session = heard.payload().to_owned();
                Some(match heard.channel() {
                    "windlass_queue" => StoreNews::Queue,
                    "windlass_control" => StoreNews::Control(session),
                    _ => StoreNews::Events(session),
                })
            }
            Self::Files(receiver) => receiver.recv().await.ok(),
        }
    }
}
