//! The items of a session, in windows.

use serde_json::{Map, Value, json};
use windlass_assembly::report::why::{
    describe_context_level, describe_terminal, describe_transition,
};
use windlass_journal::session_trace::{
    SessionTrace, TraceDetail, TraceItem, TracedMedia, TracedRequest, TracedText,
};
use windlass_vocabulary::ModelStopReason;

use super::call_json::{CallContext, call_to_json};
use super::read_window;
use crate::markdown_nodes::parse_markdown_nodes;
use crate::server::query::QueryParameters;
use crate::viewer::{FoundSession, ViewFailure, Viewer};

/// Limit on items in one response.
pub(crate) const ITEMS_WINDOW: usize = 200;

pub(super) fn answer_items(
    viewer: &Viewer,
    session: &FoundSession,
    query: &QueryParameters,
) -> Result<Value, ViewFailure> {
    let trace = viewer.traces.open(&session.journal)?;
    let from: i64 = query.number("from")?.unwrap_or(0);
    match usize::try_from(from) {
        Ok(from) => trace.wait_for_items(from.saturating_add(ITEMS_WINDOW))?,
        // Negative: counted from the end, so the trace must be complete.
        Err(_) => trace.wait_for_end()?,
    }
    let context = CallContext::new(viewer, session);
    trace.read(|trace| {
        let window = read_window(query, trace.items.len(), ITEMS_WINDOW)?;
        let rows = trace.items.get(window.clone()).unwrap_or_default();
        let items: Vec<Value> = window
            .clone()
            .zip(rows)
            .map(|(number, item)| item_to_json(trace, number, item, &context))
            .collect();
        Ok(json!({
            "from": window.start,
            "to": window.end,
            "total": trace.items.len(),
            "complete": trace.is_complete,
            "items": items,
        }))
    })
}

pub(super) fn item_to_json(
    trace: &SessionTrace,
    n: usize,
    item: &TraceItem,
    context: &CallContext<'_>,
) -> Value {
    let TraceItem { place, ended_at, is_withdrawn, detail } = item;
    let mut fields = Map::new();
    let mut set = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    set("n", Value::from(n));
    set("seq", Value::from(place.seq));
    set("at", Value::from(place.at));
    set("run", Value::from(place.run));
    set("turn", Value::from(place.turn));
    set("kind", Value::from(detail_kind(detail)));
    set("ms", json!(ended_at.map(|end| end.saturating_sub(place.at))));
    if *is_withdrawn {
        set("withdrawn", Value::from(true));
    }
    let own = match detail {
        TraceDetail::Prompt { text, media, is_queued, by } => {
            let media: Vec<Value> = media.iter().map(media_to_json).collect();
            merge(text_to_json(text), json!({"media": media, "queued": is_queued, "by": by}))
        }
        TraceDetail::Answer { text, model } => {
            let nodes = parse_markdown_nodes(&text.text);
            merge(text_to_json(text), json!({"nodes": nodes, "model": model.as_str()}))
        }
        TraceDetail::Thinking { text, model } => {
            merge(text_to_json(text), json!({"model": model.as_str()}))
        }
        TraceDetail::Summary { text } => {
            merge(text_to_json(text), json!({"nodes": parse_markdown_nodes(&text.text)}))
        }
        TraceDetail::Call(call) => call_to_json(call, item, context),
        TraceDetail::Request(index) => {
            trace.requests.get(*index).map(request_to_json).unwrap_or_default()
        }
        TraceDetail::Note { from, name, text } => {
            let name = (!name.is_empty()).then_some(name);
            merge(text_to_json(text), json!({"from": from, "name": name}))
        }
        TraceDetail::Retry { failure, attempt, attempts_max, wait_millis } => json!({
            "words": format!("Waited before retry {attempt} of {attempts_max}."),
            "failure": failure.message,
            "attempt": attempt,
            "attempts_max": attempts_max,
            "wait_ms": wait_millis,
        }),
        TraceDetail::Retracted { why } => {
            json!({"words": format!("A partial answer was discarded: {why}")})
        }
        TraceDetail::Sealed => json!({"words": SEALED_WORDS}),
        TraceDetail::Repaired { why } => {
            json!({"words": format!("The request was repaired: {why}")})
        }
        TraceDetail::Switched { from, to, why } => {
            json!({"words": format!("From {from} to {to}: {why}")})
        }
        TraceDetail::Shrunk { level, freed, losses } => json!({
            "level": level,
            "freed_tokens": freed.0,
            "losses": losses,
            "words": describe_context_level(*level),
        }),
        TraceDetail::Continued(transition) => json!({
            "transition": transition.name(),
            "words": describe_transition(*transition),
        }),
        TraceDetail::End(ending) => json!({
            "terminal": ending.terminal.name(),
            "outcome": ending.outcome.map(|outcome| outcome.name()),
            "words": describe_terminal(ending.terminal),
            "why": ending.why,
            "turns": ending.turns,
            "cost_micro_usd": ending.cost.0,
        }),
    };
    merge(Value::Object(fields), own)
}

