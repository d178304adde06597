//! Compares two sessions, such as a fork and its origin, or two models on one task.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use windlass_journal::session_trace::{SessionTrace, TraceItem};

use super::diff::answer_diff;
use super::items::detail_kind;
use super::overview::answer_overview;
use crate::server::query::QueryParameters;
use crate::viewer::{FoundSession, ViewFailure, Viewer};

pub(super) fn answer_compare(
    viewer: &Viewer,
    query: &QueryParameters,
) -> Result<Value, ViewFailure> {
    let find = |name: &str| {
        let missing = || ViewFailure::bad_request("`a` and `b` are the ids of two sessions");
        viewer.find(query.text(name).ok_or_else(missing)?)
    };
    let one = find("a")?;
    let two = find("b")?;
    let a = answer_overview(viewer, &one)?;
    let b = answer_overview(viewer, &two)?;
    let trace_a = viewer.traces.open(&one.journal)?;
    let trace_b = viewer.traces.open(&two.journal)?;
    trace_a.wait_for_end()?;
    trace_b.wait_for_end()?;
    // One lock after the other, because comparing a session with itself would deadlock.
    let keys = trace_a.read(|trace| trace.items.iter().map(item_key).collect::<Vec<_>>());
    let shared = trace_b.read(|trace| count_shared(&keys, trace));
    let rows: Vec<Value> = ROWS
        .iter()
        .map(|(name, path, unit)| {
            let value = |side: &Value| side.pointer(path).cloned().unwrap_or_default();
            json!({"name": name, "a": value(&a), "b": value(&b), "unit": unit})
        })
        .collect();
    let files = compare_files(viewer, &one, &two);
    Ok(json!({"a": a, "b": b, "shared_items": shared, "rows": rows, "files": files}))
}

fn count_shared(keys: &[String], trace: &SessionTrace) -> usize {
    keys.iter().zip(&trace.items).take_while(|(key, item)| **key == item_key(item)).count()
}

/// A key that is equal for items with the same content, whatever their time.
fn item_key(item: &TraceItem) -> String {
    let kind = detail_kind(&item.detail);
    let tool = item.detail.call().map_or("", |call| call.tool.as_str());
    let text = item.detail.text().map_or("", |text| text.text.as_str());
    format!("{kind} {tool} {text}")
}

fn compare_files(viewer: &Viewer, one: &FoundSession, two: &FoundSession) -> Vec<Value> {
    let mut files: BTreeMap<String, [Value; 2]> = BTreeMap::new();
    for (side, session) in [one, two].into_iter().enumerate() {
        let Ok(diff) = answer_diff(viewer, session, &QueryParameters::default()) else { continue };
        for file in diff.get("files").and_then(Value::as_array).into_iter().flatten() {
            let Some(path) = file.get("path").and_then(Value::as_str) else { continue };
            let kind = file.get("kind").cloned().unwrap_or_default();
            if let Some(slot) = files.entry(path.to_owned()).or_default().get_mut(side) {
                *slot = kind;
            }
        }
    }
    files.into_iter().map(|(path, [a, b])| json!({"path": path, "a": a, "b": b})).collect()
}

/// The compared rows: name, JSON pointer into the overview, and unit.
const ROWS: [(&str, &str, &str); 13] = [
    ("state", "/session/state", "text"),
    ("outcome", "/session/outcome", "text"),
    ("model", "/session/model", "text"),
    ("cost", "/totals/cost_micro_usd", "micro_usd"),
    ("running time", "/running_ms", "ms"),
    ("model time", "/totals/model_ms", "ms"),
    ("tool time", "/totals/tool_ms", "ms"),
    ("requests", "/totals/requests", "count"),
    ("calls", "/totals/calls", "count"),
    ("failed calls", "/totals/failed_calls", "count"),
    ("input", "/totals/input_tokens", "tokens"),
    ("cache read", "/totals/cache_read_tokens", "tokens"),
    ("output", "/totals/output_tokens", "tokens"),
];
