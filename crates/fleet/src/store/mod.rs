//! The store of a fleet: sessions, queue, leases, journals, budgets and tokens in PostgreSQL.
//!
//! Every rule that must hold when a process dies is one database function (`schema_1.sql` and
//! later), so that it is one transaction and one round trip. This code calls them and maps their
//! outcomes.

mod batch;
mod claim;
mod event_log;
mod file_store;
mod inbox;
mod journal_bytes;
mod limit;
mod live_endpoint;
mod local_sessions;
mod migration;
mod questions;
mod removal;
mod session_files;
mod session_rows;
mod session_store;
mod store_error;
mod store_pool;
mod tenant;
mod token;

pub use batch::{NewBatch, StoredBatch};
use claim::RETRY_MESSAGE;
pub use claim::{ClaimEnd, ClaimedRow, HeldSession, RenewedLease, WorkerRow};
pub use file_store::FileStore;
pub(crate) use file_store::StoreNews;
pub use inbox::{InboxAnswer, InboxMessage, SessionInbox};
pub use journal_bytes::{AppendRequest, JournalFile};
pub(crate) use journal_bytes::{MAIN_FILE, PATCH_BLOB};
pub use limit::{LimitKind, StoredLimit};
pub use live_endpoint::LiveEndpoint;
pub use local_sessions::{JournalPiece, LocalSessionRow, SearchedPage, ViewedSession};
pub use migration::{SCHEMA_VERSION, SchemaState};
pub use questions::{AnsweredQuestion, NewAnswer, NewQuestion};
pub use removal::{RemovalCount, RemovalFilter};
pub use session_files::{BranchOutcome, HeldClaim, NewPack};
pub use session_rows::{
    NewFork, NewSession, SessionChanges, SessionFilter, SessionMoney, SessionRow, SessionTimes,
    SessionTries,
};
pub use session_store::SessionStore;
pub use store_error::StoreError;
pub(crate) use store_pool::StorePool;
pub use tenant::{TenantChange, TenantRow};
pub use token::{TokenHolder, TokenRole, TokenRow};

/// Handle to the store, shared by everything in the process.
#[derive(Clone, Debug)]
pub struct FleetStore {
    pub(crate) pool: StorePool,
}

impl FleetStore {
    /// Connects, and checks that the schema is ours and of this version.
    pub async fn open(url: &str, connections: u32) -> Result<Self, StoreError> {
        let store = Self::connect(url, connections).await?;
        store.check_schema().await?;
        Ok(store)
    }

    /// Connects without checking the schema.
    pub async fn connect(url: &str, connections: u32) -> Result<Self, StoreError> {
        if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            return Err(StoreError::NotAUrl);
        }
        let pool = StorePool::connect(url, connections).await?;
        Ok(Self { pool })
    }

    pub async fn close(&self) {
        self.pool.close().await;
    }

    /// Checks that the database responds.
    pub async fn ping(&self) -> Result<(), StoreError> {
        sqlx::query("select 1").execute(&self.pool).await?;
        Ok(())
    }
}

pub(crate) fn to_i64(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(crate) fn to_u64(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