pub(super) fn detail_kind(detail: &TraceDetail) -> &'static str {
    match detail {
        TraceDetail::Prompt { .. } => "prompt",
        TraceDetail::Answer { .. } => "answer",
        TraceDetail::Thinking { .. } => "thinking",
        TraceDetail::Call(_) => "call",
        TraceDetail::Request(_) => "request",
        TraceDetail::Summary { .. } => "summary",
        TraceDetail::Note { .. } => "note",
        TraceDetail::Retry { .. } => "retry",
        TraceDetail::Retracted { .. } => "retracted",
        TraceDetail::Sealed => "sealed",
        TraceDetail::Repaired { .. } => "repaired",
        TraceDetail::Switched { .. } => "switched",
        TraceDetail::Shrunk { .. } => "shrunk",
        TraceDetail::Continued(_) => "continued",
        TraceDetail::End(_) => "end",
    }
}

pub(super) fn request_status(request: &TracedRequest) -> &'static str {
    let answer = &request.answer;
    match (&answer.failure, answer.is_cancelled, answer.ended_at) {
        (Some(_), _, _) => "failed",
        (None, true, _) => "cancelled",
        (None, false, Some(_)) => "ok",
        (None, false, None) => "running",
    }
}

fn request_to_json(request: &TracedRequest) -> Value {
    let TracedRequest { place, attempt, model, source, shape, answer, bill, .. } = request;
    let usage = bill.as_ref().map_or(answer.usage, |bill| bill.billed);
    json!({
        "model": model.as_str(),
        "source": source.name(),
        "attempt": attempt.to_string(),
        "stop": answer.stop.map(stop_name),
        "predicted_tokens": bill.as_ref().map_or(shape.estimate.0, |bill| bill.predicted.0),
        "input_tokens": usage.input_total().0,
        "cache_read_tokens": usage.cache_read.0,
        "cache_write_tokens": usage.cache_write.0,
        "output_tokens": usage.output.0,
        "cost_micro_usd": bill.as_ref().map(|bill| bill.cost.0),
        "cache_miss": bill.as_ref().and_then(|bill| bill.cache_miss.clone()),
        "status": request_status(request),
        "failure": answer.failure,
        "first_ms": answer.first_at.map(|first| first.saturating_sub(place.at)),
    })
}

fn stop_name(stop: ModelStopReason) -> &'static str {
    match stop {
        ModelStopReason::EndTurn => "end_turn",
        ModelStopReason::OutputLimit => "output_limit",
        ModelStopReason::WindowFull => "window_full",
        ModelStopReason::Pause => "pause",
        ModelStopReason::Refusal => "refusal",
    }
}

pub(super) fn text_to_json(text: &TracedText) -> Value {
    json!({"text": text.text, "bytes": text.bytes, "cut": text.is_cut(), "text_seq": text.seq})
}

pub(super) fn media_to_json(media: &TracedMedia) -> Value {
    json!({
        "seq": media.seq,
        "part": media.part,
        "media_type": &*media.media_type,
        "name": &*media.name,
        "bytes": media.bytes,
    })
}

/// Merges the fields of two objects; those of `other` win.
pub(super) fn merge(one: Value, other: Value) -> Value {
    match (one, other) {
        (Value::Object(mut one), Value::Object(other)) => {
            one.extend(other);
            Value::Object(one)
        }
        (one, _) => one,
    }
}

const SEALED_WORDS: &str =
    "The stream was cut after a tool had started; the answer was kept up to its last whole block.";
