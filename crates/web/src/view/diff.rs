//! File changes of a call, a turn, or the whole session, as hunks.

use serde_json::{Value, json};
use windlass_assembly::report::diff::diff_journal;
use windlass_assembly::session::snapshots::open_change_log;
use windlass_assembly::slash_command::{DiffArguments, DiffScope};
use windlass_host::environment::process_environment;
use windlass_journal::session_facts::find_named_file;

use super::call_json::find_changing_calls;
use crate::server::query::QueryParameters;
use crate::viewer::{FoundSession, ViewFailure, Viewer};

pub(super) fn answer_diff(
    viewer: &Viewer,
    session: &FoundSession,
    query: &QueryParameters,
) -> Result<Value, ViewFailure> {
    let turn: Option<usize> = query.number("turn")?;
    let call = query.text("call");
    let scope = match (call, turn) {
        (Some(call), _) => DiffScope::Call(call.to_owned()),
        (None, Some(turn)) => DiffScope::Turn(turn),
        (None, None) => DiffScope::Session,
    };
    let kept = open_change_log(&session.journal)?;
    let empty = || json!({"files": [], "insertions": 0, "deletions": 0, "calls": [], "turn": turn});
    let has_call =
        |call: &str| kept.spans().iter().any(|span| span.calls.iter().any(|c| c == call));
    if call.is_some_and(|call| !has_call(call)) {
        return Ok(empty());
    }
    let wanted = DiffArguments { scope, is_summary: false };
    let (_, report) = diff_journal(&session.journal, &session.id, &wanted, &process_environment)
        .map_err(|error| ViewFailure::bad_request(error.message()))?;
    let path = query.text("path");
    let writers = find_writers(viewer, session)?;
    let mut files = Vec::new();
    for file in report.get("files").and_then(Value::as_array).into_iter().flatten() {
        let name = file.get("path").and_then(Value::as_str).unwrap_or_default();
        if path.is_none_or(|path| path == name) && files.len() < FILES_MAX {
            files.push(file_to_json(file, name, &writers));
        }
    }
    let calls: Vec<String> = match call {
        Some(call) => vec![call.to_owned()],
        None => Vec::new(),
    };
    Ok(json!({
        "files": files,
        "insertions": report.get("insertions"),
        "deletions": report.get("deletions"),
        "calls": calls,
        "turn": turn,
    }))
}

/// Calls that changed files, each with the file its input names.
fn find_writers(
    viewer: &Viewer,
    session: &FoundSession,
) -> Result<Vec<(String, String)>, ViewFailure> {
    let trace = viewer.traces.open(&session.journal)?;
    trace.wait_for_end()?;
    let changing = find_changing_calls(&session.journal);
    Ok(trace.read(|trace| {
        let calls = trace.items.iter().filter_map(|item| {
            let call = item.detail.call()?;
            let file = find_named_file(&call.input.text)?;
            let id = call.id.as_str();
            changing.contains(id).then(|| (id.to_owned(), file))
        });
        calls.collect()
    }))
}

fn file_to_json(file: &Value, name: &str, writers: &[(String, String)]) -> Value {
    let is_named = |file: &str| file == name || file.ends_with(&format!("/{name}"));
    let calls: Vec<&String> =
        writers.iter().filter(|(_, file)| is_named(file)).map(|(call, _)| call).collect();
    let diff = file.get("diff").and_then(Value::as_str);
    let (hunks, is_cut) = parse_hunks(diff.unwrap_or_default(), LINES_MAX);
    json!({
        "path": name,
        "kind": file.get("kind"),
        "insertions": file.get("insertions"),
        "deletions": file.get("deletions"),
        "text": file.get("insertions").is_some_and(Value::is_number),
        "cut": is_cut,
        "hunks": hunks,
        "calls": calls,
    })
}

/// Parses the hunks of a unified diff, up to `lines_max` lines. Returns whether any were left out.
fn parse_hunks(diff: &str, lines_max: usize) -> (Vec<Value>, bool) {
    let mut hunks: Vec<Value> = Vec::new();
    let mut lines: Vec<Value> = Vec::new();
    let mut head: Option<(u64, u64)> = None;
    let mut count = 0;
    let mut finish = |head: Option<(u64, u64)>, lines: &mut Vec<Value>| {
        if let Some((old, new)) = head {
            let lines = std::mem::take(lines);
            hunks.push(json!({"old_start": old, "new_start": new, "lines": lines}));
        }
    };
    let mut is_cut = false;
    for line in diff.split_inclusive('\n') {
        let line = line.strip_suffix('\n').unwrap_or(line);
        if let Some(starts) = parse_hunk_head(line) {
            finish(head, &mut lines);
            head = Some(starts);
            continue;
        }
        let Some(mark) = line.get(..1).filter(|_| head.is_some()) else { continue };
        if count >= lines_max {
            is_cut = true;
            break;
        }
        if matches!(mark, " " | "+" | "-") {
            count += 1;
            lines.push(json!([mark, line.get(1..).unwrap_or_default()]));
        }
    }
    finish(head, &mut lines);
    (hunks, is_cut)
}

/// The start lines of a hunk header such as `@@ -1,3 +1,4 @@`.
fn parse_hunk_head(line: &str) -> Option<(u64, u64)> {
    let (old, rest) = line.strip_prefix("@@ -")?.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let start = |range: &str| range.split(',').next().and_then(|number| number.parse().ok());
    Some((start(old)?, start(new)?))
}

const FILES_MAX: usize = 300;
const LINES_MAX: usize = 2_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unified_diff_becomes_hunks() {
        let diff = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n@@ -9 +9 @@\n--- no head\n";
        let (hunks, is_cut) = parse_hunks(diff, 100);
        let expected = json!([
            {"old_start": 1, "new_start": 1, "lines": [[" ", "a"], ["-", "b"], ["+", "c"]]},
            {"old_start": 9, "new_start": 9, "lines": [["-", "-- no head"]]},
        ]);
        assert_eq!((Value::from(hunks), is_cut), (expected, false));
        assert!(parse_hunks(diff, 2).1);
    }
}
