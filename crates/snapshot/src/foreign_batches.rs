//! Finds the batches of other sessions that ran beside those of one, whose changes must be
//! excluded.
//!
//! Every session that takes snapshots of a directory logs when its batches began and ended. Of two
//! overlapping batches, one that lies within the other is narrower, and changes that both saw are
//! attributed to it. If neither lies within the other, the changes are attributed to neither.

use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use windlass_journal::snapshot_store::SnapshotSpan;
use windlass_journal::{Durability, SnapshotLimits, SnapshotStore};
use windlass_workspace::{BatchProof, SnapshotBatch, SnapshotId};

use crate::garbage::list_change_logs;

/// The batches of all other sessions in one directory.
#[derive(Debug, Default)]
pub(crate) struct ForeignBatches(Vec<SnapshotSpan>);

impl ForeignBatches {
    /// Reads the change logs of sessions written since the first of these spans began. Blocks.
    pub(crate) fn read(store: &Path, own: &[&SnapshotSpan]) -> Self {
        let Some(begun) = own.iter().filter_map(|span| span.begun).min() else {
            return Self::default();
        };
        let since = UNIX_EPOCH + Duration::from_millis(begun);
        let is_recent = |log: &Path| {
            log.join("log")
                .metadata()
                .and_then(|found| found.modified())
                .is_ok_and(|at| at >= since)
        };
        let mut foreign = Vec::new();
        for log in list_change_logs(store).into_iter().filter(|log| is_recent(log)) {
            let opened = SnapshotStore::open(&log, Durability::Written, SnapshotLimits::default());
            // An unreadable log excludes nothing.
            foreign.extend(opened.map(|kept| kept.spans()).unwrap_or_default());
        }
        // The session's own log is among them, and a fork's log begins with the same spans.
        foreign.retain(|span| own.iter().all(|known| *known != span));
        foreign.retain(|span| own.iter().any(|known| is_same_root(&known.root, &span.root)));
        // What happened until the end of one that nobody saw cannot be told apart.
        foreign.retain(|span| span.has_end);
        Self(foreign)
    }

    /// A batch of ours with the overlapping ones of others.
    pub(crate) fn build_batch(
        &self,
        span: &SnapshotSpan,
        before: SnapshotId,
        after: SnapshotId,
    ) -> SnapshotBatch {
        let beside = self.0.iter().filter(|other| takes_from(other, span));
        let beside = beside
            .filter_map(|other| Some((other.from.parse().ok()?, other.to.as_ref()?.parse().ok()?)));
        let proof = (!span.has_end).then(|| BatchProof {
            restored: span.rewind_to.as_ref().and_then(|to| to.parse().ok()),
            written: Vec::new(),
        });
        SnapshotBatch { before, after, beside: beside.collect(), proof }
    }
}

/// Whether this batch of another session overlaps ours and does not enclose it.
fn takes_from(other: &SnapshotSpan, own: &SnapshotSpan) -> bool {
    let (Some(begun), Some(other_begun)) = (own.begun, other.begun) else { return false };
    let ended = own.ended.unwrap_or(u64::MAX);
    let other_ended = other.ended.unwrap_or(u64::MAX);
    let is_beside = other_begun < ended && begun < other_ended;
    let is_around = other_begun <= begun && ended <= other_ended;
    let is_equal = other_begun == begun && ended == other_ended;
    is_beside && (!is_around || is_equal)
}

fn is_same_root(one: &Path, other: &Path) -> bool {
    one == other
        || one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(begun: u64, ended: u64) -> SnapshotSpan {
        SnapshotSpan {
            record: 1,
            root: "/somewhere".into(),
            calls: Vec::new(),
            from: String::new(),
            to: None,
            has_end: ended > 0,
            is_rewind: false,
            rewind_to: None,
            begun: Some(begun),
            ended: (ended > 0).then_some(ended),
        }
    }

    #[test]
    fn the_narrower_of_two_batches_has_what_both_saw() {
        let own = span(100, 200);
        for (other, takes) in [
            (span(120, 150), true),
            (span(100, 150), true),
            (span(50, 150), true),
            (span(150, 250), true),
            (span(100, 200), true),
            (span(90, 210), false),
            (span(100, 201), false),
            (span(90, 0), false),
            (span(150, 0), true),
            (span(200, 300), false),
            (span(10, 100), false),
        ] {
            assert_eq!(takes_from(&other, &own), takes, "{other:?}");
        }
        let unknown = SnapshotSpan { begun: None, ..span(1, 2) };
        assert!(!takes_from(&span(120, 150), &unknown) && !takes_from(&unknown, &own));
        // A span without an end lasts until the next look.
        assert!(takes_from(&span(120, 150), &span(100, 0)));
    }
}
