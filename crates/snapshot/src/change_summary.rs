//! Classifies the changes between two snapshots for display.

use windlass_vocabulary::notice::{ChangeKind, ChangedFile};
use windlass_workspace::{PathChange, PathImage, RelativePath};

pub fn summarize_changes(
    changes: &[PathChange],
    name_file: impl Fn(&RelativePath) -> String,
) -> Vec<ChangedFile> {
    let told = changes.iter().filter_map(|change| {
        let kind = classify_change(&change.path, &change.before, &change.after)?;
        Some(ChangedFile { path: name_file(&change.path), kind })
    });
    told.collect()
}

/// The kind of a change; `None` for folders, which follow from their files, and for git's own
/// state.
pub fn classify_change(
    path: &RelativePath,
    before: &PathImage,
    after: &PathImage,
) -> Option<ChangeKind> {
    if path.is_git_state() {
        return None;
    }
    match (is_file(before), is_file(after)) {
        (false, true) => Some(ChangeKind::Created),
        (true, true) => Some(ChangeKind::Modified),
        (true, false) => Some(ChangeKind::Deleted),
        (false, false) => None,
    }
}

fn is_file(image: &PathImage) -> bool {
    match image {
        PathImage::File { .. } | PathImage::Link { .. } | PathImage::Uncovered { .. } => true,
        PathImage::Absent | PathImage::Folder { .. } => false,
    }
}
