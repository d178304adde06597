//! The files of a working directory as one stream, and back.

use std::io::{Read, Write};
use std::path::Path;

use windlass_workspace::{CancelFlag, LookDepth, PackOptions};

use crate::{SharedWorkspace, SnapshotCopy};

/// Writes the files as they are now. Ignored files and git's own state stay. Blocks.
///
/// # Errors
///
/// When the directory is not kept as a whole or the disk refuses, in words.
pub fn pack_workspace(shared: &SharedWorkspace, out: &mut dyn Write) -> Result<u64, String> {
    let packed = shared.run(|workspace| {
        let now = workspace.look(LookDepth::Quick, &CancelFlag::new())?.id;
        workspace.pack(now, &PackOptions::default(), out)
    });
    let report = packed.map_err(|error| error.to_string())?;
    Ok(report.ok_or("no snapshots are kept of this directory")?.contents)
}

/// Takes a stream of [`pack_workspace`], whole or not at all, and writes its files to a new or an empty
/// folder outside the directory of this workspace. Blocks.
///
/// # Errors
///
/// When the stream is not what was packed or the disk refuses, in words.
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
