//! Shows lines of a text file in any encoding.

use std::path::Path;

use serde_json::json;
use windlass_vocabulary::ToolOutcome;

use super::line_scanner::{self, COUNTED_BYTES_MAX};
use super::shown_lines::{self, LineRange, ShownLines};
use crate::file::{
    self, DETECTION_BYTES_MAX, FileContext, FileState, KnownFile, OpenedFile, TextEncoding,
};
use crate::typed_tool::build_outcome;

pub(super) struct TextFileView {
    shown: ShownLines,
    encoding: TextEncoding,
}

/// Reads the range, and remembers the state of the file.
pub(super) fn read_text(
    files: &FileContext,
    opened: &mut OpenedFile,
    path: &Path,
    range: &LineRange,
    stop: &dyn Fn() -> bool,
) -> Result<TextFileView, String> {
    let failed =
        |error: std::io::Error| format!("`{}` could not be read: {error}.", path.display());
    let start = shown_lines::read_start(&mut opened.file).map_err(failed)?;
    let encoding = TextEncoding::detect(&start);
    if matches!(encoding, TextEncoding::Utf16Le | TextEncoding::Utf16Be) {
        return read_utf16(files, opened, path, range, encoding);
    }
    let known =
        files.known_file(path).filter(|known| known.state.matches_metadata(&opened.metadata));
    let line_offsets = known.map(|known| known.line_offsets).unwrap_or_default();
    let scan = |encoding| {
        line_scanner::scan_file(opened, encoding, range, &line_offsets, stop).map_err(failed)
    };
    let mut scanned = scan(TextEncoding::Utf8)?;
    let mut encoding = TextEncoding::Utf8;
    if scanned.shown.has_invalid_text {
        let mut file = opened.file.try_clone().map_err(failed)?;
        let start =
            shown_lines::read_start_up_to(&mut file, DETECTION_BYTES_MAX as u64).map_err(failed)?;
        encoding = TextEncoding::detect(&start);
        scanned = scan(encoding)?;
    }
    let state = FileState::new(&opened.metadata, scanned.digest);
    let known =
        KnownFile::new(state, scanned.content.as_deref()).with_line_offsets(scanned.line_offsets);
    files.remember_file(path.to_path_buf(), known);
    Ok(TextFileView { shown: scanned.shown, encoding })
}

/// UTF-16 cannot be split into lines by bytes, so the file is read completely.
fn read_utf16(
    files: &FileContext,
    opened: &OpenedFile,
    path: &Path,
    range: &LineRange,
    encoding: TextEncoding,
) -> Result<TextFileView, String> {
    let content = file::read_bounded(&opened.file, COUNTED_BYTES_MAX).map_err(|error| {
        format!(
            "`{}` is {} and could not be read: {error}. Convert a copy with `iconv -f UTF-16`.",
            path.display(),
            encoding.name()
        )
    })?;
    files.remember_file(
        path.to_path_buf(),
        file::known_file_from_content(&opened.metadata, &content),
    );
    let text = encoding.decode(content.get(2..).unwrap_or_default());
    let shown = line_scanner::scan_text(&text, range).map_err(|error| error.to_string())?;
    Ok(TextFileView { shown, encoding })
}

impl TextFileView {
    pub(super) fn to_outcome(&self, path: &Path, range: &LineRange) -> Result<ToolOutcome, String> {
        let shown = &self.shown;
        if shown.line_count == 0 && shown.total_lines >= 1 {
            return Err(format!(
                "`{}` has {} lines; there is no line {}.",
                path.display(),
                shown.total_lines,
                range.first
            ));
        }
        let structured = json!({"type": "text", "file": {
            "filePath": path.to_string_lossy(),
            "content": shown.content,
            "numLines": shown.line_count,
            "startLine": range.first,
            "totalLines": shown.total_lines,
        }});
        Ok(build_outcome(self.render_numbered(range), &structured))
    }

    pub(super) fn render_numbered(&self, range: &LineRange) -> String {
        let mut numbered = self.shown.render_numbered(range.first);
        for remark in self.shown.build_remarks(range, self.encoding) {
            numbered.push_str(&remark);
            numbered.push('\n');
        }
        numbered
    }
}
