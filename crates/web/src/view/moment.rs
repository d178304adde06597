//! The state of a session after a given record, and whether a replay gives the same decisions.

use std::time::Instant;

use serde_json::{Value, json};
use windlass_assembly::session::journal_replay::{read_moment, verify_journal};
use windlass_journal::session_trace::session_moment::{MomentMessage, SessionMoment};
use windlass_vocabulary::Role;

use super::context::context_usage_to_json;
use super::items::{merge, text_to_json};
use crate::viewer::{FoundSession, ViewFailure, Viewer};

pub(super) fn answer_moment(
    viewer: &Viewer,
    session: &FoundSession,
    seq: u64,
) -> Result<Value, ViewFailure> {
    let trace = viewer.traces.open(&session.journal)?;
    trace.wait_for_end()?;
    let last = trace.read(|trace| trace.seq);
    if seq == 0 || seq > last {
        let words = format!("records are numbered from 1 to {last}");
        return Err(ViewFailure::not_found(&words));
    }
    let moment = read_moment(&session.journal, seq)?;
    let (run, request, item) = trace.read(|trace| {
        let run = trace.runs.iter().take_while(|run| run.place.seq <= seq).count();
        let request = moment.request_seq.and_then(|request_seq| {
            let is_it = |request: &windlass_journal::session_trace::TracedRequest| {
                request.place.seq == request_seq
            };
            let n = trace.requests.iter().position(is_it)?;
            Some(json!({"seq": request_seq, "n": n}))
        });
        let item = trace.items.partition_point(|item| item.place.seq <= seq).checked_sub(1);
        (run, request, item)
    });
    Ok(moment_to_json(&moment, last, json!({"run": run, "request": request, "item": item})))
}

fn moment_to_json(moment: &SessionMoment, last: u64, place: Value) -> Value {
    let facts: Vec<Value> = moment.facts.iter().map(fact_to_json).collect();
    let messages: Vec<Value> = moment.last_messages.iter().map(message_to_json).collect();
    let own = json!({
        "seq": moment.seq,
        "at": moment.at,
        "last": last,
        "event": moment.event,
        "before": moment.before,
        "after": moment.after,
        "turn": moment.turn,
        "transition": moment.transition.map(|transition| transition.name()),
        "effects": moment.effects,
        "notices": [],
        "ending": null,
        "facts": facts,
        "context": moment.context.as_ref().map(context_usage_to_json),
        "transcript": {"total": moment.messages, "messages": messages},
    });
    merge(own, place)
}

/// Formats amounts of money like the page does.
fn fact_to_json((name, value): &(&'static str, String)) -> Value {
    match (*name, value.parse()) {
        ("spent" | "set aside", Ok(micro)) => json!([name, format_money(micro)]),
        _ => json!([name, value]),
    }
}

/// Millionths of a dollar, with more digits for smaller sums: see `format.js`.
fn format_money(micro: u64) -> String {
    let dollars = micro as f64 / 1e6;
    match micro {
        0 => "$0".to_owned(),
        1..10_000 => format!("${dollars:.4}"),
        10_000..100_000 => format!("${dollars:.3}"),
        _ => format!("${dollars:.2}"),
    }
}

fn message_to_json(message: &MomentMessage) -> Value {
    let role = match message.role {
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    let own = json!({
        "id": message.id,
        "role": role,
        "origin": message.origin,
        "calls": message.calls,
    });
    merge(text_to_json(&message.text), own)
}

pub(super) fn answer_replay(session: &FoundSession) -> Result<Value, ViewFailure> {
    let began = Instant::now();
    let report = verify_journal(&session.journal)?;
    let difference = report.difference.as_ref().map(|(seq, _)| seq);
    let words = match &report.difference {
        None => "Replay matches: all decisions identical.".to_owned(),
        Some((seq, note)) => {
            let note: String = note.describe().chars().take(NOTE_CHARS_MAX).collect();
            format!("Record {seq} says {note}, and a replay decides otherwise.")
        }
    };
    Ok(json!({
        "records": report.folded.seq,
        "same": report.same,
        "missing": report.missing,
        "damaged": report.folded.damages.len(),
        "difference": difference,
        "matches": report.difference.is_none(),
        "words": words,
        "ms": u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
    }))
}

const NOTE_CHARS_MAX: usize = 200;
