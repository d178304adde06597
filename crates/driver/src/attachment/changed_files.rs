//! What changed without the model's doing, and the current content of the files it works on.

use std::path::Path;

use windlass_tool::ToolSessionContext;

/// Limits on the files read again after a compaction, and on their bytes.
const FILES_MAX: usize = 5;
const FILE_BYTES_MAX: usize = 20_000;

/// What changed since the model last saw it: files, and background commands that ended.
pub(super) fn describe_changed_files(tool_context: &ToolSessionContext) -> Option<String> {
    let ended = tool_context.background.take_end_notices();
    let mut lines: Vec<String> = ended.into_iter().map(|end| end.note).collect();
    let changes = tool_context.files.find_changed_files();
    if !changes.is_empty() {
        let words = "Files you have seen changed since, by someone else or by a command. \
                     Read them again before you rely on them.";
        lines.push(words.to_owned());
        lines.extend(changes.into_iter().map(|change| change.note));
    }
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// The current content of the files, most recently used first.
pub(super) fn reread_files(tool_context: &ToolSessionContext, paths: &str) -> Option<String> {
    let mut words = String::new();
    for path in paths.lines().take(FILES_MAX) {
        // A file that was deleted or cannot be shown no longer counts as read.
        if let Ok(text) = windlass_tool::reread_file(tool_context, Path::new(path), FILE_BYTES_MAX)
        {
            words.push_str(&format!("\n\n{path}, as it is now:\n{text}"));
        }
    }
    (!words.is_empty())
        .then(|| format!("The files you were working with, read again after the summary:{words}"))
}
