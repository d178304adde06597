//! From a request to what is to be done about it. Chooses the answer, records the request, touches
//! no socket.

use serde_json::Value;
use windlass_vocabulary::{Source, Tokens, Usage, Wire};

use super::http::Request;
use super::record::{Recorded, kept_body};
use super::stage::{Cue, Stage, shortened};
use crate::fault::Fault;
use crate::plan::{Act, Words, plan};
use crate::script::Speech;
use crate::wire::{self, Asked, Reply, Route, SERVED};

/// What is to be done about a request.
#[derive(Debug, PartialEq)]
pub(super) enum Response {
    /// Send this.
    Whole { status: u16, headers: Vec<(String, String)>, body: Vec<u8> },
    /// Send a head that promises chunks, then do these things.
    Acts { headers: Vec<(String, String)>, acts: Vec<Act> },
    /// Close without a byte.
    Drop { reset: bool },
}

/// Decides about one request.
pub(super) fn respond(stage: &Stage, request: &Request) -> Response {
    let number = stage.arrive();
    let (place, mut response) = decide(stage, request);
    stage.keep(Recorded {
        number,
        method: request.method.clone(),
        path: request.target.clone(),
        headers: request.headers.clone(),
        body: kept_body(&request.body),
        body_bytes: request.body.len(),
        answer: place,
    });
    if let Response::Whole { headers, .. } | Response::Acts { headers, .. } = &mut response {
        headers.push(("request-id".to_owned(), format!("req_{number}")));
    }
    response
}

fn decide(stage: &Stage, request: &Request) -> (Option<usize>, Response) {
    let (wire, model, streaming) = match wire::route(&request.method, request.path()) {
        Route::Answer { wire, model, streaming } => (wire, model, streaming),
        Route::Count(wire) => {
            return (None, json_response(200, &wire::count(wire, request.body.len())));
        }
        Route::WrongMethod => return (None, not_served(405, request)),
        Route::Unknown => return (None, not_served(404, request)),
    };
    let mut asked = match understood(wire, stage, request) {
        Ok(asked) => asked,
        Err(problem) => return (None, refused(wire, 400, &format!("rehearsal: {problem}"))),
    };
    asked.model = model.unwrap_or(asked.model);
    asked.streaming = streaming.unwrap_or(asked.streaming);
    match stage.choose(&asked, source(request)) {
        Some(cue) => {
            let response = answered(wire, stage, request, &asked, &cue);
            (Some(cue.place), response)
        }
        None => (None, refused(wire, 400, &no_answer(stage, &asked))),
    }
}

fn understood(wire: Wire, stage: &Stage, request: &Request) -> Result<Asked, String> {
    let body: Value = serde_json::from_slice(&request.body)
        .map_err(|problem| format!("the body is not JSON: {problem}"))?;
    wire::asked(wire, &body, stage.script().lenient)
}

/// Who asks. Windlass says so in a header of its own when it speaks to a rehearsal.
fn source(request: &Request) -> Option<Source> {
    let name = request.header("x-windlass-source")?;
    Source::all().find(|source| source.name() == name)
}

fn answered(wire: Wire, stage: &Stage, request: &Request, asked: &Asked, cue: &Cue) -> Response {
    let answer = &cue.answer;
    let reply = Reply {
        number: cue.number,
        model: stage.script().model.as_deref().unwrap_or(&asked.model),
        answer,
        usage: answer.usage.unwrap_or_else(|| estimate(request, &answer.speech)),
    };
    match &answer.fault {
        Some(Fault::Refuse { status, headers, body }) => {
            refusal(wire, *status, headers, body.as_deref())
        }
        Some(Fault::DropConnection { reset }) => Response::Drop { reset: *reset },
        Some(Fault::Html { status }) => {
            let headers = vec![header("content-type", "text/html; charset=utf-8")];
            Response::Whole { status: *status, headers, body: PAGE.as_bytes().to_vec() }
        }
        Some(Fault::BrokenGzip) => {
            let headers = vec![header("content-type", STREAM), header("content-encoding", "gzip")];
            Response::Whole { status: 200, headers, body: BROKEN_GZIP.to_vec() }
        }
        Some(Fault::ErrorEvent { kind, message, .. }) if !asked.streaming => {
            json_response(500, &wire::error(wire, 500, Some(kind), message))
        }
        fault => {
            let error = match fault {
                Some(Fault::ErrorEvent { kind, message, .. }) => {
                    wire::error_event(wire, &reply, kind, message)
                }
                _ => Vec::new(),
            };
            let (events, kind) = if asked.streaming {
                (wire::events(wire, &reply), STREAM)
            } else {
                (vec![wire::whole(wire, &reply)], "application/json")
            };
            let words = Words { ping: wire::ping(wire), error };
            let acts = plan(events, fault.as_ref(), answer.pace, words);
            let headers = vec![header("content-type", kind), header("cache-control", "no-cache")];
            Response::Acts { headers, acts }
        }
    }
}

