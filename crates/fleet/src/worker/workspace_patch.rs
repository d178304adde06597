//! A session's changes as a patch for `git apply`: from the fresh checkout to the files of its last
//! finished tool.

use windlass_text_diff::TextDifference;
use windlass_workspace::{PathChange, PathImage, SnapshotId, Workspace, WorkspaceError};

/// Renders the changes between two snapshots. Comments at the top list files left out: too long or
/// not text.
pub(crate) fn render_patch(
    workspace: &Workspace,
    from: SnapshotId,
    to: SnapshotId,
) -> Result<String, WorkspaceError> {
    let mut left_out = String::new();
    let mut patch = String::new();
    for change in workspace.changes(from, to)? {
        if change.path.is_git_state() || !travels(&change.before) || !travels(&change.after) {
            continue;
        }
        match render_file(workspace, &change) {
            Some(text) if patch.len() + text.len() <= PATCH_BYTES_MAX => patch.push_str(&text),
            Some(_) => left_out.push_str(&format!("# {}: the patch is too long\n", change.path)),
            None => left_out.push_str(&format!("# {}: not text\n", change.path)),
        }
    }
    left_out.push_str(&patch);
    Ok(left_out)
}

/// Ignored files are not part of the patch.
pub(crate) fn travels(image: &PathImage) -> bool {
    match image {
        PathImage::Absent | PathImage::Link { .. } => true,
        PathImage::File { is_ignored, .. } => !is_ignored,
        PathImage::Folder { .. } => true,
        PathImage::Uncovered { .. } => false,
    }
}

/// The patch of one file. Empty for a folder, `None` for a file that is not text.
fn render_file(workspace: &Workspace, change: &PathChange) -> Option<String> {
    let PathChange { path, before, after } = change;
    let old = read_side(workspace, before)?;
    let new = read_side(workspace, after)?;
    let path = path.to_string();
    // Git would quote such a name.
    if path.contains(['"', '\\', '\n', '\t']) {
        return None;
    }
    let mut text = format!("diff --git a/{path} b/{path}\n");
    match (old.mode, new.mode) {
        (None, None) => return Some(String::new()),
        (None, Some(mode)) => text.push_str(&format!("new file mode {mode}\n")),
        (Some(mode), None) => text.push_str(&format!("deleted file mode {mode}\n")),
        (Some(old), Some(new)) if old != new => {
            text.push_str(&format!("old mode {old}\nnew mode {new}\n"));
        }
        (Some(_), Some(_)) => {}
    }
    if old.text != new.text {
        let name = |side: &PatchSide, letter: &str| match side.mode {
            Some(_) => format!("{letter}/{path}"),
            None => "/dev/null".to_owned(),
        };
        let from = name(&old, "a");
        let to = name(&new, "b");
        text.push_str(&TextDifference::of_lines(&old.text, &new.text).to_unified(&from, &to, 3));
    }
    Some(text)
}

struct PatchSide {
    /// Git's mode; `None` if there is no file.
    mode: Option<&'static str>,
    text: String,
}

fn read_side(workspace: &Workspace, image: &PathImage) -> Option<PatchSide> {
    let (mode, bytes) = match image {
        PathImage::Absent | PathImage::Folder { .. } | PathImage::Uncovered { .. } => {
            (None, Vec::new())
        }
        PathImage::Link { target } => (Some("120000"), target.clone()),
        PathImage::File { content, mode, .. } => {
            let mode = if mode & 0o111 == 0 { "100644" } else { "100755" };
            (Some(mode), workspace.read(content).ok()?)
        }
    };
    let text = String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))?;
    Some(PatchSide { mode, text })
}

const PATCH_BYTES_MAX: usize = 16 << 20;
