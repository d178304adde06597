//! Saves a conversation from memory as a new session, beside a journal that another program
//! damaged.

use std::path::{Path, PathBuf};

use windlass_vocabulary::{Message, MicroUsd, SessionId};

use crate::digest::derive_uuid;
use crate::error::JournalError;
use crate::record::JournalHead;
use crate::transcript::{ImportedConversation, write_imported_journal};

/// A conversation that continues under another id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RescuedSession {
    pub id: String,
    pub journal: PathBuf,
}

/// What memory knows of the session with the damaged journal.
#[derive(Clone, Debug)]
pub struct KnownConversation {
    /// The head of the damaged journal.
    pub head: JournalHead,
    /// The number of its last record.
    pub last_seq: u64,
    /// The messages, oldest first; every call has its result.
    pub messages: Vec<Message>,
    /// The cost of the session so far, which counts toward its limit.
    pub spent: MicroUsd,
    /// The current time in milliseconds since 1970.
    pub at: u64,
}

/// Writes the conversation beside the damaged journal.
///
/// # Errors
///
/// The disk fails.
pub fn rescue_session(
    damaged: &Path,
    known: KnownConversation,
) -> Result<RescuedSession, JournalError> {
    let KnownConversation { head, last_seq, messages, spent, at } = known;
    let own = damaged.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let old = head.session.clone().unwrap_or_else(|| SessionId::from(own.as_str()));
    let id = derive_uuid(old.as_str(), &format!("rescued at record {last_seq}, {at}"));
    // The folder itself may have been moved.
    if let Some(folder) = damaged.parent() {
        use std::os::unix::fs::DirBuilderExt;
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .map_err(JournalError::disk_error(folder, "made"))?;
    }
    let journal = damaged.with_file_name(format!("{id}.jsonl"));
    let head = JournalHead { created: at, parent: Some((old, last_seq)), spent, after: 0, ..head };
    let conversation = ImportedConversation { messages, ..ImportedConversation::default() };
    write_imported_journal(conversation, &journal, &SessionId::from(id.as_str()), &head)?;
    Ok(RescuedSession { id, journal })
}
