//! File changes made by calls: the differences between the snapshots around them, without changes
//! made between spans.

use std::collections::BTreeMap;

use windlass_journal::snapshot_store::SnapshotSpan;
use windlass_vocabulary::notice::ChangeKind;
use windlass_workspace::{
    CancelFlag, LookDepth, PathChange, PathImage, RelativePath, SnapshotBatch, Workspace,
    WorkspaceError,
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

/// The batch of each span, with overlapping ones of other sessions. A span whose process died has
/// no end: the next snapshot is used as its end.
pub fn list_batches(
    workspace: &mut Workspace,
    shared: &SharedWorkspace,
    spans: &[&SnapshotSpan],
) -> Result<Vec<SnapshotBatch>, WorkspaceError> {
    let foreign = ForeignBatches::read(&shared.config().store, spans);
    let mut batches = Vec::new();
    for (place, span) in spans.iter().enumerate() {
        let Ok(from) = span.from.parse() else { continue };
        let next = spans.get(place + 1).and_then(|next| next.from.parse().ok());
        let to = match span.to.as_ref().and_then(|to| to.parse().ok()).or(next) {
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
