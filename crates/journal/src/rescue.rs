//! A conversation whose journal another program took from under its writer: what memory knows of it is
//! written down as a session of its own, beside the one that was damaged.

use std::path::{Path, PathBuf};

use windlass_vocabulary::{Message, MicroUsd, SessionId};

use crate::digest::derive_uuid;
use crate::error::JournalError;
use crate::record::JournalHead;
use crate::transcript::{ImportedConversation, write_imported_journal};

/// A conversation that goes on under another id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RescuedSession {
    pub id: String,
    pub journal: PathBuf,
}

/// What is known of the session whose journal was damaged.
#[derive(Clone, Debug)]
pub struct KnownConversation {
    /// What the damaged journal said of itself.
    pub head: JournalHead,
    /// The number of its last record.
    pub last_seq: u64,
    /// What was said, oldest first; every call has its result.
    pub messages: Vec<Message>,
    /// What the session has cost, which a limit goes on counting.
    pub spent: MicroUsd,
    /// The time: milliseconds since 1970.
    pub at: u64,
}

/// Writes the conversation down beside the damaged journal.
///
/// # Errors
///
/// When the disk fails.
pub fn rescue_session(
    damaged: &Path,
    known: KnownConversation,
) -> Result<RescuedSession, JournalError> {
    let KnownConversation { head, last_seq, messages, spent, at } = known;
    let own = damaged.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let old = head.session.clone().unwrap_or_else(|| SessionId::from(own.as_str()));
    let id = derive_uuid(old.as_str(), &format!("rescued at record {last_seq}, {at}"));
    // The folder itself may have been moved away.
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
