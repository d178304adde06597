//! Edits the text of a notebook: replaces, inserts or deletes one cell and keeps all other bytes.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::notebook::{build_cell, split_lines};

#[derive(Debug)]
pub(super) struct NotebookText<'a> {
    text: &'a str,
    cells_array: Range<usize>,
    cells: Vec<Range<usize>>,
}

impl<'a> NotebookText<'a> {
    pub(super) fn new(text: &'a str) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct NotebookEnvelope<'a> {
            #[serde(borrow)]
            cells: &'a RawValue,
        }
        let broken = |error: serde_json::Error| format!("is not a notebook: {error}");
        let start = text.len() - text.trim_start_matches('\u{feff}').len();
        let outer: NotebookEnvelope<'a> =
            serde_json::from_str(text.get(start..).unwrap_or_default()).map_err(broken)?;
        let cells: Vec<&'a RawValue> = serde_json::from_str(outer.cells.get()).map_err(broken)?;
        let list = locate_part(text, outer.cells.get());
        let cells = cells.iter().map(|cell| locate_part(text, cell.get())).collect();
        Ok(Self { text, cells_array: list, cells })
    }

    /// Sets the source of the cell, and removes the outputs of the old code.
    pub(super) fn replace_cell_source(&self, at: usize, source: &str) -> Result<String, String> {
        let Some(whole) = self.cells.get(at) else { return Err(NO_SUCH_CELL.to_owned()) };
        let fields: BTreeMap<String, &RawValue> =
            serde_json::from_str(self.text.get(whole.clone()).unwrap_or_default())
                .map_err(|error| error.to_string())?;
        let indent = format!("{}{}", self.indent_at(whole.start), self.indent_unit());
        let mut changes = Vec::new();
        for (name, value) in &fields {
            let new = match name.as_str() {
                "source" => split_lines(source),
                "outputs" => Value::Array(Vec::new()),
                "execution_count" => Value::Null,
                _ => continue,
            };
            changes.push((locate_part(self.text, value.get()), self.format_json(&new, &indent)));
        }
        if !fields.contains_key("source") {
            return Err("has a cell without `source`".to_owned());
        }
        changes.sort_by_key(|(range, _)| range.start);
        Ok(self.splice(&changes))
    }

    pub(super) fn replace_cell(&self, at: usize, new: &Value) -> Result<String, String> {
        let Some(whole) = self.cells.get(at) else { return Err(NO_SUCH_CELL.to_owned()) };
        let new = self.format_json(new, self.indent_at(whole.start));
        Ok(self.splice(&[(whole.clone(), new)]))
    }

    pub(super) fn insert_cell(
        &self,
        at: usize,
        kind: &str,
        source: &str,
        id: Option<String>,
    ) -> String {
        let new = build_cell(kind, source, id);
        let Some(last) = self.cells.last() else {
            let new = self.format_json(&new, "");
            return self.splice(&[(self.cells_array.clone(), format!("[{new}]"))]);
        };
        let near = self.cells.get(at).unwrap_or(last);
        let indent = self.indent_at(near.start);
        let between = if indent.is_empty() { String::new() } else { format!("\n{indent}") };
        let new = self.format_json(&new, indent);
        match self.cells.get(at) {
            Some(next) => self.splice(&[(next.start..next.start, format!("{new},{between}"))]),
            None => self.splice(&[(last.end..last.end, format!(",{between}{new}"))]),
        }
    }

    /// Deletes the cell and a neighbouring comma.
    pub(super) fn delete_cell(&self, at: usize) -> Result<String, String> {
        let Some(whole) = self.cells.get(at) else { return Err(NO_SUCH_CELL.to_owned()) };
        let before = at.checked_sub(1).and_then(|at| self.cells.get(at));
        let range = match (before, self.cells.get(at + 1)) {
            (_, Some(next)) => whole.start..next.start,
            (Some(before), None) => before.end..whole.end,
            (None, None) => return Ok(self.splice(&[(self.cells_array.clone(), "[]".to_owned())])),
        };
        Ok(self.splice(&[(range, String::new())]))
    }

    fn splice(&self, changes: &[(Range<usize>, String)]) -> String {
        let mut new = String::with_capacity(self.text.len());
        let mut from = 0;
        for (range, with) in changes {
            new.push_str(self.text.get(from..range.start).unwrap_or_default());
            new.push_str(with);
            from = range.end;
        }
        new.push_str(self.text.get(from..).unwrap_or_default());
        new
    }

    /// Formats JSON in the style of the file; the first line is not indented.
    fn format_json(&self, value: &Value, indent: &str) -> String {
        if self.indent_unit().is_empty() {
            return value.to_string();
        }
        let mut bytes = Vec::new();
        let layout = serde_json::ser::PrettyFormatter::with_indent(self.indent_unit().as_bytes());
        let mut writer = serde_json::Serializer::with_formatter(&mut bytes, layout);
        match serde::Serialize::serialize(value, &mut writer) {
            Ok(()) => String::from_utf8_lossy(&bytes).replace('\n', &format!("\n{indent}")),
            Err(_) => value.to_string(),
        }
    }

    /// One step of indentation; empty for a file that is one line.
    fn indent_unit(&self) -> &str {
        let Some((_, second)) = self.text.trim_start().split_once('\n') else { return "" };
        second.get(..second.len() - second.trim_start_matches([' ', '\t']).len()).unwrap_or(" ")
    }

    /// The indentation before an offset, if there is nothing else on its line before.
    fn indent_at(&self, place: usize) -> &str {
        let before = self.text.get(..place).unwrap_or_default();
        let line = before.rsplit_once('\n').map_or("", |(_, line)| line);
        if line.trim().is_empty() { line } else { "" }
    }
}

const NO_SUCH_CELL: &str = "has no such cell";

fn locate_part(text: &str, part: &str) -> Range<usize> {
    let start = (part.as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
    start..start + part.len()
}
