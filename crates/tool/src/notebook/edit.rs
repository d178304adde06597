//! Replaces, inserts or deletes one cell of a notebook.
//!
//! The file must have been read in this session and not changed since. Bytes outside the cell stay
//! as they are.

use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use windlass_vocabulary::{Inspection, Json, ToolOutcome};

use super::splice::Text;
use super::{Notebook, cell, id_of};
use crate::action::{Action, Doing, Done};
use crate::file;
use crate::input::Wrong;
use crate::tool::{Job, finished};

/// The tool.
#[derive(Debug)]
pub(crate) struct NotebookEdit;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// Absolute path of the notebook.
    notebook_path: String,
    /// The new source of the cell.
    #[serde(default)]
    new_source: String,
    /// The cell, as Read names it. A new cell comes after it, or first when it is left out.
    #[serde(default)]
    cell_id: Option<String>,
    /// Needed to insert.
    #[serde(default)]
    cell_type: Option<Kind>,
    /// What to do: replace unless given.
    #[serde(default)]
    edit_mode: Mode,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Code,
    Markdown,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Mode {
    #[default]
    Replace,
    Insert,
    Delete,
}

const DESCRIPTION: &str = "Replaces, inserts or deletes one cell of a Jupyter notebook you have \
read.";

const RESULT_BYTES_MAX: usize = 10_000;

impl Action for NotebookEdit {
    type Input = Input;

    fn words(&self) -> (&str, &str, usize) {
        ("NotebookEdit", DESCRIPTION, RESULT_BYTES_MAX)
    }

    fn check(&self, input: &Input) -> Result<Inspection, Wrong> {
        match input.edit_mode {
            Mode::Insert if input.cell_type.is_none() => {
                Err(Wrong::field("cell_type", "needed to insert a cell: code or markdown"))
            }
            Mode::Replace | Mode::Delete if input.cell_id.is_none() => {
                Err(Wrong::field("cell_id", "needed to say which cell"))
            }
            _ => Ok(Inspection::EXCLUSIVE_EFFECT),
        }
    }

    fn act(&self, input: Input, job: Job) -> Doing<'_> {
        Box::pin(finished(job, move |job| perform(&input, &job)))
    }
}

fn perform(input: &Input, job: &Job) -> Done {
    let path = file::path_of(&job.surroundings, &input.notebook_path)?;
    let old = file::known_content(&job.surroundings, &path)?;
    let wrong = |why: String| format!("`{}` {why}.", path.display());
    let text = std::str::from_utf8(&old.bytes)
        .map_err(|_| wrong("is not a notebook: it is not UTF-8".to_owned()))?;
    let notebook = Notebook::parse(&old.bytes).map_err(wrong)?;
    let (new, id) = changed(input, text, &notebook).map_err(wrong)?;
    // What cannot be read back must not be written.
    Notebook::parse(new.as_bytes()).map_err(wrong)?;
    let metadata = file::replace(&job.surroundings, &path, Some(&old.metadata), new.as_bytes())?;
    job.surroundings.remember(path.clone(), file::written(&metadata, new.as_bytes()));
    let done = match input.edit_mode {
        Mode::Replace => "Replaced",
        Mode::Insert => "Inserted",
        Mode::Delete => "Deleted",
    };
    Ok(ToolOutcome {
        changed_workspace: true,
        structured: Some(structured(input, &path, &notebook, &id)),
        ..ToolOutcome::text(format!("{done} cell `{id}` of `{}`.", path.display()))
    })
}

/// The new text and the name of the cell it is about.
fn changed(input: &Input, text: &str, notebook: &Notebook) -> Result<(String, String), String> {
    let spans = Text::new(text)?;
    let place = match &input.cell_id {
        None => None,
        Some(id) => Some(notebook.place_of(id).ok_or_else(|| {
            let known: Vec<String> = (0..)
                .zip(notebook.cells())
                .take(CELLS_SHOWN)
                .map(|(place, cell)| id_of(cell, place))
                .collect();
            format!("has no cell `{id}`; it has {}", known.join(", "))
        })?),
    };
    let kind = input.cell_type.map(|kind| match kind {
        Kind::Code => "code",
        Kind::Markdown => "markdown",
    });
    let old = place.and_then(|place| notebook.cells().get(place));
    let id = match (place, old) {
        (Some(place), Some(cell)) => id_of(cell, place),
        _ => String::new(),
    };
    match (input.edit_mode, place, old) {
        (Mode::Insert, place, _) => {
            let place = place.map_or(0, |place| place + 1);
            let id = notebook.has_ids().then(|| new_id(notebook));
            let name = id.clone().unwrap_or_else(|| format!("cell-{place}"));
            let kind = kind.unwrap_or("code");
            Ok((spans.inserted(place, kind, &input.new_source, id), name))
        }
        (Mode::Delete, Some(place), _) => Ok((spans.deleted(place)?, id)),
        (Mode::Replace, Some(place), Some(old)) => {
            let is_other =
                kind.is_some_and(|kind| old.get("cell_type").is_some_and(|it| it != kind));
            match kind.filter(|_| is_other) {
                None => Ok((spans.replaced(place, &input.new_source)?, id)),
                Some(kind) => {
                    let name = old.get("id").and_then(Value::as_str).map(str::to_owned);
                    let mut new = cell(kind, &input.new_source, name);
                    if let (Some(kept), Value::Object(fields)) = (old.get("metadata"), &mut new) {
                        fields.insert("metadata".to_owned(), kept.clone());
                    }
                    Ok((spans.exchanged(place, &new)?, id))
                }
            }
        }
        _ => Err("has no such cell".to_owned()),
    }
}

/// A name no cell has yet, the same for the same notebook.
fn new_id(notebook: &Notebook) -> String {
    let is_free = |id: &String| {
        !notebook.cells().iter().any(|cell| cell.get("id").is_some_and(|it| it == id))
    };
    let first = notebook.cells().len();
    (first..=first * 2 + 1)
        .map(|number| format!("cell-{number}-new"))
        .find(is_free)
        .unwrap_or_default()
}

const CELLS_SHOWN: usize = 30;

fn structured(input: &Input, path: &Path, notebook: &Notebook, id: &str) -> Json {
    let mode = match input.edit_mode {
        Mode::Replace => "replace",
        Mode::Insert => "insert",
        Mode::Delete => "delete",
    };
    let structured = json!({
        "notebook_path": path.to_string_lossy(),
        "new_source": input.new_source,
        "cell_id": id,
        "edit_mode": mode,
        "language": notebook.language(),
    });
    Json::from_checked(&structured.to_string())
}
