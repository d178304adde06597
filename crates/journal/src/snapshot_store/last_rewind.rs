//! Finds what the last rewind did, so that it can be undone.

use super::restore_plan::{FileChangeSequence, PlannedRestore};
use super::snapshot_span::SnapshotSpan;
use super::{LoggedFileChange, SnapshotStore};

/// The last rewind, if nothing was done since; otherwise both are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LastRewind {
    /// Its spans, one per directory.
    pub spans: Vec<SnapshotSpan>,
    /// What undoes its changes to files without snapshots.
    pub files: Vec<PlannedRestore>,
}

impl SnapshotStore {
    /// Finds the last rewind, and plans undoing it where there are no snapshots.
    #[must_use]
    pub fn find_last_rewind(&self) -> LastRewind {
        let log = self.lock_log();
        let mut spans: Vec<SnapshotSpan> = Vec::new();
        for span in log.spans.iter().rev().take_while(|span| span.is_rewind) {
            if spans.iter().any(|known| known.root == span.root) {
                break;
            }
            spans.push(span.clone());
        }
        let number = log.changes.last().and_then(|change| change.rewind);
        let trailing = log.changes.iter().rev().take_while(|change| change.rewind == number);
        let mut changes: Vec<LoggedFileChange> = match number {
            Some(_) => trailing.cloned().collect(),
            None => Vec::new(),
        };
        // A rewind logs its changes first, then its spans.
        let logged_at = log.spans_before.last().copied().unwrap_or_default();
        if logged_at + spans.len() < log.spans.len() {
            changes.clear();
        } else if !changes.is_empty() && logged_at == log.spans.len() {
            spans.clear();
        }
        drop(log);
        let plan = |change| self.plan_file(FileChangeSequence::new(change));
        LastRewind { spans, files: changes.into_iter().map(plan).collect() }
    }
}
