//! Copies the files of a snapshot to another folder.

use std::path::Path;

use windlass_workspace::{CancelFlag, CopyReport, LookDepth, SnapshotId};

use crate::SharedWorkspace;

/// The result of a copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotCopy {
    /// Number of files written.
    pub files: u64,
    /// Their total size in bytes.
    pub bytes: u64,
    /// Paths that the copy lacks, for display.
    pub missing: Vec<String>,
}

impl SnapshotCopy {
    pub(super) fn from_report(report: &CopyReport) -> Self {
        let missing = report.missing.iter().map(|path| path.path.to_string()).collect();
        Self { files: report.files, bytes: report.bytes, missing }
    }
}

/// Copies a snapshot, or with `None` the current files, to a new or empty folder. Blocks.
///
/// # Errors
///
/// When the snapshot is not in the store or the folder cannot be written, as a message for the
/// user.
pub fn copy_snapshot(
    shared: &SharedWorkspace,
    snapshot: Option<&str>,
    place: &Path,
) -> Result<SnapshotCopy, String> {
    let copied = shared.run(|workspace| {
        let cancel = CancelFlag::new();
        let snapshot: SnapshotId = match snapshot {
            Some(name) => name.parse()?,
            None => workspace.look(LookDepth::Quick, &cancel)?.id,
        };
        workspace.copy_to(snapshot, place, &cancel)
    });
    let report = copied.map_err(|error| error.to_string())?;
    let report = report.ok_or("no snapshots are kept of this directory")?;
    Ok(SnapshotCopy::from_report(&report))
}
