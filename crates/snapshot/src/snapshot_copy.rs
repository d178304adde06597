//! The files of one moment in another folder.

use std::path::Path;

use windlass_workspace::{CancelFlag, CopyReport, LookDepth, SnapshotId};

use crate::SharedWorkspace;

/// What was copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotCopy {
    /// Files that were written.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// What the original has and the copy has not, for people.
    pub missing: Vec<String>,
}

impl SnapshotCopy {
    pub(super) fn from_report(report: &CopyReport) -> Self {
        let missing = report.missing.iter().map(|path| path.path.to_string()).collect();
        Self { files: report.files, bytes: report.bytes, missing }
    }
}

/// Writes the files of a snapshot, or as they are now, to a new or an empty folder. Blocks.
///
/// # Errors
///
/// When the snapshot is not kept or the folder cannot be written, in words.
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