fn refusal(wire: Wire, status: u16, extra: &[(String, String)], body: Option<&str>) -> Response {
    let message = format!("rehearsed refusal with status {status}");
    let body = match body {
        Some(text) => text.to_owned(),
        None => wire::error(wire, status, None, &message).to_string(),
    };
    let mut headers = extra.to_vec();
    if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
        headers.push(header("content-type", "application/json"));
    }
    Response::Whole { status, headers, body: body.into_bytes() }
}

/// A refusal of the rehearsal's own, which no client should try again.
fn refused(wire: Wire, status: u16, message: &str) -> Response {
    let mut response = json_response(status, &wire::error(wire, status, None, message));
    if let Response::Whole { headers, .. } = &mut response {
        headers.push(header("x-should-retry", "false"));
    }
    response
}

fn not_served(status: u16, request: &Request) -> Response {
    let asked = format!("{} {}", request.method, shortened(request.path()));
    let message = format!("rehearsal: {asked} is not served; served are {SERVED}");
    refused(Wire::AnthropicMessages, status, &message)
}

fn no_answer(stage: &Stage, asked: &Asked) -> String {
    let left = stage.answers_left();
    let more = left.len().saturating_sub(LEFT_SHOWN);
    let mut shown = left.into_iter().take(LEFT_SHOWN).collect::<Vec<_>>().join("; ");
    if shown.is_empty() {
        shown.push_str("none");
    }
    if more > 0 {
        shown.push_str(&format!("; and {more} more"));
    }
    let said = asked.said.trim();
    format!(
        "rehearsal: no answer left for model {:?}, said last: {:?}; answers left: {shown}",
        asked.model,
        shortened(said),
    )
}

/// A quarter token for each byte, and never nothing.
fn estimate(request: &Request, speech: &Speech) -> Usage {
    let said = match speech {
        Speech::Blocks { thinking, text, tools, text_after } => {
            let tools: usize = tools.iter().map(|tool| tool.name.len() + tool.input.len()).sum();
            thinking.len() + text.len() + tools + text_after.len()
        }
        Speech::Raw(_) => 0,
    };
    let tokens = |bytes: usize| Tokens(u64::try_from(bytes.div_ceil(4).max(1)).unwrap_or(u64::MAX));
    Usage { input: tokens(request.body.len()), output: tokens(said), ..Usage::default() }
}

fn json_response(status: u16, body: &Value) -> Response {
    let headers = vec![header("content-type", "application/json")];
    Response::Whole { status, headers, body: body.to_string().into_bytes() }
}

fn header(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

const STREAM: &str = "text/event-stream";
const LEFT_SHOWN: usize = 5;
const PAGE: &str = "<!DOCTYPE html>\n<html><head><title>Sign in</title></head>\
<body>This page is rehearsed: it stands where a model's answer should be.</body></html>\n";
/// A sound header, then a block of a type that does not exist.
const BROKEN_GZIP: &[u8] =
    &[0x1f, 0x8b, 0x08, 0, 0, 0, 0, 0, 0, 0xff, 0x07, 0xff, 0xff, 0xff, 0xff, 0xff];
