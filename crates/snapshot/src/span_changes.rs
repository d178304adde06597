//! What calls did to files: the differences between the snapshots around them, and nothing that
//! happened in between.

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

/// One file that calls changed, with what it held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileDifference {
    /// Where it is, below the working directory, for people.
    pub path: String,
    /// What became of it.
    pub kind: ChangeKind,
    /// What it held before.
    pub before: HeldContent,
    /// What it held after.
    pub after: HeldContent,
}

/// What a path held at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeldContent {
    /// Nothing was there, or a folder.
    Nothing,
    /// A file with these bytes and the bits of its mode.
    File(Vec<u8>, u32),
    /// A link to there.
    Link(Vec<u8>),
    /// Something whose bytes were not kept.
    NotKept,
}

/// Calls back for every file that these spans changed, by path. Spans of another directory are left
/// out. Blocks.
///
/// # Errors
///
/// When the snapshots cannot be read, in words.
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

/// For each path what was there before the first span that changed it, and after the last.
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

/// What one span changed, without what other sessions did meanwhile. Blocks.
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

/// The batch of each span, with what other sessions did meanwhile. One whose process died has no end: the
/// next look is its end.
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
