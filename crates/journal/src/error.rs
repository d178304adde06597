//! Errors of a journal, by who must act. They never contain conversation text.

use std::io;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::disk::JournalFileChange;
use crate::record::{ClaimHolder, RECORD_PREFIX};

#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    #[error(
        "the journal {path} could not be {action}: {source}{advice}",
        path = path.display(), advice = advice(*remedy)
    )]
    Disk {
        path: PathBuf,
        action: &'static str,
        /// Who must act, and how.
        remedy: DiskRemedy,
        source: io::Error,
    },
    /// Something other than a file is at this path.
    #[error("the journal {path} is not a regular file", path = path.display())]
    NotAFile { path: PathBuf },
    #[error(
        "the journal {path} is being written by another process{holder}; close that session \
         first, or fork this one",
        path = path.display(), holder = describe_holder(holder.as_ref())
    )]
    Busy {
        path: PathBuf,
        /// The process that holds it, if the file says so.
        holder: Option<ClaimHolder>,
    },
    /// Another program changed the file while it was open here.
    #[error(
        "the journal {path} was {change} by another program while it was open",
        path = path.display(), change = describe_change(*change)
    )]
    Changed { path: PathBuf, change: JournalFileChange },
    /// Another writer claimed the session after us.
    #[error(
        "the session was taken over (claim {current} follows our claim {ours}); \
         nothing more is written here"
    )]
    Fenced {
        /// The claim we hold.
        ours: u64,
        /// The claim that is valid now.
        current: u64,
    },
    /// The journal does not end where the writer expects.
    #[error("the journal ends at record {found}, not at {expected}; read it again")]
    Conflict {
        /// Where the writer expects the end.
        expected: u64,
        /// Where it ends.
        found: u64,
    },
    /// Written by a later version of Windlass. The file was not changed.
    #[error(
        "the journal {path} has format {found}, this version of Windlass reads up to {known}; \
         use a newer one",
        path = path.display()
    )]
    Newer {
        path: PathBuf,
        found: u64,
        /// The newest format this version reads.
        known: u64,
    },
    /// The file has other content. It was not changed.
    #[error("{path} is not a journal; choose another file", path = path.display())]
    NotAJournal { path: PathBuf },
    /// There is no such session, or more than one.
    #[error("{found} sessions are called `{wanted}`; give more of the id")]
    NotOne {
        /// The id or name searched for.
        wanted: String,
        /// Two or more, or none.
        found: usize,
    },
    /// The record cannot be serialized: a bug of ours.
    #[error("a record cannot be written to the journal {path}: {source}", path = path.display())]
    Unwritable { path: PathBuf, source: serde_json::Error },
    /// A remote store failed.
    #[error("the session could not be {action} in the store: {source}")]
    Store { action: &'static str, source: Box<dyn std::error::Error + Send + Sync> },
    #[error("{what} would be {size} bytes, and at most {max} are kept")]
    TooLarge { what: &'static str, size: u64, max: u64 },
}

/// Who must act before the disk works again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskRemedy {
    /// The user: free some space. The writer can be used again afterwards.
    MakeRoom,
    /// The user: the file size limit (`ulimit -f`) is reached. The writer can be used again
    /// afterwards.
    RaiseLimit,
    /// The administrator: the disk is read-only, or permissions are missing.
    GrantWriting,
    /// The user: the folder, or the server it is on, has disappeared.
    BringBack,
    /// The administrator: the disk is failing. Unacknowledged records are lost.
    ReplaceDisk,
    /// Unknown; the system's message tells more.
    Unknown,
}

impl DiskRemedy {
    /// Chooses the remedy by the kind of an I/O error.
    #[must_use]
    pub fn from_io_error(error: &io::Error) -> Self {
        use io::ErrorKind as Kind;
        match error.kind() {
            Kind::StorageFull | Kind::QuotaExceeded => Self::MakeRoom,
            Kind::FileTooLarge => Self::RaiseLimit,
            Kind::ReadOnlyFilesystem | Kind::PermissionDenied => Self::GrantWriting,
            Kind::NotFound | Kind::StaleNetworkFileHandle | Kind::NotADirectory => Self::BringBack,
            _ if error.raw_os_error() == Some(EIO) => Self::ReplaceDisk,
            _ => Self::Unknown,
        }
    }
}

