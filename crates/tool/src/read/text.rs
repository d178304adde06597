//! Shows lines of a text file, in whatever encoding it is written.

use std::path::Path;

use serde_json::json;
use windlass_vocabulary::{Json, ToolOutcome};

use super::lines::{self, Range, Shown};
use super::scan::{self, COUNTED_BYTES_MAX};
use crate::file::{self, Encoding, FileState, Known, LOOKED_AT_MAX, Opened};
use crate::surroundings::Surroundings;

/// A text as it is shown.
pub(super) struct Text {
    shown: Shown,
    encoding: Encoding,
}

/// Reads the range and remembers the file.
pub(super) fn read(
    surroundings: &Surroundings,
    opened: &mut Opened,
    path: &Path,
    range: &Range,
    stop: &dyn Fn() -> bool,
) -> Result<Text, String> {
    let failed =
        |error: std::io::Error| format!("`{}` could not be read: {error}.", path.display());
    let start = lines::start_of(&mut opened.file).map_err(failed)?;
    let encoding = Encoding::of(&start);
    if matches!(encoding, Encoding::Utf16Little | Encoding::Utf16Big) {
        return wide(surroundings, opened, path, (range, encoding));
    }
    let known = surroundings.known(path).filter(|known| known.state.looks_like(&opened.metadata));
    let points = known.map(|known| known.points).unwrap_or_default();
    let scan = |encoding| scan::file(opened, encoding, range, &points, stop).map_err(failed);
    let mut scanned = scan(Encoding::Utf8)?;
    let mut encoding = Encoding::Utf8;
    if scanned.shown.is_broken {
        let mut file = opened.file.try_clone().map_err(failed)?;
        let start = lines::start_up_to(&mut file, LOOKED_AT_MAX as u64).map_err(failed)?;
        encoding = Encoding::of(&start);
        scanned = scan(encoding)?;
    }
    let state = FileState::new(&opened.metadata, scanned.digest);
    let known = Known::new(state, scanned.content.as_deref()).with_points(scanned.points);
    surroundings.remember(path.to_path_buf(), known);
    Ok(Text { shown: scanned.shown, encoding })
}

/// UTF-16 has no bytes that are lines, so it is read whole.
fn wide(
    surroundings: &Surroundings,
    opened: &Opened,
    path: &Path,
    (range, encoding): (&Range, Encoding),
) -> Result<Text, String> {
    let content = file::read_bounded(&opened.file, COUNTED_BYTES_MAX).map_err(|error| {
        format!(
            "`{}` is {} and could not be read: {error}. Convert a copy with `iconv -f UTF-16`.",
            path.display(),
            encoding.name()
        )
    })?;
    surroundings.remember(path.to_path_buf(), file::written(&opened.metadata, &content));
    let text = encoding.decode(content.get(2..).unwrap_or_default());
    let shown = scan::text(&text, range).map_err(|error| error.to_string())?;
    Ok(Text { shown, encoding })
}

impl Text {
    /// What the model and clients get.
    pub(super) fn outcome(&self, path: &Path, range: &Range) -> Result<ToolOutcome, String> {
        let shown = &self.shown;
        if shown.lines == 0 && shown.total >= 1 {
            return Err(format!(
                "`{}` has {} lines; there is no line {}.",
                path.display(),
                shown.total,
                range.first
            ));
        }
        let structured = json!({"type": "text", "file": {
            "filePath": path.to_string_lossy(),
            "content": shown.content,
            "numLines": shown.lines,
            "startLine": range.first,
            "totalLines": shown.total,
        }});
        let structured = Some(Json::from_checked(&structured.to_string()));
        Ok(ToolOutcome { structured, ..ToolOutcome::text(self.numbered(range)) })
    }

    /// The lines with their numbers, and remarks.
    pub(super) fn numbered(&self, range: &Range) -> String {
        let mut numbered = self.shown.numbered(range.first);
        for remark in self.shown.remarks(range, self.encoding) {
            numbered.push_str(&remark);
            numbered.push('\n');
        }
        numbered
    }
}
