//! Renders the changes that applying a trial would make, as text and as JSON.

use std::io::{IsTerminal as _, Write as _};

use serde_json::{Value, json};
use windlass_driver::snapshot::{count_differences, render_difference, render_differences};
use windlass_driver::trial::TrialPreview;
use windlass_host::command_error::to_single_line;
use windlass_host::display::escape_control_characters;
use windlass_host::standard_streams::StandardOutput;

/// The diff and a summary line.
pub(crate) fn render_preview(preview: &TrialPreview) -> String {
    format!("{}{}\n", render_differences(&preview.files), summarize_preview(preview))
}

/// The summary line.
pub(crate) fn summarize_preview(preview: &TrialPreview) -> String {
    let counts = preview.files.iter().filter_map(count_differences);
    let (insertions, deletions) = counts.fold((0, 0), |(insertions, deletions), counts| {
        (insertions + counts.insertions, deletions + counts.deletions)
    });
    let mut line = match preview.files.len() {
        0 => "no files would change".to_owned(),
        1 => format!("1 file would change, +{insertions} -{deletions}"),
        count => format!("{count} files would change, +{insertions} -{deletions}"),
    };
    for change in &preview.outside {
        let path = to_single_line(&change.path);
        let paths = if change.count == 1 { "path" } else { "paths" };
        line.push_str(&format!("; {path}: {} {paths}, not shown", change.count));
    }
    if preview.changes_git {
        line.push_str("; git's own state too");
    }
    if !preview.conflicts.is_empty() {
        let paths: Vec<String> =
            preview.conflicts.iter().map(|path| to_single_line(&path.to_string_lossy())).collect();
        line.push_str(&format!("; changed by others meanwhile: {}", paths.join(", ")));
    }
    line
}

pub(crate) fn preview_to_json(preview: &TrialPreview) -> Value {
    let files: Vec<Value> = preview
        .files
        .iter()
        .map(|file| {
            let counts = count_differences(file);
            json!({
                "path": file.path,
                "kind": file.kind.name(),
                "insertions": counts.map(|counts| counts.insertions),
                "deletions": counts.map(|counts| counts.deletions),
                "diff": render_difference(file),
            })
        })
        .collect();
    let outside: Vec<Value> = preview
        .outside
        .iter()
        .map(|change| json!({"path": change.path, "count": change.count}))
        .collect();
    json!({
        "files": files,
        "outside_snapshots": outside,
        "changes_git": preview.changes_git,
        "conflicts": preview.conflicts,
    })
}

/// Writes what files hold to standard output. It must not steer a terminal at which is asked.
pub(crate) fn write_contents(text: &str) -> std::io::Result<()> {
    match std::io::stdout().is_terminal() {
        true => StandardOutput::Stdout.write_all(escape_control_characters(text).as_bytes()),
        false => StandardOutput::Stdout.write_all(text.as_bytes()),
    }
}
