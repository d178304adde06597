//! What can go wrong with a journal, sorted by who is at fault. No transcript inside an error.

use std::io;
use std::path::{Path, PathBuf};

/// A journal cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The disk said no.
    #[error("the journal {path} could not be {action}: {source}", path = path.display())]
    Disk {
        /// The file.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// What the disk said.
        source: io::Error,
    },
    /// Something else stands at this path.
    #[error("the journal {path} is not a regular file", path = path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// Another process writes it.
    #[error(
        "the journal {path} is being written by another process; close that session first",
        path = path.display()
    )]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// A later version of Windlass wrote it. It was left as it is.
    #[error(
        "the journal {path} has format {found}, this version of Windlass reads up to {known}; \
         use a newer one",
        path = path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u64,
        /// The newest format known here.
        known: u64,
    },
    /// An event cannot be written down: a fault of ours.
    #[error("an event cannot be written to the journal {path}: {source}", path = path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
}

/// Refuses devices, pipes and directories, which could be read for ever or not at all.
pub(crate) fn check_file(path: &Path) -> Result<(), JournalError> {
    match std::fs::metadata(path) {
        Ok(found) if !found.is_file() => Err(JournalError::NotAFile { path: path.to_owned() }),
        // A missing file is the caller's to judge, and what else is wrong opening it will say.
        _ => Ok(()),
    }
}

impl JournalError {
    pub(crate) fn disk(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Disk { path: path.to_owned(), action, source }
    }
}