/// The number is the same on all supported systems; the standard library has no name for it.
const EIO: i32 = 5;

impl JournalError {
    pub(crate) fn disk_error(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| {
            let remedy = DiskRemedy::from_io_error(&source);
            Self::Disk { path: path.to_owned(), action, remedy, source }
        }
    }

    /// Who must act, if the disk failed.
    #[must_use]
    pub fn remedy(&self) -> Option<DiskRemedy> {
        match self {
            Self::Disk { remedy, .. } => Some(*remedy),
            Self::Changed { change, .. } => match change {
                JournalFileChange::Deleted | JournalFileChange::Moved => {
                    Some(DiskRemedy::BringBack)
                }
                JournalFileChange::Replaced
                | JournalFileChange::Cut
                | JournalFileChange::Extended { .. } => None,
            },
            Self::NotAFile { .. }
            | Self::Busy { .. }
            | Self::Fenced { .. }
            | Self::Conflict { .. }
            | Self::Newer { .. }
            | Self::NotAJournal { .. }
            | Self::NotOne { .. }
            | Self::Unwritable { .. }
            | Self::Store { .. }
            | Self::TooLarge { .. } => None,
        }
    }

    /// Did another program move or change the file while it was open?
    #[must_use]
    pub fn is_changed_by_others(&self) -> bool {
        matches!(self, Self::Changed { .. })
    }

    pub(crate) fn is_missing(&self) -> bool {
        matches!(self, Self::Disk { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}

fn describe_change(change: JournalFileChange) -> &'static str {
    match change {
        JournalFileChange::Deleted => "deleted",
        JournalFileChange::Moved => "moved away, or its folder was,",
        JournalFileChange::Replaced => "replaced",
        JournalFileChange::Cut => "cut",
        JournalFileChange::Extended { .. } => "written to",
    }
}

fn advice(remedy: DiskRemedy) -> &'static str {
    match remedy {
        DiskRemedy::MakeRoom => "; make room on that file system",
        DiskRemedy::RaiseLimit => "; raise the limit on the size of files (ulimit -f)",
        DiskRemedy::GrantWriting => "; make that place writable",
        DiskRemedy::BringBack => "; its folder is gone",
        DiskRemedy::ReplaceDisk => "; the disk is failing",
        DiskRemedy::Unknown => "",
    }
}

fn describe_holder(holder: Option<&ClaimHolder>) -> String {
    holder.map(|ClaimHolder { pid, host }| format!(" (pid {pid} on {host})")).unwrap_or_default()
}

/// Refuses devices, pipes and directories: reading them could block or never end.
pub(crate) fn check_journal_file(path: &Path) -> Result<(), JournalError> {
    match std::fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() => {
            Err(JournalError::NotAFile { path: path.to_owned() })
        }
        Ok(_) if !may_be_journal(path) => Err(JournalError::NotAJournal { path: path.to_owned() }),
        // The caller decides about a missing file; other errors appear when it is opened.
        _ => Ok(()),
    }
}

/// Is there a record near the beginning, or nothing yet? A journal with a damaged first line is
/// still a journal; a file without any record is not ours to repair.
fn may_be_journal(path: &Path) -> bool {
    let mut beginning = Vec::new();
    let read = std::fs::File::open(path)
        .and_then(|file| file.take(SNIFFED_BYTES).read_to_end(&mut beginning));
    // A read error is reported when the file is opened.
    read.is_err()
        || RECORD_PREFIX.starts_with(&beginning)
        || beginning.split(|byte| *byte == b'\n').any(|line| line.starts_with(RECORD_PREFIX))
}

/// Limit on the bytes checked.
const SNIFFED_BYTES: u64 = 1024 * 1024;
