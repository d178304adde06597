//! Rewinds a conversation to an earlier record, and continues in the same journal.
//!
//! Nothing is deleted: the next file of the journal names the last record before it that counts,
//! and the records after that one stay in their file. The new file is created atomically.

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

/// Was the conversation of this journal ever rewound? An empty conversation is no damage then.
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

/// Rewinds to this record, which becomes the last one that counts. Rewinding to the end changes
/// nothing.
pub fn rewind(journal: &Path, to: u64, settings: &Settings) -> Result<(), JournalError> {
    let locked = lock_journal(journal)?;
    rewind_locked(&locked, to, settings)
}

/// Rewinds a locked journal to this record. The settings are used only for a journal that contains
/// none.
pub fn rewind_locked(
    locked: &LockedJournal,
    to: u64,
    settings: &Settings,
) -> Result<(), JournalError> {
    let folder = SnapshotStore::folder_for(&locked.path);
    let snapshots = SnapshotStore::open(&folder, Durability::Synced, SnapshotLimits::default())?;
    begin_rewound_segment(&locked.path, to, settings, &snapshots).map(|_| ())
}

/// Starts the file in which the conversation continues after this record. Returns how much was
/// spent after it, which still counts; `None` if nothing came after it.
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
        let words = "the session was rewound too often; continue in a copy: --fork-session";
        return Err(JournalError::disk_error(&path, "begun")(std::io::Error::other(words)));
    }
    // Must come first: if it came last and failed, later changes would be mistaken for earlier
    // ones.
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
