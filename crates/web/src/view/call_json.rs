//! A tool call: its input, how permission was decided, and its result.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};
use windlass_assembly::session::snapshots::open_change_log;
use windlass_host::display::tool_call_summary::summarize_tool_call;
use windlass_journal::session_trace::{TraceItem, TracedCall, TracedQuestion};
use windlass_vocabulary::{Json, ToolCall};

use super::items::{media_to_json, merge, text_to_json};
use super::ruling_source::RuleSources;
use super::shown_paths::ShownPaths;
use crate::viewer::{FoundSession, Viewer};

/// Session data needed to describe its calls.
pub(crate) struct CallContext<'a> {
    session: &'a str,
    is_running: bool,
    /// Calls whose snapshots before and after differ.
    changing: BTreeSet<String>,
    sources: RuleSources<'a>,
    paths: ShownPaths,
}

impl<'a> CallContext<'a> {
    pub(crate) fn new(viewer: &'a Viewer, session: &'a FoundSession) -> Self {
        let project = session.row.summary.project.as_deref();
        Self {
            session: &session.id,
            is_running: matches!(session.row.state, "running" | "waiting"),
            changing: find_changing_calls(&session.journal),
            sources: RuleSources::new(viewer, project),
            paths: ShownPaths::new(project),
        }
    }
}

/// The calls during which files changed.
pub(super) fn find_changing_calls(journal: &Path) -> BTreeSet<String> {
    let Ok(kept) = open_change_log(journal) else { return BTreeSet::new() };
    let spans = kept.spans().into_iter().filter(|span| !span.is_rewind);
    let changed = spans.filter(|span| span.to.as_ref().is_some_and(|to| *to != span.from));
    changed.flat_map(|span| span.calls).collect()
}

pub(crate) fn call_status(call: &TracedCall, item: &TraceItem, is_running: bool) -> &'static str {
    let is_open_question = call.asked.as_ref().is_some_and(|asked| asked.answer.is_none());
    match (&call.denied, &call.result) {
        (Some(_), _) => "denied",
        (None, Some(result)) if result.is_error => "failed",
        (None, Some(_)) => "ok",
        (None, None) if item.is_withdrawn => "cancelled",
        (None, None) if is_running && is_open_question => "asking",
        (None, None) if is_running => "running",
        (None, None) if call.started_at.is_some() => "unknown",
        (None, None) => "cancelled",
    }
}

pub(crate) fn call_to_json(
    call: &TracedCall,
    item: &TraceItem,
    context: &CallContext<'_>,
) -> Value {
    let whole = (!call.input.is_cut())
        .then(|| serde_json::from_str::<Value>(&call.input.text).ok())
        .flatten();
    let input_text = whole.is_none().then(|| text_to_json(&call.input));
    let result = call.result.as_ref().map(|result| {
        let media: Vec<Value> = result.media.iter().map(media_to_json).collect();
        let own = json!({
            "seq": result.text.seq,
            "at": result.at,
            "is_error": result.is_error,
            "media": media,
            "took_ms": result.took_millis,
        });
        merge(text_to_json(&result.text), own)
    });
    let is_changing = context.changing.contains(call.id.as_str());
    let changes =
        is_changing.then(|| json!({"files": null, "insertions": null, "deletions": null}));
    let ms = item.ended_at.map(|end| end.saturating_sub(call.started_at.unwrap_or(item.place.at)));
    json!({
        "call": call.id.as_str(),
        "tool": call.tool.as_str(),
        "title": context.paths.shorten(&summarize_call(call)),
        "status": call_status(call, item, context.is_running),
        "ms": ms,
        "started": call.started_at,
        "input": whole,
        "input_text": input_text,
        "result": result,
        "ruling": ruling_to_json(call, context),
        "changes": changes,
        "agent": call.agent.as_ref().map(|agent| format!("{}~{agent}", context.session)),
        "progress": call.progress,
        "spent_micro_usd": call.spent.0,
    })
}

pub(crate) fn summarize_call(call: &TracedCall) -> String {
    let whole = ToolCall {
        id: call.id.clone(),
        name: call.tool.clone(),
        input: Json::from_checked(match call.input.is_cut() {
            true => "{}",
            false => &call.input.text,
        }),
        signature: None,
    };
    summarize_tool_call(&whole, TITLE_CHARS_MAX)
}

/// The decision is what really happened; reason and rule come from evaluating the rules of that
/// time again.
fn ruling_to_json(call: &TracedCall, context: &CallContext<'_>) -> Value {
    let decision = match (&call.denied, &call.asked) {
        (_, Some(_)) => "ask",
        (Some(_), None) => "deny",
        (None, None) if call.started_at.is_some() || call.result.is_some() => "allow",
        (None, None) => return Value::Null,
    };
    let report = call.report.as_ref();
    let rule = report.and_then(|report| report.rule.clone());
    let why = match (&call.denied, &call.asked) {
        (_, Some(asked)) => asked.why.clone(),
        (Some(denied), None) => denied.clone(),
        (None, None) => report.map(|report| report.reason.clone()).unwrap_or_default(),
    };
    let source = rule.as_deref().and_then(|rule| context.sources.find(rule));
    json!({
        "decision": decision,
        "why": why,
        "rule": rule,
        "source": source,
        "denied": call.denied,
        "asked": call.asked.as_ref().map(question_to_json),
    })
}

fn question_to_json(asked: &TracedQuestion) -> Value {
    let answer = asked.answer.as_ref();
    json!({
        "seq": asked.seq,
        "at": asked.at,
        "ticket": asked.ticket.0,
        "answered_at": answer.map(|answer| answer.at),
        "answer": answer.map(|answer| if answer.is_allowed { "allow" } else { "deny" }),
        "by": answer.and_then(|answer| answer.by.clone()),
        "remember": answer.map(|answer| answer.remember.clone()).unwrap_or_default(),
        "message": answer.and_then(|answer| answer.message.clone()),
        "waited_ms": answer.map(|answer| answer.at.saturating_sub(asked.at)),
    })
}

const TITLE_CHARS_MAX: usize = 120;
