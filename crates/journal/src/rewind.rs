//! A conversation goes back to an earlier record and on from there, in the same journal.
//!
//! Nothing is cut off: the next file of the journal says which record before it is the last that
//! counts, and what stands behind that one stays where it is. The new file is there as a whole or
//! not at all.

use std::path::{Path, PathBuf};

use crate::disk::{DiskFile, RealDisk, replace};
use crate::error::JournalError;
use crate::kept::{Kept, KeptLimits};
use crate::reader::{Entry, Reader};
use crate::record::{Head, encode_head};
use crate::segment;
use crate::writer::{Durability, Writer};

/// Goes back to this record: it is the last that counts from now on. To go back to where the journal
/// ends changes nothing.
///
/// # Errors
///
/// When the journal is being written, went back too often, or the disk says no.
pub fn rewind(journal: &Path, to: u64) -> Result<(), JournalError> {
    let held = hold(journal)?;
    rewind_held(&held, to)
}

/// A journal that nobody writes as long as this lives.
#[derive(Debug)]
pub struct Held {
    path: PathBuf,
    _lock: Box<dyn DiskFile>,
}

/// Keeps writers out of a journal, without writing to it.
///
/// # Errors
///
/// When it is being written, is not there, or the disk says no.
pub fn hold(journal: &Path) -> Result<Held, JournalError> {
    Ok(Held { path: journal.to_owned(), _lock: Writer::hold(journal, &RealDisk)? })
}

/// Goes back to this record in a journal that is held.
///
/// # Errors
///
/// When the journal went back too often, or the disk says no.
pub fn rewind_held(held: &Held, to: u64) -> Result<(), JournalError> {
    let journal = held.path.as_path();
    let mut reader = Reader::open(journal)?;
    let (mut first, mut rewound) = (None, 0);
    while let Some(entry) = reader.next_entry()? {
        if let Ok(Entry::Head(head)) = entry {
            rewound = rewound.max(head.rewound);
            first.get_or_insert(head);
        }
    }
    if to >= reader.seq() {
        return Ok(());
    }
    let segment = segment::after_first(&RealDisk, journal).last().map_or(1, |(last, _)| *last) + 1;
    let path = segment::path_of(journal, segment);
    if segment > segment::SEGMENTS_MAX {
        let words = "the session went back too often; go on in a copy: --fork-session";
        return Err(JournalError::disk(&path, "begun")(std::io::Error::other(words)));
    }
    // First: were it last and never done, later changes would be taken for earlier ones.
    let kept = Kept::open(&Kept::folder(journal), Durability::Synced, KeptLimits::default())?;
    kept.went_back(to)?;
    let head =
        Head { segment, after: to, rewound: rewound + 1, ..first.unwrap_or_else(Head::default) };
    let line = encode_head(&head)
        .map_err(|source| JournalError::Unwritable { path: path.clone(), source })?;
    replace(&RealDisk, &path, &line).map_err(JournalError::disk(&path, "begun"))
}
