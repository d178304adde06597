//! Shows a notebook cell by cell, with what its code printed and drew.

use std::path::Path;

use serde_json::{Value, json};
use windlass_vocabulary::{Json, Media, ResultPart, ToolOutcome};

use crate::file::{self, Opened};
use crate::notebook::{Notebook, id_of, text_of};
use crate::surroundings::Surroundings;

const FILE_BYTES_MAX: u64 = 32 * 1024 * 1024;
/// Bytes shown of all cells, and of one cell's output.
const SHOWN_BYTES_MAX: usize = 100_000;
const OUTPUT_BYTES_MAX: usize = 10_000;
const PICTURES_MAX: usize = 10;
const PICTURE_BASE64_MAX: usize = 2_000_000;

pub(super) fn show(surroundings: &Surroundings, opened: &Opened, path: &Path) -> super::Done {
    let shown = path.display();
    let content = file::read_bounded(&opened.file, FILE_BYTES_MAX)
        .map_err(|error| format!("`{shown}` could not be read: {error}."))?;
    let notebook = Notebook::parse(&content)
        .map_err(|why| format!("`{shown}` {why}. Give an offset to read it as plain text."))?;
    surroundings.remember(path.to_path_buf(), file::written(&opened.metadata, &content));
    let mut page = Page::default();
    for (place, cell) in notebook.cells().iter().enumerate() {
        page.cell(&notebook, cell, place);
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
    let mut outcome = ToolOutcome::text(page.text);
    outcome.content.extend(page.pictures.into_iter().map(ResultPart::Media));
    outcome.structured = Some(Json::from_checked(&structured.to_string()));
    Ok(outcome)
}

#[derive(Default)]
struct Page {
    text: String,
    cells: Vec<Value>,
    pictures: Vec<Media>,
}

impl Page {
    fn cell(&mut self, notebook: &Notebook, cell: &Value, place: usize) {
        let kind = cell.get("cell_type").and_then(Value::as_str).unwrap_or("raw");
        let id = id_of(cell, place);
        let source = text_of(cell.get("source"));
        let language = if kind == "code" { notebook.language() } else { kind };
        let source_shown = cut(&source, SHOWN_BYTES_MAX);
        self.text.push_str(&format!("<cell id=\"{id}\" {language}>\n{source_shown}\n</cell>\n"));
        let mut printed = String::new();
        for output in cell.get("outputs").and_then(Value::as_array).into_iter().flatten() {
            self.output(output, &id, &mut printed);
        }
        let printed = cut(&printed, OUTPUT_BYTES_MAX);
        if !printed.is_empty() {
            let printed = printed.trim_end_matches('\n');
            self.text.push_str(&format!("<output of=\"{id}\">\n{printed}\n</output>\n"));
        }
        self.cells.push(json!({"cellType": kind, "source": source_shown, "cell_id": id,
                               "language": language, "output": printed}));
    }

    fn output(&mut self, output: &Value, id: &str, printed: &mut String) {
        match output.get("output_type").and_then(Value::as_str) {
            Some("stream") => printed.push_str(&text_of(output.get("text"))),
            Some("error") => {
                let word = |name: &str| output.get(name).and_then(Value::as_str).unwrap_or("");
                printed.push_str(&format!("{}: {}\n", word("ename"), word("evalue")));
            }
            _ => {
                let of = |kind: &str| output.get("data").and_then(|kinds| kinds.get(kind));
                for kind in ["image/png", "image/jpeg"] {
                    let picture: String = text_of(of(kind)).split_whitespace().collect();
                    if !picture.is_empty() {
                        self.picture(kind, picture, id, printed);
                        return;
                    }
                }
                printed.push_str(&text_of(of("text/plain")));
                printed.push('\n');
            }
        }
    }

    fn picture(&mut self, kind: &str, picture: String, id: &str, printed: &mut String) {
        if self.pictures.len() >= PICTURES_MAX || picture.len() > PICTURE_BASE64_MAX {
            printed.push_str("[A picture that is too large to show]\n");
            return;
        }
        printed.push_str("[A picture, shown below]\n");
        let media = Media { media_type: kind.into(), data: picture.into(), name: id.into() };
        self.pictures.push(media);
    }
}

fn cut(text: &str, bytes_max: usize) -> String {
    if text.len() <= bytes_max {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(bytes_max);
    format!("{}\n[Cut here, {} bytes in all]", text.get(..end).unwrap_or(text), text.len())
}
