//! Replaces, inserts or deletes one cell of a notebook.
//!
//! The file must have been read in this session and be unchanged. Bytes outside the cell stay the
//! same.

mod notebook_text;

use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use windlass_vocabulary::{Json, ToolInspection, ToolOutcome};

use crate::file;
use crate::input::InputError;
use crate::notebook::{JupyterNotebook, build_cell, cell_id};
use crate::tool::ToolCallContext;
use crate::typed_tool::{
    ToolDescription, TypedTool, TypedToolFuture, TypedToolResult, run_to_completion,
};
use notebook_text::NotebookText;

#[derive(Debug)]
pub(crate) struct NotebookEditTool;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct NotebookEditInput {
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
    cell_type: Option<NotebookCellKind>,
    /// What to do: replace unless given.
    #[serde(default)]
    edit_mode: NotebookEditMode,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum NotebookCellKind {
    Code,
    Markdown,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum NotebookEditMode {
    #[default]
    Replace,
    Insert,
    Delete,
}

const DESCRIPTION: &str = "Replaces, inserts or deletes one cell of a Jupyter notebook you have \
read.";

const RESULT_BYTES_MAX: usize = 10_000;

impl TypedTool for NotebookEditTool {
    type Input = NotebookEditInput;

    fn describe(&self) -> ToolDescription<'_> {
        ToolDescription {
            name: "NotebookEdit",
            text: DESCRIPTION,
            result_bytes_max: RESULT_BYTES_MAX,
        }
    }

    fn check_input(&self, input: &NotebookEditInput) -> Result<ToolInspection, InputError> {
        match input.edit_mode {
            NotebookEditMode::Insert if input.cell_type.is_none() => {
                Err(InputError::field("cell_type", "needed to insert a cell: code or markdown"))
            }
            NotebookEditMode::Replace | NotebookEditMode::Delete if input.cell_id.is_none() => {
                Err(InputError::field("cell_id", "needed to say which cell"))
            }
            NotebookEditMode::Insert | NotebookEditMode::Replace | NotebookEditMode::Delete => {
                Ok(ToolInspection::EXCLUSIVE_EFFECT)
            }
        }
    }

    fn run(&self, input: NotebookEditInput, call: ToolCallContext) -> TypedToolFuture<'_> {
        Box::pin(run_to_completion(call, move |call| perform(&input, &call)))
    }
}

fn perform(input: &NotebookEditInput, call: &ToolCallContext) -> TypedToolResult {
    let path = file::resolve_path(&call.tool_context.files, &input.notebook_path)?;
    let old = file::read_for_change(&call.tool_context.files, &path)?;
    let wrong = |why: String| format!("`{}` {why}.", path.display());
    let text = std::str::from_utf8(&old.bytes)
        .map_err(|_| wrong("is not a notebook: it is not UTF-8".to_owned()))?;
    let notebook = JupyterNotebook::parse(&old.bytes).map_err(wrong)?;
    let (new, id) = apply_edit(input, text, &notebook).map_err(wrong)?;
    // Do not write a notebook that cannot be parsed again.
    JupyterNotebook::parse(new.as_bytes()).map_err(wrong)?;
    let metadata =
        file::replace_file(&call.tool_context.files, &path, Some(&old.metadata), new.as_bytes())?;
    call.tool_context
        .files
        .remember_file(path.clone(), file::known_file_from_content(&metadata, new.as_bytes()));
    let done = match input.edit_mode {
        NotebookEditMode::Replace => "Replaced",
        NotebookEditMode::Insert => "Inserted",
        NotebookEditMode::Delete => "Deleted",
    };
    Ok(ToolOutcome {
        changed_workspace: true,
        structured: Some(build_structured_output(input, &path, &notebook, &id)),
        ..ToolOutcome::from_text(format!("{done} cell `{id}` of `{}`.", path.display()))
    })
}

fn apply_edit(
    input: &NotebookEditInput,
    text: &str,
    notebook: &JupyterNotebook,
) -> Result<(String, String), String> {
    let spans = NotebookText::new(text)?;
    let place = match &input.cell_id {
        None => None,
        Some(id) => Some(notebook.find_cell_index(id).ok_or_else(|| {
            let known: Vec<String> = (0..)
                .zip(notebook.cells())
                .take(CELLS_SHOWN)
                .map(|(place, cell)| cell_id(cell, place))
                .collect();
            format!("has no cell `{id}`; it has {}", known.join(", "))
        })?),
    };
    let kind = input.cell_type.map(|kind| match kind {
        NotebookCellKind::Code => "code",
        NotebookCellKind::Markdown => "markdown",
    });
    let old = place.and_then(|place| notebook.cells().get(place));
    let id = match (place, old) {
        (Some(place), Some(cell)) => cell_id(cell, place),
        _ => String::new(),
    };
    match (input.edit_mode, place, old) {
        (NotebookEditMode::Insert, place, _) => {
            let place = place.map_or(0, |place| place + 1);
            let id = notebook.has_cell_ids().then(|| generate_cell_id(notebook));
            let name = id.clone().unwrap_or_else(|| format!("cell-{place}"));
            let kind = kind.unwrap_or("code");
            Ok((spans.insert_cell(place, kind, &input.new_source, id), name))
        }
        (NotebookEditMode::Delete, Some(place), _) => Ok((spans.delete_cell(place)?, id)),
        (NotebookEditMode::Replace, Some(place), Some(old)) => {
            let is_other =
                kind.is_some_and(|kind| old.get("cell_type").is_some_and(|it| it != kind));
            match kind.filter(|_| is_other) {
                None => Ok((spans.replace_cell_source(place, &input.new_source)?, id)),
                Some(kind) => {
                    let name = old.get("id").and_then(Value::as_str).map(str::to_owned);
                    let mut new = build_cell(kind, &input.new_source, name);
                    if let (Some(kept), Value::Object(fields)) = (old.get("metadata"), &mut new) {
                        fields.insert("metadata".to_owned(), kept.clone());
                    }
                    Ok((spans.replace_cell(place, &new)?, id))
                }
            }
        }
        (NotebookEditMode::Delete, None, _)
        | (NotebookEditMode::Replace, None, _)
        | (NotebookEditMode::Replace, _, None) => Err("has no such cell".to_owned()),
    }
}

/// An id no cell has yet; deterministic for the same notebook.
fn generate_cell_id(notebook: &JupyterNotebook) -> String {
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

fn build_structured_output(
    input: &NotebookEditInput,
    path: &Path,
    notebook: &JupyterNotebook,
    id: &str,
) -> Json {
    let mode = match input.edit_mode {
        NotebookEditMode::Replace => "replace",
        NotebookEditMode::Insert => "insert",
        NotebookEditMode::Delete => "delete",
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
