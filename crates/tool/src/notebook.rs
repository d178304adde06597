//! A Jupyter notebook as JSON, with access to its cells.
//!
//! Read shows it, NotebookEdit changes it.

use serde_json::{Map, Value};

#[derive(Debug)]
pub(crate) struct JupyterNotebook(Value);

impl JupyterNotebook {
    pub(crate) fn parse(content: &[u8]) -> Result<Self, String> {
        let content = content.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(content);
        let value: Value = serde_json::from_slice(content)
            .map_err(|error| format!("is not a notebook, its JSON is broken: {error}"))?;
        match value.get("cells") {
            Some(Value::Array(_)) => Ok(Self(value)),
            _ => Err("is not a notebook: it has no list of `cells`".to_owned()),
        }
    }

    pub(crate) fn cells(&self) -> &[Value] {
        self.0.get("cells").and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn language(&self) -> &str {
        let metadata = self.0.get("metadata");
        let named = metadata.and_then(|metadata| metadata.pointer("/language_info/name"));
        let spec = metadata.and_then(|metadata| metadata.pointer("/kernelspec/language"));
        named.or(spec).and_then(Value::as_str).unwrap_or("python")
    }

    /// Do cells have ids? They do since format 4.5.
    pub(crate) fn has_cell_ids(&self) -> bool {
        let number = |name: &str| self.0.get(name).and_then(Value::as_u64).unwrap_or(0);
        (number("nbformat"), number("nbformat_minor")) >= (4, 5)
    }

    /// The index of a cell: by id, or as `cell-N` counted from 0.
    pub(crate) fn find_cell_index(&self, id: &str) -> Option<usize> {
        let named = self.cells().iter().position(|cell| cell.get("id").is_some_and(|it| it == id));
        let counted = || {
            let place: usize = id.strip_prefix("cell-").unwrap_or(id).parse().ok()?;
            (place < self.cells().len()).then_some(place)
        };
        named.or_else(counted)
    }
}

/// The id of a cell, or a name made from its index.
pub(crate) fn cell_id(cell: &Value, place: usize) -> String {
    match cell.get("id").and_then(Value::as_str) {
        Some(id) => id.to_owned(),
        None => format!("cell-{place}"),
    }
}

/// A text that may be a string or a list of lines.
pub(crate) fn join_text(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(lines)) => lines.iter().filter_map(Value::as_str).collect(),
        _ => String::new(),
    }
}

/// A text as notebooks store it: a list of lines with their line endings.
pub(crate) fn split_lines(text: &str) -> Value {
    text.split_inclusive('\n').map(Value::from).collect()
}

pub(crate) fn build_cell(kind: &str, source: &str, id: Option<String>) -> Value {
    let mut cell = Map::new();
    cell.insert("cell_type".to_owned(), Value::from(kind));
    if kind == "code" {
        cell.insert("execution_count".to_owned(), Value::Null);
    }
    if let Some(id) = id {
        cell.insert("id".to_owned(), Value::from(id));
    }
    cell.insert("metadata".to_owned(), Value::Object(Map::new()));
    if kind == "code" {
        cell.insert("outputs".to_owned(), Value::Array(Vec::new()));
    }
    cell.insert("source".to_owned(), split_lines(source));
    Value::Object(cell)
}
