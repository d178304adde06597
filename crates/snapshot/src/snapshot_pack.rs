//! Packs the files of a working directory into one stream, and unpacks it.

use std::io::{Read, Write};
use std::path::Path;

use windlass_workspace::{CancelFlag, LookDepth, PackOptions};

use crate::{SharedWorkspace, SnapshotCopy};

/// Packs the current files, without ignored files and git's own state. Returns the number of
/// contents. Blocks.
///
/// # Errors
///
/// When no snapshot of the directory can be taken or writing fails, as a message for the user.
pub fn pack_workspace(shared: &SharedWorkspace, out: &mut dyn Write) -> Result<u64, String> {
    let packed = shared.run(|workspace| {
        let now = workspace.look(LookDepth::Quick, &CancelFlag::new())?.id;
        workspace.pack(now, &PackOptions::default(), out)
    });
    let report = packed.map_err(|error| error.to_string())?;
    Ok(report.ok_or("no snapshots are kept of this directory")?.contents)
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
