//! Shows a file or a range of its lines, numbered, or an image.
//!
//! Memory is bounded by what is shown, whatever the size of the file. Remembers what was read, so
//! that an edit of a file that has changed since can be refused. Never reads anything that is not a
//! regular file.

mod image;
mod lines;

use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use windlass_vocabulary::{Inspection, Json, ToolOutcome};

use crate::action::{Action, Doing, Done};
use crate::file::{self, FileState, Opened};
use crate::input::{self, Wrong};
use crate::picture;
use crate::surroundings::Surroundings;
use crate::tool::{Job, blocking};
use lines::{Range, Shown};

/// The tool.
#[derive(Debug)]
pub(crate) struct Read;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// Absolute path of the file.
    file_path: String,
    /// First line to show, counted from 1.
    #[serde(default, deserialize_with = "input::whole_number")]
    offset: Option<u64>,
    /// How many lines to show: 2000 unless given.
    #[serde(default, deserialize_with = "input::whole_number")]
    limit: Option<u64>,
}

const DESCRIPTION: &str = "Reads a file. Text comes with line numbers, 2000 lines from the start \
unless offset and limit say otherwise; longer lines are cut at 2000 characters. PNG, JPEG, GIF and \
WebP images are shown as images. Read a file before you edit it.";

const LINES_DEFAULT: u64 = 2_000;
/// What is shown, the numbers and a closing remark.
const RESULT_BYTES_MAX: usize = 130_000;

impl Action for Read {
    type Input = Input;

    fn words(&self) -> (&str, &str, usize) {
        ("Read", DESCRIPTION, RESULT_BYTES_MAX)
    }

    fn check(&self, _: &Input) -> Result<Inspection, Wrong> {
        Ok(Inspection::SHARED_READ)
    }

    fn act(&self, input: Input, job: Job) -> Doing<'_> {
        Box::pin(blocking(job, move |job| perform(&input, &job)))
    }
}

fn perform(input: &Input, job: &Job) -> Done {
    let path = file::path_of(&job.surroundings, &input.file_path)?;
    let mut opened = file::open(&job.surroundings, &path)?;
    let failed =
        |error: std::io::Error| format!("`{}` could not be read: {error}.", path.display());
    let start = lines::start_of(&mut opened.file).map_err(failed)?;
    if let Some(kind) = picture::kind(&start) {
        return image::show(&job.surroundings, &opened, &path, kind);
    }
    if let Some(why) = lines::binary(&start) {
        return Err(format!("`{}` is {why}, so it is not shown.", path.display()));
    }
    let range = Range {
        first: input.offset.unwrap_or(1).max(1),
        count: input.limit.filter(|limit| *limit > 0).unwrap_or(LINES_DEFAULT),
    };
    let stop = || job.cancel.is_cancelled();
    let shown = lines::read(&opened, &range, &stop).map_err(failed)?;
    remember(&job.surroundings, &path, &opened, &shown);
    if shown.lines == 0 && shown.total >= 1 {
        return Err(format!(
            "`{}` has {} lines; there is no line {}.",
            path.display(),
            shown.total,
            range.first
        ));
    }
    Ok(text(&path, &range, &shown))
}

fn remember(surroundings: &Surroundings, path: &Path, opened: &Opened, shown: &Shown) {
    surroundings.remember(path.to_path_buf(), FileState::new(&opened.metadata, shown.digest));
}

fn text(path: &Path, range: &Range, shown: &Shown) -> ToolOutcome {
    let structured = json!({"type": "text", "file": {
        "filePath": path.to_string_lossy(),
        "content": shown.content,
        "numLines": shown.lines,
        "startLine": range.first,
        "totalLines": shown.total,
    }});
    let mut numbered = shown.numbered(range.first);
    for remark in shown.remarks(range) {
        numbered.push_str(&remark);
        numbered.push('\n');
    }
    let structured = Some(Json::from_checked(&structured.to_string()));
    ToolOutcome { structured, ..ToolOutcome::text(numbered) }
}
