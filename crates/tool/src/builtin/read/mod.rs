//! Shows a file with line numbers or a range of its lines, an image, the text of a PDF document, or
//! the cells of a notebook.
//!
//! Memory depends on what is shown, not on the size of the file. Remembers what was read, so that
//! an edit of a file that has changed since can be refused. Reads only regular files.

mod image;
mod line_scanner;
mod notebook;
mod pdf_pages;
mod shown_lines;
mod text;

use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;
use windlass_vocabulary::ToolInspection;

use crate::file::{self, OpenedFile};
use crate::image_fit;
use crate::input::{self, InputError};
use crate::linked_secrets::refuse_linked_secret;
use crate::tool::ToolCallContext;
use crate::tool_session_context::ToolSessionContext;
use crate::typed_tool::{
    ToolDescription, TypedTool, TypedToolFuture, TypedToolResult, run_blocking,
};
use shown_lines::LineRange;

#[derive(Debug)]
pub(crate) struct ReadTool;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct ReadInput {
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
/// The content, the line numbers and a closing remark.
const RESULT_BYTES_MAX: usize = 130_000;

impl TypedTool for ReadTool {
    type Input = ReadInput;

    fn describe(&self) -> ToolDescription<'_> {
        ToolDescription { name: "Read", text: DESCRIPTION, result_bytes_max: RESULT_BYTES_MAX }
    }

    fn check_input(&self, input: &ReadInput) -> Result<ToolInspection, InputError> {
        pdf_pages::parse_page_range(input.pages.as_deref()).map(|_| ToolInspection::SHARED_READ)
    }

    fn run(&self, input: ReadInput, call: ToolCallContext) -> TypedToolFuture<'_> {
        Box::pin(run_blocking(call, move |call| perform(&input, &call)))
    }
}

fn perform(input: &ReadInput, call: &ToolCallContext) -> TypedToolResult {
    let path = file::resolve_path(&call.tool_context.files, &input.file_path)?;
    let mut opened = file::open_current_text(&call.tool_context.files, &path)?;
    refuse_linked_secret(&call.tool_context, &path, &opened.metadata)?;
    let start = read_checked_start(&mut opened, &path)?;
    if let Some(kind) = image_fit::detect_media_type(&start) {
        return image::show_image(&call.tool_context.files, &opened, &path, kind);
    }
    let stop = || call.cancel.is_cancelled();
    if is_pdf(&start) {
        let pages = pdf_pages::parse_page_range(input.pages.as_deref())
            .map_err(|it| it.to_message("Read"))?;
        return pdf_pages::show_pdf(&call.tool_context.files, &opened, &path, pages, &stop);
    }
    if path.extension().is_some_and(|extension| extension == "ipynb") && input.offset.is_none() {
        return notebook::show_notebook(&call.tool_context.files, &opened, &path);
    }
    let count = input.limit.filter(|limit| *limit > 0).unwrap_or(LINES_DEFAULT);
    let range = LineRange::new(input.offset.unwrap_or(1).max(1), count);
    text::read_text(&call.tool_context.files, &mut opened, &path, &range, &stop)?
        .to_outcome(&path, &range)
}

fn read_checked_start(opened: &mut OpenedFile, path: &Path) -> Result<Vec<u8>, String> {
    let start = shown_lines::read_start(&mut opened.file)
        .map_err(|error| format!("`{}` could not be read: {error}.", path.display()))?;
    let is_wide = matches!(start.as_slice(), [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..]);
    match shown_lines::detect_binary(&start) {
        Some(why)
            if !is_wide && !is_pdf(&start) && image_fit::detect_media_type(&start).is_none() =>
        {
            Err(format!("`{}` is {why}, so it is not shown.", path.display()))
        }
        _ => Ok(start),
    }
}

fn is_pdf(start: &[u8]) -> bool {
    start.starts_with(b"%PDF-")
}

/// The current text of a file, with line numbers and truncated, for a model whose context no longer
/// contains it. Counts as reading it. Blocks on the file system.
///
/// # Errors
/// Why it cannot be shown, as a message for the model.
pub fn reread_file(
    context: &ToolSessionContext,
    path: &Path,
    bytes_max: usize,
) -> Result<String, String> {
    let mut opened = file::open_current_text(&context.files, path)?;
    refuse_linked_secret(context, path, &opened.metadata)?;
    let start = read_checked_start(&mut opened, path)?;
    if image_fit::detect_media_type(&start).is_some() || is_pdf(&start) {
        return Err(format!("`{}` is not plain text. Read it to see it.", path.display()));
    }
    let range = LineRange { bytes_max, ..LineRange::new(1, LINES_DEFAULT) };
    Ok(text::read_text(&context.files, &mut opened, path, &range, &|| false)?
        .render_numbered(&range))
}
