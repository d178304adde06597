//! A conversation goes back to an earlier record and on from there, in the same journal.
//!
//! Nothing is cut off: the next file of the journal says which record before it is the last that
//! counts, and what stands behind that one stays where it is. The new file is there as a whole or
//! not at all.

use std::path::Path;

use windlass_engine::Settings;
use windlass_vocabulary::MicroUsd;

use crate::disk::{RealDisk, replace_file};
use crate::durability::Durability;
use crate::error::JournalError;
use crate::fold::{ReplayStep, fold_entries};
use crate::journal_lock::{LockedJournal, lock_journal};
use crate::journal_reader::{JournalEntry, JournalReader};
use crate::record::{JournalHead, encode_head};
use crate::segment;
use crate::snapshot_store::{SnapshotLimits, SnapshotStore};

/// Did the conversation of this journal ever go back? Then nothing needs to be left of it, and that is
/// no damage.
pub fn is_rewound(journal: &Path) -> bool {
    let Ok(mut reader) = JournalReader::open(journal) else { return false };
    while let Ok(Some(entry)) = reader.next_entry() {
        if let Ok(JournalEntry::Head(head)) = entry
            && head.rewound > 0
        {
            return true;
        }
    }
    false
}

/// Goes back to this record: it is the last that counts from now on. To go back to where the journal
/// ends changes nothing.
pub fn rewind(journal: &Path, to: u64, settings: &Settings) -> Result<(), JournalError> {
    let locked = lock_journal(journal)?;
    rewind_locked(&locked, to, settings)
}

/// Goes back to this record in a journal that is held. A journal that does not say under which
/// settings it was decided is read under these.
pub fn rewind_locked(
    locked: &LockedJournal,
    to: u64,
    settings: &Settings,
) -> Result<(), JournalError> {
    let folder = SnapshotStore::folder_for(&locked.path);
    let snapshots = SnapshotStore::open(&folder, Durability::Synced, SnapshotLimits::default())?;
    begin_rewound_segment(&locked.path, to, settings, &snapshots).map(|_| ())
}

/// Begins the file in which the conversation goes on behind this record. What was spent behind it
/// stays spent; says how much that was, if there was anything behind it.
pub(crate) fn begin_rewound_segment(
    journal: &Path,
    to: u64,
    settings: &Settings,
    snapshots: &SnapshotStore,
) -> Result<Option<MicroUsd>, JournalError> {
    let mut first = None;
    let mut rewound = 0;
    let mut spent_before = MicroUsd(0);
    let mut spent_then = MicroUsd(0);
    let mut spent_now = MicroUsd(0);
    let on_step = |step: ReplayStep<'_>| {
        spent_now = step.state.ledger.committed();
        if step.seq <= to {
            spent_then = spent_now;
        }
    };
    let on_entry = |entry| {
        if let JournalEntry::Head(head) = entry {
            rewound = rewound.max(head.rewound);
            spent_before = spent_before.max(head.spent);
            first.get_or_insert(head);
        }
    };
    let (folded, _) = fold_entries(JournalReader::open(journal)?, settings, on_step, on_entry)?;
    if to >= folded.seq {
        return Ok(None);
    }
    let spent = spent_now.less(spent_then);
    let segment =
        segment::find_later_segments(&RealDisk, journal).last().map_or(1, |(last, _)| *last) + 1;
    let path = segment::segment_path(journal, segment);
    if segment > segment::SEGMENTS_MAX {
        let words = "the session went back too often; go on in a copy: --fork-session";
        return Err(JournalError::disk_error(&path, "begun")(std::io::Error::other(words)));
    }
    // First: were it last and never done, later changes would be taken for earlier ones.
    snapshots.record_rewind(to)?;
    let head = JournalHead {
        segment,
        after: to,
        rewound: rewound + 1,
        spent: spent_before + spent,
        ..first.unwrap_or_else(JournalHead::default)
    };
    let line = encode_head(&head)
        .map_err(|source| JournalError::Unwritable { path: path.clone(), source })?;
    replace_file(&RealDisk, &path, &line).map_err(JournalError::disk_error(&path, "begun"))?;
    Ok(Some(spent))
}
