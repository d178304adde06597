//! The timeline as Chrome trace events: a process per agent, a thread per lane.

use serde_json::{Value, json};

use crate::server::query::QueryParameters;
use crate::view::answer;
use crate::viewer::{FoundSession, ViewFailure, Viewer};

pub(super) fn build_trace_events(
    viewer: &Viewer,
    session: &FoundSession,
) -> Result<Value, ViewFailure> {
    let path = ["sessions", session.id.as_str(), "timeline"];
    let timeline = answer(viewer, &path, &QueryParameters::default())?;
    let list =
        |name: &str| timeline.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
    let (lanes, spans, marks) = (list("lanes"), list("spans"), list("marks"));
    let end = timeline.get("end").and_then(Value::as_u64).unwrap_or(0);
    let mut processes: Vec<String> = vec!["session".to_owned()];
    let mut events = Vec::new();
    let mut lane_process = Vec::new();
    for lane in &lanes {
        let agent = lane.get("agent").and_then(Value::as_str).unwrap_or("session");
        let process = processes.iter().position(|own| own == agent).unwrap_or_else(|| {
            processes.push(agent.to_owned());
            processes.len() - 1
        });
        lane_process.push(process);
        let name = format!("{}: {}", text(lane, "kind"), text(lane, "label"));
        let thread = lane.get("id").cloned().unwrap_or_default();
        events.push(json!({
            "ph": "M", "name": "thread_name", "pid": process, "tid": thread, "args": {"name": name},
        }));
    }
    for (process, name) in processes.iter().enumerate() {
        events.push(json!({
            "ph": "M", "name": "process_name", "pid": process, "args": {"name": name},
        }));
    }
    for span in &spans {
        let lane = span.get("lane").and_then(Value::as_u64).unwrap_or(0);
        let place = usize::try_from(lane).unwrap_or(usize::MAX);
        let start = span.get("start").and_then(Value::as_u64).unwrap_or(0);
        let stop = span.get("end").and_then(Value::as_u64).unwrap_or(end);
        events.push(json!({
            "ph": "X",
            "name": text(span, "label"),
            "cat": lanes.get(place).map(|lane| text(lane, "kind")),
            "ts": start * 1000,
            "dur": stop.saturating_sub(start) * 1000,
            "pid": lane_process.get(place),
            "tid": lane,
            "args": {"record": span.get("seq"), "status": span.get("status")},
        }));
    }
    for mark in &marks {
        let at = mark.get("at").and_then(Value::as_u64).unwrap_or(0);
        events.push(json!({
            "ph": "i", "s": "g", "name": format!("{}: {}", text(mark, "kind"), text(mark, "label")),
            "ts": at * 1000, "pid": 0, "tid": 0, "args": {"record": mark.get("seq")},
        }));
    }
    Ok(json!({"traceEvents": events, "displayTimeUnit": "ms"}))
}

fn text(value: &Value, name: &str) -> String {
    value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}
