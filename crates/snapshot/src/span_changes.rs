//! File changes made by calls: the differences between the snapshots around them, without changes
//! made between spans.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;

use windlass_journal::snapshot_store::{FileImage, LoggedFileChange, SnapshotSpan};
use windlass_vocabulary::notice::ChangeKind;
use windlass_workspace::{
    CancelFlag, ContentDigest, LookDepth, PathChange, PathImage, RelativePath, SnapshotBatch,
    SnapshotId, Workspace, WorkspaceError,
};

use crate::SharedWorkspace;
use crate::change_summary::classify_change;
use crate::foreign_batches::ForeignBatches;

/// One file that calls changed, with its contents before and after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileDifference {
    /// Path for display: relative to the working directory, absolute in added directories.
    pub path: String,
    /// Whether it was created, modified or deleted.
    pub kind: ChangeKind,
    /// Its content before.
    pub before: HeldContent,
    /// Its content after.
    pub after: HeldContent,
}

/// The content of a path at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeldContent {
    /// Nothing, or a folder.
    Nothing,
    /// A file's bytes and mode bits.
    File(Vec<u8>, u32),
    /// A symlink's target.
    Link(Vec<u8>),
    /// Content that is not stored.
    NotKept,
}

/// Calls `visit` for every file that these spans changed, in the order of paths. Spans of other
/// directories are ignored. Blocks.
///
/// # Errors
///
/// When the snapshots cannot be read, as a message for the user.
pub fn visit_span_changes(
    shared: &SharedWorkspace,
    spans: &[SnapshotSpan],
    mut visit: impl FnMut(FileDifference),
) -> Result<(), String> {
    for member in shared.members() {
        let visited = member.run(|workspace| {
            let changed = combine_changes(workspace, member, spans)?;
            for (path, (before, after)) in changed {
                if let Some(kind) = classify_change(&path, &before, &after)
                    && before != after
                {
                    visit(FileDifference {
                        path: shared.name_file(member, &path),
                        kind,
                        before: read_content(workspace, &before),
                        after: read_content(workspace, &after),
                    });
                }
            }
            Ok(())
        });
        visited.map_err(|error| error.to_string())?;
    }
    Ok(())
}

type ChangedPaths = BTreeMap<RelativePath, (PathImage, PathImage)>;

/// For each path, its image before the first span that changed it and after the last.
fn combine_changes(
    workspace: &mut Workspace,
    shared: &SharedWorkspace,
    spans: &[SnapshotSpan],
) -> Result<ChangedPaths, WorkspaceError> {
    let mut combined = ChangedPaths::new();
    let own: Vec<&SnapshotSpan> = spans.iter().filter(|span| span.root == shared.root()).collect();
    for batch in list_batches(workspace, shared, &own)? {
        for change in workspace.batch_changes(&batch)? {
            let entry = combined.entry(change.path);
            entry.or_insert((change.before, PathImage::Absent)).1 = change.after;
        }
    }
    Ok(combined)
}

/// Adds what edits announced before they were made to the proofs of batches that have one.
pub(crate) fn prove_by_edits(
    batches: &mut [SnapshotBatch],
    shared: &SharedWorkspace,
    edits: &[LoggedFileChange],
) {
    let root = shared.resolved_root();
    let written: Vec<(RelativePath, Option<ContentDigest>)> = edits
        .iter()
        .filter_map(|edit| {
            let below = [root.as_path(), shared.root()];
            let below = below.into_iter().find_map(|root| edit.path.strip_prefix(root).ok())?;
            let path = RelativePath::new(below.as_os_str().as_bytes()).ok()?;
            match &edit.after {
                FileImage::Absent => Some((path, None)),
                FileImage::Content(name) => {
                    Some((path, Some(name.parse::<SnapshotId>().ok()?.digest())))
                }
                FileImage::NotKept => None,
            }
        })
        .collect();
    for proof in batches.iter_mut().filter_map(|batch| batch.proof.as_mut()) {
        proof.written.clone_from(&written);
    }
}

/// The changes of one span, without those of other sessions meanwhile. Blocks.
pub fn list_span_changes(
    shared: &SharedWorkspace,
    span: &SnapshotSpan,
) -> Result<Vec<PathChange>, WorkspaceError> {
    let changes = shared.run(|workspace| {
        let mut changes = Vec::new();
        for batch in list_batches(workspace, shared, &[span])? {
            changes.extend(workspace.batch_changes(&batch)?);
        }
        Ok(changes)
    })?;
    Ok(changes.unwrap_or_default())
}

/// The batch of each span, with overlapping ones of other sessions. One whose end nobody saw lasts
/// until the next look, and has a proof of what is known to be its work.
pub fn list_batches(
    workspace: &mut Workspace,
    shared: &SharedWorkspace,
    spans: &[&SnapshotSpan],
) -> Result<Vec<SnapshotBatch>, WorkspaceError> {
    let foreign = ForeignBatches::read(&shared.config().store, spans);
    let mut batches = Vec::new();
    for span in spans {
        let Ok(from) = span.from.parse() else { continue };
        let to = match span.to.as_ref().and_then(|to| to.parse().ok()) {
            Some(to) => to,
            None => workspace.look(LookDepth::Quick, &CancelFlag::new())?.id,
        };
        batches.push(foreign.build_batch(span, from, to));
    }
    Ok(batches)
}

pub fn read_content(workspace: &Workspace, image: &PathImage) -> HeldContent {
    match image {
        PathImage::Absent | PathImage::Folder { .. } => HeldContent::Nothing,
        PathImage::File { content, mode, .. } => match workspace.read(content) {
            Ok(bytes) => HeldContent::File(bytes, *mode),
            Err(_) => HeldContent::NotKept,
        },
        PathImage::Link { target } => HeldContent::Link(target.clone()),
        PathImage::Uncovered { .. } => HeldContent::NotKept,
    }
}
