//! Packs the files of a working directory into one stream, and unpacks it.

use std::io::{Read, Write};
use std::path::Path;

use windlass_workspace::{CancelFlag, LookDepth, PackOptions, UncoveredPath, UncoveredReason};

use crate::{SharedWorkspace, SnapshotCopy};

/// What a packed stream holds, and what it lacks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PackedWorkspace {
    /// Number of contents.
    pub contents: u64,
    /// Paths of files that hold a key, which were left out.
    pub refused: Vec<String>,
}

/// Packs the current files, without ignored files, files with one of the known secrets, and git's
/// own state. Blocks.
///
/// # Errors
///
/// When no snapshot of the directory can be taken or writing fails, as a message for the user.
pub fn pack_workspace(
    shared: &SharedWorkspace,
    out: &mut dyn Write,
) -> Result<PackedWorkspace, String> {
    let packed = shared.run(|workspace| {
        // Thorough, because an earlier look may have known fewer secrets.
        let now = workspace.look(LookDepth::Thorough, &CancelFlag::new())?;
        let is_refused = |path: &&UncoveredPath| path.reason == UncoveredReason::Refused;
        let refused = now.uncovered.iter().filter(is_refused);
        let refused = refused.map(|path| path.path.to_string()).collect();
        let contents = workspace.pack(now.id, &PackOptions::default(), out)?.contents;
        Ok(PackedWorkspace { contents, refused })
    });
    let packed = packed.map_err(|error| error.to_string())?;
    packed.ok_or_else(|| "no snapshots are kept of this directory".to_owned())
}

/// Unpacks a stream of [`pack_workspace`] into a new or empty folder outside the directory of this
/// workspace. An invalid stream changes nothing. Blocks.
///
/// # Errors
///
/// When the stream is invalid or writing fails, as a message for the user.
pub fn unpack_workspace(
    shared: &SharedWorkspace,
    from: &mut dyn Read,
    place: &Path,
) -> Result<SnapshotCopy, String> {
    let copied = shared.run(|workspace| {
        let snapshot = workspace.unpack(from)?;
        workspace.copy_to(snapshot, place, &CancelFlag::new())
    });
    let report = copied.map_err(|error| error.to_string())?;
    let report = report.ok_or("no snapshots are kept here")?;
    Ok(SnapshotCopy::from_report(&report))
}
