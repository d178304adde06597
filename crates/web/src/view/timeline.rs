//! The timeline: a lane per model, tool, question and pause, for the session and its agents.

use serde_json::{Value, json};
use windlass_journal::session_trace::{SessionTrace, TraceDetail};

use super::call_json::{call_status, summarize_call};
use super::items::{merge, request_status};
use super::shown_paths::ShownPaths;
use super::timed_spans::{SpentTime, TimedSpan, TimedSubject, list_timed_spans};
use crate::viewer::{FoundSession, ViewFailure, Viewer, list_agent_journals};

pub(super) fn answer_timeline(
    viewer: &Viewer,
    session: &FoundSession,
) -> Result<Value, ViewFailure> {
    let trace = viewer.traces.open(&session.journal)?;
    trace.wait_for_end()?;
    let mut builder = TimelineBuilder {
        is_running: session.row.state == "running",
        paths: ShownPaths::new(session.row.summary.project.as_deref()),
        ..Default::default()
    };
    let (totals, start, end) = trace.read(|trace| {
        builder.add_trace(trace, None);
        builder.add_marks(trace);
        let start = trace.items.first().map_or(trace.head.created, |item| item.place.at);
        (totals_to_json(trace), start, trace.last_at)
    });
    for (name, journal) in list_agent_journals(&session.journal).into_iter().take(AGENTS_SHOWN) {
        let nested = viewer.traces.open(&journal)?;
        nested.wait_for_end()?;
        let id = format!("{}~{name}", session.id);
        nested.read(|trace| builder.add_trace(trace, Some(&id)));
    }
    let TimelineBuilder { lanes, spans, marks, is_cut, .. } = builder;
    let lanes: Vec<Value> = lanes.iter().enumerate().map(TimelineLane::to_json).collect();
    Ok(json!({
        "start": start,
        "end": end,
        "cut": is_cut,
        "lanes": lanes,
        "spans": spans,
        "marks": marks,
        "totals": totals,
    }))
}

#[derive(Default)]
struct TimelineBuilder {
    lanes: Vec<TimelineLane>,
    spans: Vec<Value>,
    marks: Vec<Value>,
    is_cut: bool,
    is_running: bool,
    paths: ShownPaths,
}

#[derive(PartialEq, Eq)]
struct TimelineLane {
    kind: &'static str,
    label: String,
    agent: Option<String>,
}

impl TimelineLane {
    fn to_json((id, lane): (usize, &Self)) -> Value {
        json!({"id": id, "kind": lane.kind, "label": lane.label, "agent": lane.agent})
    }
}

impl TimelineBuilder {
    fn add_trace(&mut self, trace: &SessionTrace, agent: Option<&str>) {
        for span in list_timed_spans(trace) {
            let (kind, lane, label, status) = match span.subject {
                TimedSubject::Request(request) => {
                    let label = format!("turn {} ({})", request.place.turn, request.source.name());
                    ("model", request.model.as_str(), label, request_status(request))
                }
                TimedSubject::Call(call, item) => {
                    let status = call_status(call, item, self.is_running);
                    let title = self.paths.shorten(&summarize_call(call));
                    ("tool", call.tool.as_str(), title, status)
                }
                TimedSubject::Question(call) => {
                    ("person", "waiting for you", format!("asked about {}", call.tool), "ok")
                }
                TimedSubject::Pause(attempt) => {
                    ("wait", "back-off", format!("before retry {attempt}"), "ok")
                }
            };
            let lane = self.find_lane(kind, lane, agent);
            if self.spans.len() >= SPANS_MAX {
                self.is_cut = true;
                return;
            }
            let TimedSpan { start, end, seq, n, .. } = span;
            self.spans.push(json!({
                "lane": lane, "start": start, "end": end, "seq": seq, "n": n, "label": label,
                "status": status, "agent": agent,
            }));
        }
    }

    /// The index of this lane, which is added if it is new.
    fn find_lane(&mut self, kind: &'static str, label: &str, agent: Option<&str>) -> usize {
        let lane = TimelineLane { kind, label: label.to_owned(), agent: agent.map(str::to_owned) };
        self.lanes.iter().position(|own| *own == lane).unwrap_or_else(|| {
            self.lanes.push(lane);
            self.lanes.len() - 1
        })
    }

    fn add_marks(&mut self, trace: &SessionTrace) {
        for (n, item) in trace.items.iter().enumerate() {
            let (kind, label) = match &item.detail {
                TraceDetail::Prompt { text, .. } => {
                    ("prompt", text.text.chars().take(LABEL_CHARS_MAX).collect())
                }
                TraceDetail::End(ending) => ("end", ending.terminal.name().to_owned()),
                TraceDetail::Summary { .. } => ("summary", "compacted".to_owned()),
                TraceDetail::Answer { .. }
                | TraceDetail::Thinking { .. }
                | TraceDetail::Call(_)
                | TraceDetail::Request(_)
                | TraceDetail::Note { .. }
                | TraceDetail::Retry { .. }
                | TraceDetail::Retracted { .. }
                | TraceDetail::Sealed
                | TraceDetail::Repaired { .. }
                | TraceDetail::Switched { .. }
                | TraceDetail::Shrunk { .. }
                | TraceDetail::Continued(_) => continue,
            };
            if self.marks.len() < MARKS_MAX {
                let at = item.place.at;
                let seq = item.place.seq;
                self.marks
                    .push(json!({"at": at, "seq": seq, "n": n, "kind": kind, "label": label}));
            }
        }
    }
}

fn totals_to_json(trace: &SessionTrace) -> Value {
    let spent = SpentTime::measure(trace);
    let mut running = 0;
    for run in &trace.runs {
        running += run.ended_at.unwrap_or(trace.last_at).saturating_sub(run.place.at);
    }
    let first = trace.items.first().map_or(0, |item| item.place.at);
    let known = spent.model + spent.tool + spent.person + spent.wait;
    let idle = trace.last_at.saturating_sub(first).saturating_sub(running);
    merge(spent.to_json(), json!({"other_ms": running.saturating_sub(known), "idle_ms": idle}))
}

const SPANS_MAX: usize = 20_000;
const MARKS_MAX: usize = 5_000;
const AGENTS_SHOWN: usize = 64;
const LABEL_CHARS_MAX: usize = 80;
