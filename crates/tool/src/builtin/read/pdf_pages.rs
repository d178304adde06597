//! Shows the text of a PDF document, a few pages at a time.

use std::path::Path;

use serde_json::json;
use windlass_pdf::PdfDocument;

use crate::file::{self, FileContext, OpenedFile};
use crate::input::InputError;
use crate::typed_tool::build_outcome;

const FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;
const PAGES_MAX: usize = 20;
const PAGES_DEFAULT: usize = 10;
const SHOWN_BYTES_MAX: usize = 100_000;

/// A range of pages, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PageRange {
    first: usize,
    last: Option<usize>,
}

/// `3`, `1-5` or `10-`.
pub(super) fn parse_page_range(text: Option<&str>) -> Result<PageRange, InputError> {
    let Some(text) = text.map(str::trim).filter(|text| !text.is_empty()) else {
        return Ok(PageRange { first: 1, last: None });
    };
    let wrong = |why: &str| InputError::field("pages", format!("`{text}`: {why}"));
    let number = |text: &str| {
        let number = text.trim().parse::<usize>().ok().filter(|number| *number > 0);
        number.ok_or_else(|| wrong("expected pages like \"3\" or \"1-5\", counted from 1"))
    };
    let (first, last) = match text.split_once('-') {
        None => (number(text)?, Some(number(text)?)),
        Some((first, "")) => (number(first)?, None),
        Some((first, last)) => (number(first)?, Some(number(last)?)),
    };
    match last {
        Some(last) if last < first => Err(wrong("the last page comes before the first")),
        Some(last) if last - first >= PAGES_MAX => Err(wrong("more than 20 pages at a time")),
        last => Ok(PageRange { first, last }),
    }
}

pub(super) fn show_pdf(
    files: &FileContext,
    opened: &OpenedFile,
    path: &Path,
    pages: PageRange,
    stop: &dyn Fn() -> bool,
) -> super::TypedToolResult {
    let shown = path.display();
    let content = file::read_bounded(&opened.file, FILE_BYTES_MAX)
        .map_err(|error| format!("`{shown}` is a PDF document that cannot be shown: {error}."))?;
    let document = PdfDocument::open(&content)
        .map_err(|why| format!("`{shown}` is a PDF document that cannot be shown: it is {why}."))?;
    files.remember_file(
        path.to_path_buf(),
        file::known_file_from_content(&opened.metadata, &content),
    );
    let total = document.page_count();
    if pages.first > total {
        return Err(format!("`{shown}` has {total} pages; there is no page {}.", pages.first));
    }
    let last = pages.last.unwrap_or(pages.first + PAGES_DEFAULT - 1).min(total);
    let mut text = String::new();
    let mut reached = pages.first;
    for page in pages.first..=last {
        if stop() {
            return Err("Interrupted before it ended.".to_owned());
        }
        let page_text = document.page_text(page - 1);
        if page > pages.first && text.len() + page_text.len() > SHOWN_BYTES_MAX {
            break;
        }
        reached = page;
        let page_text = match page_text.is_empty() {
            true => "[No text: a picture, perhaps]",
            false => page_text.as_str(),
        };
        let end = page_text.floor_char_boundary(SHOWN_BYTES_MAX);
        let page_text = page_text.get(..end).unwrap_or(page_text);
        text.push_str(&format!("[Page {page} of {total}]\n{page_text}\n"));
    }
    if reached < total {
        text.push_str(&format!("[{total} pages in all; the next is pages \"{}-\"]\n", reached + 1));
    }
    let structured = json!({"type": "pdf", "file": {
        "filePath": path.to_string_lossy(), "originalSize": content.len(),
        "firstPage": pages.first, "lastPage": reached, "totalPages": total, "content": text,
    }});
    Ok(build_outcome(text, &structured))
}
