//! Shows a file or a range of its lines, numbered, an image, the text of a document, or the
//! cells of a notebook.
//!
//! Memory is bounded by what is shown, whatever the size of the file. Remembers what was read, so
//! that an edit of a file that has changed since can be refused. Never reads anything that is not a
//! regular file.

mod document;
mod image;
mod lines;
mod notebook;
mod scan;
mod text;

use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;
use windlass_vocabulary::Inspection;

use crate::action::{Action, Doing, Done};
use crate::file::{self, Opened};
use crate::input::{self, Wrong};
use crate::picture;
use crate::surroundings::Surroundings;
use crate::tool::{Job, blocking};
use lines::Range;

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
    /// Pages of a PDF document, for example "3" or "1-5": ten from the start unless given.
    #[serde(default)]
    pages: Option<String>,
}

const DESCRIPTION: &str = "Reads a file. Text comes with line numbers, 2000 lines from the start \
unless offset and limit say otherwise; longer lines are cut at 2000 characters. PNG, JPEG, GIF and \
WebP images are shown as images, PDF documents as text by page, notebooks by cell. Read a file \
before you edit it.";

const LINES_DEFAULT: u64 = 2_000;
/// What is shown, the numbers and a closing remark.
const RESULT_BYTES_MAX: usize = 130_000;

impl Action for Read {
    type Input = Input;

    fn words(&self) -> (&str, &str, usize) {
        ("Read", DESCRIPTION, RESULT_BYTES_MAX)
    }

    fn check(&self, input: &Input) -> Result<Inspection, Wrong> {
        document::pages(input.pages.as_deref()).map(|_| Inspection::SHARED_READ)
    }

    fn act(&self, input: Input, job: Job) -> Doing<'_> {
        Box::pin(blocking(job, move |job| perform(&input, &job)))
    }
}

fn perform(input: &Input, job: &Job) -> Done {
    let path = file::path_of(&job.surroundings, &input.file_path)?;
    let mut opened = file::open(&job.surroundings, &path)?;
    let start = start(&mut opened, &path)?;
    if let Some(kind) = picture::kind(&start) {
        return image::show(&job.surroundings, &opened, &path, kind);
    }
    let stop = || job.cancel.is_cancelled();
    if is_document(&start) {
        let pages = document::pages(input.pages.as_deref()).map_err(|it| it.told("Read"))?;
        return document::show(&job.surroundings, &opened, &path, pages, &stop);
    }
    if path.extension().is_some_and(|extension| extension == "ipynb") && input.offset.is_none() {
        return notebook::show(&job.surroundings, &opened, &path);
    }
    let count = input.limit.filter(|limit| *limit > 0).unwrap_or(LINES_DEFAULT);
    let range = Range::new(input.offset.unwrap_or(1).max(1), count);
    text::read(&job.surroundings, &mut opened, &path, &range, &stop)?.outcome(&path, &range)
}

/// The first bytes of a file that can be shown.
fn start(opened: &mut Opened, path: &Path) -> Result<Vec<u8>, String> {
    let start = lines::start_of(&mut opened.file)
        .map_err(|error| format!("`{}` could not be read: {error}.", path.display()))?;
    let is_wide = matches!(start.as_slice(), [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..]);
    match lines::binary(&start) {
        Some(why) if !is_wide && !is_document(&start) && picture::kind(&start).is_none() => {
            Err(format!("`{}` is {why}, so it is not shown.", path.display()))
        }
        _ => Ok(start),
    }
}

fn is_document(start: &[u8]) -> bool {
    start.starts_with(b"%PDF-")
}

/// The text of a file as it is now, from its start, for a model that has lost sight of it.
pub(crate) fn again(
    surroundings: &Surroundings,
    path: &Path,
    bytes_max: usize,
) -> Result<String, String> {
    let mut opened = file::open(surroundings, path)?;
    let start = start(&mut opened, path)?;
    if picture::kind(&start).is_some() || is_document(&start) {
        return Err(format!("`{}` is not plain text. Read it to see it.", path.display()));
    }
    let range = Range { bytes_max, ..Range::new(1, LINES_DEFAULT) };
    Ok(text::read(surroundings, &mut opened, path, &range, &|| false)?.numbered(&range))
}
