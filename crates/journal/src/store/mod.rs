//! The trait for journal storage: local files here, elsewhere a store shared by many hosts, with no
//! change to the callers.
//!
//! Every store guarantees: a claim has a higher epoch than all earlier ones; an append under an
//! older epoch, or at another position than the end, is rejected and changes nothing; every reader
//! sees acknowledged records in order; records appended together are stored atomically. Blobs are
//! further data of a session: stored as a whole under a name, and protected by the claim like
//! records. Calls block; async callers need a thread.
//!
//! One test suite applies to every store: `tests/store_conformance`.

mod file_store;
pub mod journal_lines;

use std::time::Duration;

use windlass_vocabulary::SessionId;

use crate::error::JournalError;
use crate::record::{JournalHead, JournalRecord, NewRecordItem};
use crate::session_catalogue::{build_excerpt, find_in_records};

pub use file_store::FileJournalStore;

pub trait JournalStore: core::fmt::Debug + Send + Sync {
    /// Becomes the only writer of a session, which is created if it does not exist.
    fn claim(
        &self,
        session: &SessionId,
        head: &JournalHead,
    ) -> Result<ClaimedSession, JournalError>;

    /// Renews the claim. A claim that is not renewed within the store's term may pass to another
    /// holder; local files have no term, because their lock ends with the process.
    fn renew(&self, claimed: &ClaimedSession) -> Result<(), JournalError>;

    /// Appends, if the claim is still valid and the journal ends at `expected`. Returns the number
    /// of the last record when all of them are durable.
    ///
    /// # Errors
    ///
    /// The claim was lost, the journal ends elsewhere, or the store cannot be used. Nothing was
    /// appended then.
    fn append(
        &self,
        claimed: &ClaimedSession,
        expected: u64,
        at: u64,
        items: &[NewRecordItem<'_>],
    ) -> Result<u64, JournalError>;

    /// Releases a claim, so that others need not wait for its term.
    fn release(&self, claimed: &ClaimedSession);

    /// The records after this one, in order.
    fn read_from(&self, session: &SessionId, after: u64) -> Result<RecordIterator, JournalError>;

    /// Waits until there are records after this one, up to the limit. Returns the number of the
    /// last record, which is at most `after` if there is none.
    fn wait_for_records(
        &self,
        session: &SessionId,
        after: u64,
        at_most: Duration,
    ) -> Result<u64, JournalError>;

    /// All sessions, sorted by id.
    fn list(&self) -> Result<Vec<SessionId>, JournalError>;

    /// Sessions whose conversation contains this text, ignoring case: the first match of each, up to
    /// a limit. Reads one session after the other; a store that finds them faster does so.
    ///
    /// # Errors
    ///
    /// The store cannot be used. A journal that cannot be read is left out.
    fn search(&self, words: &str, hits_max: usize) -> Result<Vec<StoreSearchHit>, JournalError> {
        let sessions = self.list()?.into_iter();
        Ok(sessions.filter_map(|it| self.search_in(&it, words)).take(hits_max).collect())
    }

    /// The first match in this session.
    fn search_in(&self, session: &SessionId, words: &str) -> Option<StoreSearchHit> {
        let needle = words.to_lowercase();
        let item = find_in_records(self.read_from(session, 0).ok()?, &needle).ok()??;
        let excerpt = build_excerpt(&item.text, &needle);
        Some(StoreSearchHit { session: session.clone(), excerpt })
    }

    /// Sets a session's title; an empty one removes it. Needs no claim.
    fn set_title(&self, session: &SessionId, title: &str) -> Result<(), JournalError>;

    fn read_title(&self, session: &SessionId) -> Result<Option<String>, JournalError>;

    /// Stores these bytes under this name, and replaces an earlier blob.
    ///
    /// # Errors
    ///
    /// The claim was lost, the name is not one word of letters, digits, `.`, `_` and `-`, or the
    /// store cannot be used. An earlier blob is then unchanged.
    fn put_blob(
        &self,
        claimed: &ClaimedSession,
        name: &str,
        bytes: &[u8],
    ) -> Result<(), JournalError>;

    fn read_blob(&self, session: &SessionId, name: &str) -> Result<Option<Vec<u8>>, JournalError>;
}

/// Do all stores accept this blob name?
#[must_use]
pub fn is_blob_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    (1..=128).contains(&name.len()) && !name.starts_with('.') && name.bytes().all(is_plain)
}

/// A session that we may write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimedSession {
    pub session: SessionId,
    pub epoch: u64,
    /// The end of the journal at the time of the claim.
    pub seq: u64,
}

/// A session that contains what was searched for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreSearchHit {
    pub session: SessionId,
    /// The text around the first match, on one line.
    pub excerpt: String,
}

pub type RecordIterator = Box<dyn Iterator<Item = Result<JournalRecord, JournalError>> + Send>;
