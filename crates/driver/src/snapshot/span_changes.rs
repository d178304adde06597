//! What calls did to files: the differences between the snapshots around them, and nothing that
//! happened in between.

use std::collections::BTreeMap;

use windlass_journal::snapshot_store::SnapshotSpan;
use windlass_vocabulary::notice::ChangeKind;
use windlass_workspace::{PathImage, RelativePath, SnapshotId, Workspace, WorkspaceError};

use super::SharedWorkspace;
use super::change_summary::classify_change;

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
    let visited = shared.run(|workspace| {
        let changed = combine_changes(workspace, shared, spans)?;
        for (path, (before, after)) in changed {
            if let Some(kind) = classify_change(&path, &before, &after)
                && before != after
            {
                visit(FileDifference {
                    path: path.to_string(),
                    kind,
                    before: read_content(workspace, &before),
                    after: read_content(workspace, &after),
                });
            }
        }
        Ok(())
    });
    visited.map(drop).map_err(|error| error.to_string())
}

type ChangedPaths = BTreeMap<RelativePath, (PathImage, PathImage)>;

/// For each path what was there before the first span that changed it, and after the last.
fn combine_changes(
    workspace: &Workspace,
    shared: &SharedWorkspace,
    spans: &[SnapshotSpan],
) -> Result<ChangedPaths, WorkspaceError> {
    let mut combined = ChangedPaths::new();
    for span in spans.iter().filter(|span| span.root == shared.root()) {
        let ids: (Option<SnapshotId>, Option<SnapshotId>) =
            (span.from.parse().ok(), span.to.as_ref().and_then(|to| to.parse().ok()));
        let (Some(from), Some(to)) = ids else { continue };
        for change in workspace.changes(from, to)? {
            let entry = combined.entry(change.path);
            entry.or_insert((change.before, PathImage::Absent)).1 = change.after;
        }
    }
    Ok(combined)
}

fn read_content(workspace: &Workspace, image: &PathImage) -> HeldContent {
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
