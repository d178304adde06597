//! Shows a notebook cell by cell, with its outputs.

use std::path::Path;

use serde_json::{Value, json};
use windlass_vocabulary::{Json, MediaContent, ToolOutcome, ToolResultPart};

use crate::file::{self, FileContext, OpenedFile};
use crate::notebook::{JupyterNotebook, cell_id, join_text};

const FILE_BYTES_MAX: u64 = 32 * 1024 * 1024;
const SHOWN_BYTES_MAX: usize = 100_000;
const OUTPUT_BYTES_MAX: usize = 10_000;
const IMAGES_MAX: usize = 10;
const IMAGE_BASE64_BYTES_MAX: usize = 2_000_000;

pub(super) fn show_notebook(
    files: &FileContext,
    opened: &OpenedFile,
    path: &Path,
) -> super::TypedToolResult {
    let shown = path.display();
    let content = file::read_bounded(&opened.file, FILE_BYTES_MAX)
        .map_err(|error| format!("`{shown}` could not be read: {error}."))?;
    let notebook = JupyterNotebook::parse(&content)
        .map_err(|why| format!("`{shown}` {why}. Give an offset to read it as plain text."))?;
    files.remember_file(
        path.to_path_buf(),
        file::known_file_from_content(&opened.metadata, &content),
    );
    let mut page = RenderedNotebook::default();
    for (place, cell) in notebook.cells().iter().enumerate() {
        page.push_cell(&notebook, cell, place);
        if page.text.len() > SHOWN_BYTES_MAX {
            let left = notebook.cells().len() - place - 1;
            page.text.push_str(&format!(
                "[{left} more cells are not shown; read the file as text with offset]\n"
            ));
            break;
        }
    }
    if notebook.cells().is_empty() {
        page.text.push_str("[The notebook has no cells]\n");
    }
    let structured = json!({"type": "notebook", "file": {
        "filePath": path.to_string_lossy(), "cells": page.cells,
    }});
    let mut outcome = ToolOutcome::from_text(page.text);
    outcome.content.extend(page.images.into_iter().map(ToolResultPart::Media));
    outcome.structured = Some(Json::from_checked(&structured.to_string()));
    Ok(outcome)
}

#[derive(Default)]
struct RenderedNotebook {
    text: String,
    cells: Vec<Value>,
    images: Vec<MediaContent>,
}

impl RenderedNotebook {
    fn push_cell(&mut self, notebook: &JupyterNotebook, cell: &Value, place: usize) {
        let kind = cell.get("cell_type").and_then(Value::as_str).unwrap_or("raw");
        let id = cell_id(cell, place);
        let source = join_text(cell.get("source"));
        let language = if kind == "code" { notebook.language() } else { kind };
        let source_shown = truncate_text(&source, SHOWN_BYTES_MAX);
        self.text.push_str(&format!("<cell id=\"{id}\" {language}>\n{source_shown}\n</cell>\n"));
        let mut printed = String::new();
        for output in cell.get("outputs").and_then(Value::as_array).into_iter().flatten() {
            self.push_output(output, &id, &mut printed);
        }
        let printed = truncate_text(&printed, OUTPUT_BYTES_MAX);
        if !printed.is_empty() {
            let printed = printed.trim_end_matches('\n');
            self.text.push_str(&format!("<output of=\"{id}\">\n{printed}\n</output>\n"));
        }
        self.cells.push(json!({"cellType": kind, "source": source_shown, "cell_id": id,
                               "language": language, "output": printed}));
    }

    fn push_output(&mut self, output: &Value, id: &str, printed: &mut String) {
        match output.get("output_type").and_then(Value::as_str) {
            Some("stream") => printed.push_str(&join_text(output.get("text"))),
            Some("error") => {
                let word = |name: &str| output.get(name).and_then(Value::as_str).unwrap_or("");
                printed.push_str(&format!("{}: {}\n", word("ename"), word("evalue")));
            }
            _ => {
                let of = |kind: &str| output.get("data").and_then(|kinds| kinds.get(kind));
                for kind in ["image/png", "image/jpeg"] {
                    let picture: String = join_text(of(kind)).split_whitespace().collect();
                    if !picture.is_empty() {
                        self.push_image(kind, picture, id, printed);
                        return;
                    }
                }
                printed.push_str(&join_text(of("text/plain")));
                printed.push('\n');
            }
        }
    }

    fn push_image(&mut self, kind: &str, picture: String, id: &str, printed: &mut String) {
        if self.images.len() >= IMAGES_MAX || picture.len() > IMAGE_BASE64_BYTES_MAX {
            printed.push_str("[A picture that is too large to show]\n");
            return;
        }
        printed.push_str("[A picture, shown below]\n");
        let media = MediaContent { media_type: kind.into(), data: picture.into(), name: id.into() };
        self.images.push(media);
    }
}

fn truncate_text(text: &str, bytes_max: usize) -> String {
    if text.len() <= bytes_max {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(bytes_max);
    format!("{}\n[Cut here, {} bytes in all]", text.get(..end).unwrap_or(text), text.len())
}
