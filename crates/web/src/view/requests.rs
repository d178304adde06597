//! Lists the requests of a session, shows one, and compares two.

use serde_json::{Value, json};
use windlass_assembly::session::journal_replay::read_requests;
use windlass_vocabulary::ModelRequest;

use super::items::merge;
use super::json_text::{compare_json, indent_json};
use super::request_line_difference::RequestLineDifference;
use super::request_text::{RequestForm, RequestText};
use crate::server::query::QueryParameters;
use crate::viewer::{FoundSession, ViewFailure, Viewer};

pub(super) fn answer_requests(
    viewer: &Viewer,
    session: &FoundSession,
) -> Result<Value, ViewFailure> {
    let trace = viewer.traces.open(&session.journal)?;
    trace.wait_for_end()?;
    Ok(trace.read(|trace| {
        let requests = trace.requests.iter().enumerate().map(|(n, request)| {
            let shape = &request.shape;
            let bill = request.bill.as_ref();
            json!({
                "n": n,
                "seq": request.place.seq,
                "item": request.item,
                "at": request.place.at,
                "run": request.place.run,
                "turn": request.place.turn,
                "model": request.model.as_str(),
                "source": request.source.name(),
                "messages": shape.messages,
                "tools": shape.tools,
                "bytes": shape.bytes,
                "shared_bytes": shape.shared_bytes,
                "appended": shape.changed.is_empty(),
                "changed": shape.changed,
                "estimate_tokens": shape.estimate.0,
                "cache_read_tokens": bill.map_or(request.answer.usage.cache_read.0, |bill| {
                    bill.billed.cache_read.0
                }),
                "cache_miss": bill.and_then(|bill| bill.cache_miss.clone()),
            })
        });
        json!({"requests": requests.collect::<Vec<_>>()})
    }))
}

pub(super) fn answer_request(
    session: &FoundSession,
    seq: u64,
    query: &QueryParameters,
) -> Result<Value, ViewFailure> {
    let form = RequestForm::read(query)?;
    let found = load_requests(session, &[seq])?;
    let missing = || ViewFailure::not_found("no request went out at this record");
    let (_, request) = found.first().ok_or_else(missing)?;
    let RequestText { json, about } = RequestText::render(request, form)?;
    let text = indent_json(&json);
    let end = text.floor_char_boundary(REQUEST_BYTES_MAX.min(text.len()));
    let own = json!({
        "seq": seq,
        "model": request.model.as_str(),
        "bytes": json.len(),
        "cut": end < text.len(),
        "text": text.get(..end),
    });
    Ok(merge(own, about))
}

pub(super) fn answer_request_diff(
    session: &FoundSession,
    query: &QueryParameters,
) -> Result<Value, ViewFailure> {
    let missing = || ViewFailure::bad_request("`a` and `b` are records at which requests went out");
    let form = RequestForm::read(query)?;
    let a: u64 = query.number("a")?.ok_or_else(missing)?;
    let b: u64 = query.number("b")?.ok_or_else(missing)?;
    let found = load_requests(session, &[a, b])?;
    let render = |seq: u64| {
        let (_, request) = found.iter().find(|(own, _)| *own == seq).ok_or_else(missing)?;
        RequestText::render(request, form)
    };
    let one = render(a)?;
    let two = render(b)?;
    let (shared, first) = compare_json(&one.json, &two.json);
    let words = describe_difference(first.as_deref(), shared, &one.json);
    let lines = RequestLineDifference::compare(&one.json, &two.json);
    let own = json!({
        "a": a,
        "b": b,
        "a_bytes": one.json.len(),
        "b_bytes": two.json.len(),
        "shared_bytes": shared,
        "first": first,
        "words": words,
        "insertions": lines.as_ref().map(|lines| lines.counts.insertions),
        "deletions": lines.as_ref().map(|lines| lines.counts.deletions),
        "cut": lines.as_ref().is_none_or(|lines| lines.is_cut),
        "hunks": lines.map(|lines| lines.hunks).unwrap_or_default(),
    });
    Ok(merge(own, two.about))
}

fn load_requests(
    session: &FoundSession,
    wanted: &[u64],
) -> Result<Vec<(u64, ModelRequest)>, ViewFailure> {
    Ok(read_requests(&session.journal, wanted)?)
}

/// A prompt cache holds a common prefix in the order of the provider: tools, system, messages.
fn describe_difference(first: Option<&str>, shared: usize, one: &str) -> String {
    let Some(first) = first else { return "Both are the same, byte for byte.".to_owned() };
    let percent = shared.saturating_mul(100) / one.len().max(1);
    match MESSAGE_LISTS.iter().any(|list| first.starts_with(list)) {
        true => format!(
            "The first difference is at {first}. The {percent} % before it is the same, so a cache can hold it."
        ),
        false => format!(
            "The first difference is at {first}, outside the messages: a cache cannot hold anything after it."
        ),
    }
}

/// JSON paths of the messages in the forms of a request.
const MESSAGE_LISTS: [&str; 3] = ["messages[", "input[", "contents["];
const REQUEST_BYTES_MAX: usize = 4 << 20;
