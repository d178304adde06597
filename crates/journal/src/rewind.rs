//! A conversation goes back to an earlier record and on from there, in the same journal.
//!
//! Nothing is cut off: the next file of the journal says which record before it is the last that
//! counts, and what stands behind that one stays where it is. The new file is there as a whole or
//! not at all.

use std::path::{Path, PathBuf};

use windlass_engine::Settings;
use windlass_vocabulary::MicroUsd;

use crate::disk::{DiskFile, RealDisk, replace};
use crate::error::JournalError;
use crate::fold::{Replayed, fold_entries};
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
pub fn rewind(journal: &Path, to: u64, settings: &Settings) -> Result<(), JournalError> {
    let held = hold(journal)?;
    rewind_held(&held, to, settings)
}

/// A journal that nobody writes as long as this lives.
#[derive(Debug)]
pub struct Held {
    pub(crate) path: PathBuf,
    pub(crate) lock: Box<dyn DiskFile>,
}

/// Keeps writers out of a journal, without writing to it.
///
/// # Errors
///
/// When it is being written, is not there, or the disk says no.
pub fn hold(journal: &Path) -> Result<Held, JournalError> {
    Ok(Held { path: journal.to_owned(), lock: Writer::hold(journal, &RealDisk)? })
}

/// Goes back to this record in a journal that is held. A journal that does not say under which
/// settings it was decided is read under these.
///
/// # Errors
///
/// When the journal went back too often, or the disk says no.
pub fn rewind_held(held: &Held, to: u64, settings: &Settings) -> Result<(), JournalError> {
    let folder = Kept::folder(&held.path);
    let kept = Kept::open(&folder, Durability::Synced, KeptLimits::default())?;
    begin_anew(&held.path, to, settings, &kept).map(|_| ())
}

/// Begins the file in which the conversation goes on behind this record. What was spent behind it
/// stays spent; says how much that was, if there was anything behind it.
pub(crate) fn begin_anew(
    journal: &Path,
    to: u64,
    settings: &Settings,
    kept: &Kept,
) -> Result<Option<MicroUsd>, JournalError> {
    let (mut first, mut rewound, mut before) = (None, 0, MicroUsd(0));
    let (mut then, mut now) = (MicroUsd(0), MicroUsd(0));
    let see = |step: Replayed<'_>| {
        now = step.state.ledger.committed();
        if step.seq <= to {
            then = now;
        }
    };
    let meet = |entry| {
        if let Entry::Head(head) = entry {
            rewound = rewound.max(head.rewound);
            before = before.max(head.spent);
            first.get_or_insert(head);
        }
    };
    let (folded, _) = fold_entries(Reader::open(journal)?, settings, see, meet)?;
    if to >= folded.seq {
        return Ok(None);
    }
    let spent = now.less(then);
    let segment = segment::after_first(&RealDisk, journal).last().map_or(1, |(last, _)| *last) + 1;
    let path = segment::path_of(journal, segment);
    if segment > segment::SEGMENTS_MAX {
        let words = "the session went back too often; go on in a copy: --fork-session";
        return Err(JournalError::disk(&path, "begun")(std::io::Error::other(words)));
    }
    // First: were it last and never done, later changes would be taken for earlier ones.
    kept.went_back(to)?;
    let head = Head {
        segment,
        after: to,
        rewound: rewound + 1,
        spent: before + spent,
        ..first.unwrap_or_else(Head::default)
    };
    let line = encode_head(&head)
        .map_err(|source| JournalError::Unwritable { path: path.clone(), source })?;
    replace(&RealDisk, &path, &line).map_err(JournalError::disk(&path, "begun"))?;
    Ok(Some(spent))
}
