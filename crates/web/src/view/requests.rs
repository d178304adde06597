//! The requests of a session, and how one differs from another.

use serde_json::{Value, json};
use windlass_assembly::session::rewind_point::fallback_settings;
use windlass_journal::session_trace::session_moment::read_requests;
use windlass_text_diff::TextDifference;

use super::diff::parse_hunks;
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

pub(super) fn answer_request(session: &FoundSession, seq: u64) -> Result<Value, ViewFailure> {
    let (_, request) = load_requests(session, &[seq])?
        .into_iter()
        .next()
        .ok_or_else(|| ViewFailure::not_found("no request went out at this record"))?;
    let text = render(&request);
    let end = text.floor_char_boundary(REQUEST_BYTES_MAX.min(text.len()));
    Ok(json!({
        "seq": seq,
        "model": request.get("model"),
        "bytes": render_compact(&request).len(),
        "cut": end < text.len(),
        "text": text.get(..end),
    }))
}

pub(super) fn answer_request_diff(
    session: &FoundSession,
    query: &QueryParameters,
) -> Result<Value, ViewFailure> {
    let missing = || ViewFailure::bad_request("`a` and `b` are records at which requests went out");
    let a: u64 = query.number("a")?.ok_or_else(missing)?;
    let b: u64 = query.number("b")?.ok_or_else(missing)?;
    let found = load_requests(session, &[a, b])?;
    let pick = |seq: u64| found.iter().find(|(own, _)| *own == seq).map(|(_, value)| value);
    let (Some(one), Some(two)) = (pick(a), pick(b)) else { return Err(missing()) };
    let (compact_a, compact_b) = (render_compact(one), render_compact(two));
    let shared = compact_a.bytes().zip(compact_b.bytes()).take_while(|(x, y)| x == y).count();
    let first = PARTS.iter().find_map(|part| {
        find_first_difference(one.get(*part)?, two.get(*part)?, (*part).to_owned())
    });
    let words = describe_difference(first.as_deref(), shared, &compact_a);
    let (text_a, text_b) = (render(one), render(two));
    let is_long = text_a.len().max(text_b.len()) > REQUEST_BYTES_MAX;
    let (hunks, is_cut) = match is_long {
        true => (Vec::new(), true),
        false => {
            let unified = TextDifference::of_lines(&text_a, &text_b).to_unified("a", "b", 3);
            parse_hunks(&unified, DIFF_LINES_MAX)
        }
    };
    Ok(json!({
        "a": a,
        "b": b,
        "a_bytes": compact_a.len(),
        "b_bytes": compact_b.len(),
        "shared_bytes": shared,
        "first": first,
        "words": words,
        "hunks": hunks,
        "cut": is_cut,
    }))
}

fn load_requests(session: &FoundSession, wanted: &[u64]) -> Result<Vec<(u64, Value)>, ViewFailure> {
    Ok(read_requests(&session.journal, &fallback_settings(), wanted)?)
}

/// In the order in which a provider reads it, so that what is the same at the beginning is what a cache
/// can hold.
fn render(request: &Value) -> String {
    let mut text = "{".to_owned();
    for part in PARTS {
        let value = request.get(part).unwrap_or(&Value::Null);
        let value = serde_json::to_string_pretty(value).unwrap_or_default().replace('\n', "\n  ");
        let comma = if text.len() > 1 { "," } else { "" };
        text.push_str(&format!("{comma}\n  \"{part}\": {value}"));
    }
    text.push_str("\n}");
    text
}

fn render_compact(request: &Value) -> String {
    let part = |part: &&str| format!("\"{part}\":{}", request.get(*part).unwrap_or(&Value::Null));
    format!("{{{}}}", PARTS.iter().map(part).collect::<Vec<_>>().join(","))
}

/// The parts of a request, in order.
const PARTS: [&str; 7] =
    ["model", "source", "output_max", "thinking", "tools", "system", "messages"];

/// Where two requests first differ, as a path into them.
fn find_first_difference(one: &Value, two: &Value, path: String) -> Option<String> {
    match (one, two) {
        (Value::Object(a), Value::Object(b)) => {
            for (name, value) in a {
                let below = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                match b.get(name) {
                    Some(other) => {
                        if let Some(found) = find_first_difference(value, other, below) {
                            return Some(found);
                        }
                    }
                    None => return Some(below),
                }
            }
            (a.len() != b.len()).then_some(path)
        }
        (Value::Array(a), Value::Array(b)) => {
            for (place, (value, other)) in a.iter().zip(b).enumerate() {
                if let Some(found) = find_first_difference(value, other, format!("{path}[{place}]"))
                {
                    return Some(found);
                }
            }
            (a.len() != b.len()).then(|| format!("{path}[{}]", a.len().min(b.len())))
        }
        _ => (one != two).then_some(path),
    }
}

fn describe_difference(first: Option<&str>, shared: usize, one: &str) -> String {
    let Some(first) = first else { return "Both are the same, byte for byte.".to_owned() };
    let percent = shared.saturating_mul(100) / one.len().max(1);
    match first.starts_with("messages[") {
        true => format!(
            "The first difference is at {first}. The {percent} % before it is the same, so a cache can hold it."
        ),
        false => format!(
            "The first difference is at {first}, before the messages: a cache holds nothing behind it."
        ),
    }
}

const REQUEST_BYTES_MAX: usize = 4 << 20;
const DIFF_LINES_MAX: usize = 4_000;
