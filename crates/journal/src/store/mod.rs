//! Where journals are kept, as a small trait: local files here, a store shared by many hosts
//! elsewhere, without a change to anything above.
//!
//! The law every store keeps: a claim has an epoch that is greater than every earlier one; what is
//! appended under an older epoch, or at another place than the end, is refused and changes nothing;
//! what was acknowledged is read back in order by everybody; what is appended at once is there as a
//! whole or not at all. Blobs are what a session keeps beside its journal: whole, under a name, and
//! fenced like records. Calls block; async callers use a thread.
//!
//! One suite of tests holds for every store: `tests/store_conformance`.

mod file_store;
pub mod journal_lines;

use std::time::Duration;

use windlass_vocabulary::SessionId;

use crate::error::JournalError;
use crate::record::{JournalHead, JournalRecord, NewRecordItem};

pub use file_store::FileJournalStore;

/// Keeps journals.
pub trait JournalStore: core::fmt::Debug + Send + Sync {
    /// Becomes the one writer of a session, which is begun if it is not there.
    fn claim(
        &self,
        session: &SessionId,
        head: &JournalHead,
    ) -> Result<ClaimedSession, JournalError>;

    /// Stays the writer. A claim that is not renewed within the store's own term may be given to
    /// another holder; local files have no term, because their lock dies with the process.
    fn renew(&self, claimed: &ClaimedSession) -> Result<(), JournalError>;

    /// Appends, if the claim still holds and the journal ends at `expected`. Returns the number of
    /// the last record when all of them are durable.
    ///
    /// # Errors
    ///
    /// When the claim was lost, the journal ends elsewhere, or the store cannot be used. Nothing was
    /// appended then.
    fn append(
        &self,
        claimed: &ClaimedSession,
        expected: u64,
        at: u64,
        items: &[NewRecordItem<'_>],
    ) -> Result<u64, JournalError>;

    /// Gives a claim up, so that others need not wait for its term.
    fn release(&self, claimed: &ClaimedSession);

    /// The records behind this one, in order.
    fn read_from(&self, session: &SessionId, after: u64) -> Result<RecordIterator, JournalError>;

    /// Waits until there are records behind this one, at most so long. Returns the number of the
    /// last record, which is `after` or less if none came.
    fn wait_for_records(
        &self,
        session: &SessionId,
        after: u64,
        at_most: Duration,
    ) -> Result<u64, JournalError>;

    /// Every session there is, in the order of their ids.
    fn list(&self) -> Result<Vec<SessionId>, JournalError>;

    /// Gives a session a name, or takes it away with an empty one. Needs no claim.
    fn set_title(&self, session: &SessionId, title: &str) -> Result<(), JournalError>;

    fn read_title(&self, session: &SessionId) -> Result<Option<String>, JournalError>;

    /// Keeps these bytes under this name, in place of what has it now.
    ///
    /// # Errors
    ///
    /// When the claim was lost, the name is not one word of letters, digits, `.`, `_` and `-`, or the
    /// store cannot be used. What had the name is still there then.
    fn put_blob(
        &self,
        claimed: &ClaimedSession,
        name: &str,
        bytes: &[u8],
    ) -> Result<(), JournalError>;

    fn read_blob(&self, session: &SessionId, name: &str) -> Result<Option<Vec<u8>>, JournalError>;
}

/// Is this a name under which every store keeps a blob?
#[must_use]
pub fn is_blob_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    (1..=128).contains(&name.len()) && !name.starts_with('.') && name.bytes().all(is_plain)
}

/// A session that is ours to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimedSession {
    pub session: SessionId,
    pub epoch: u64,
    /// Where the journal ended when it was claimed.
    pub seq: u64,
}

/// Records, read one after the other.
pub type RecordIterator = Box<dyn Iterator<Item = Result<JournalRecord, JournalError>> + Send>;
