//! Plans the response to a request. Selects the answer and logs the request, but touches no socket.

use serde_json::Value;
use windlass_http_request::HttpRequest;
use windlass_vocabulary::{RequestSource, Tokens, Usage, WireFormat};

use super::request_log::{ReceivedRequest, truncate_body};
use super::script_player::{ChosenAnswer, ScriptPlayer, shorten};
use crate::fault::ScriptedFault;
use crate::script::AnswerContent;
use crate::socket_plan::{FaultEvents, SocketAction, plan_stream};
use crate::wire::{self, IncomingModelRequest, RequestRoute, SERVED, WireReply};

/// The response to a request.
#[derive(Debug, PartialEq)]
pub(super) enum PlannedResponse {
    Whole {
        status: u16,
        headers: Vec<(String, String)>,
        body: Vec<u8>,
    },
    /// Send a chunked head, then perform these actions.
    Actions {
        headers: Vec<(String, String)>,
        acts: Vec<SocketAction>,
    },
    /// Close without an answer.
    Drop {
        reset: bool,
    },
}

pub(super) fn plan_response(player: &ScriptPlayer, request: &HttpRequest) -> PlannedResponse {
    let number = player.next_request_number();
    let (position, mut response) = choose_response(player, request);
    player.log_request(ReceivedRequest {
        number,
        method: request.method.clone(),
        path: request.target.clone(),
        headers: request.headers.clone(),
        body: truncate_body(&request.body),
        body_bytes: request.body.len(),
        answer: position,
    });
    if let PlannedResponse::Whole { headers, .. } | PlannedResponse::Actions { headers, .. } =
        &mut response
    {
        headers.push(("request-id".to_owned(), format!("req_{number}")));
    }
    response
}

fn choose_response(
    player: &ScriptPlayer,
    request: &HttpRequest,
) -> (Option<usize>, PlannedResponse) {
    let (wire, model, streaming) = match wire::route_request(&request.method, request.path()) {
        RequestRoute::Answer { wire, model, streaming } => (wire, model, streaming),
        RequestRoute::Count(wire) => {
            return (
                None,
                build_json_response(200, &wire::encode_token_count(wire, request.body.len())),
            );
        }
        RequestRoute::WrongMethod => return (None, build_not_served(405, request)),
        RequestRoute::Unknown => return (None, build_not_served(404, request)),
    };
    let mut incoming = match parse_request(wire, player, request) {
        Ok(incoming) => incoming,
        Err(problem) => return (None, build_refusal(wire, 400, &format!("rehearsal: {problem}"))),
    };
    incoming.model = model.unwrap_or(incoming.model);
    incoming.streaming = streaming.unwrap_or(incoming.streaming);
    match player.choose_answer(&incoming, request_source(request)) {
        Some(chosen) => {
            let response = build_response(wire, player, request, &incoming, &chosen);
            (Some(chosen.position), response)
        }
        None => (None, build_refusal(wire, 400, &describe_no_answer(player, &incoming))),
    }
}

fn parse_request(
    wire: WireFormat,
    player: &ScriptPlayer,
    request: &HttpRequest,
) -> Result<IncomingModelRequest, String> {
    let body: Value = serde_json::from_slice(&request.body)
        .map_err(|problem| format!("the body is not JSON: {problem}"))?;
    wire::parse_request(wire, &body, player.script().lenient)
}

/// The part of Windlass that sent the request: it sets a header for rehearsals.
fn request_source(request: &HttpRequest) -> Option<RequestSource> {
    let name = request.header("x-windlass-source")?;
    RequestSource::all().find(|source| source.name() == name)
}

fn build_response(
    wire: WireFormat,
    player: &ScriptPlayer,
    request: &HttpRequest,
    incoming: &IncomingModelRequest,
    chosen: &ChosenAnswer,
) -> PlannedResponse {
    let answer = &chosen.answer;
    let reply = WireReply {
        number: chosen.number,
        model: player.script().model.as_deref().unwrap_or(&incoming.model),
        answer,
        usage: answer.usage.unwrap_or_else(|| estimate_usage(request, &answer.content)),
    };
    match &answer.fault {
        Some(ScriptedFault::Refuse { status, headers, body }) => {
            build_fault_refusal(wire, *status, headers, body.as_deref())
        }
        Some(ScriptedFault::DropConnection { reset }) => PlannedResponse::Drop { reset: *reset },
        Some(ScriptedFault::Html { status }) => {
            let headers = vec![header("content-type", "text/html; charset=utf-8")];
            PlannedResponse::Whole { status: *status, headers, body: HTML_PAGE.as_bytes().to_vec() }
        }
        Some(ScriptedFault::BrokenGzip) => {
            let headers =
                vec![header("content-type", EVENT_STREAM_TYPE), header("content-encoding", "gzip")];
            PlannedResponse::Whole { status: 200, headers, body: BROKEN_GZIP.to_vec() }
        }
        Some(ScriptedFault::ErrorEvent { kind, message, .. }) if !incoming.streaming => {
            build_json_response(500, &wire::encode_error(wire, 500, Some(kind), message))
        }
        Some(ScriptedFault::ErrorEvent { kind, message, .. }) => {
            let error = wire::encode_error_event(wire, &reply, kind, message);
            build_stream(wire, &reply, incoming.streaming, error)
        }
        Some(
            ScriptedFault::CutAfterEvent { .. }
            | ScriptedFault::CutAfterByte { .. }
            | ScriptedFault::StallAfterEvent { .. }
            | ScriptedFault::MalformedAtEvent { .. }
            | ScriptedFault::Slow { .. },
        )
        | None => build_stream(wire, &reply, incoming.streaming, Vec::new()),
    }
}

/// The events of the answer with its fault applied. `error` is the event of a fault inside of the
/// stream.
fn build_stream(
    wire: WireFormat,
    reply: &WireReply<'_>,
    is_streaming: bool,
    error: Vec<u8>,
) -> PlannedResponse {
    let (events, content_type) = if is_streaming {
        (wire::encode_events(wire, reply), EVENT_STREAM_TYPE)
    } else {
        (vec![wire::encode_whole(wire, reply)], "application/json")
    };
    let fault_events = FaultEvents { ping: wire::encode_ping(wire), error };
    let acts = plan_stream(events, reply.answer.fault.as_ref(), reply.answer.pace, fault_events);
    let headers = vec![header("content-type", content_type), header("cache-control", "no-cache")];
    PlannedResponse::Actions { headers, acts }
}

fn build_fault_refusal(
    wire: WireFormat,
    status: u16,
    extra: &[(String, String)],
    body: Option<&str>,
) -> PlannedResponse {
    let message = format!("rehearsed refusal with status {status}");
    let body = match body {
        Some(text) => text.to_owned(),
        None => wire::encode_error(wire, status, None, &message).to_string(),
    };
    let mut headers = extra.to_vec();
    if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
        headers.push(header("content-type", "application/json"));
    }
    PlannedResponse::Whole { status, headers, body: body.into_bytes() }
}

/// An error of the rehearsal itself, which clients should not retry.
fn build_refusal(wire: WireFormat, status: u16, message: &str) -> PlannedResponse {
    let mut response =
        build_json_response(status, &wire::encode_error(wire, status, None, message));
    if let PlannedResponse::Whole { headers, .. } = &mut response {
        headers.push(header("x-should-retry", "false"));
    }
    response
}

fn build_not_served(status: u16, request: &HttpRequest) -> PlannedResponse {
    let incoming = format!("{} {}", request.method, shorten(request.path()));
    let message = format!("rehearsal: {incoming} is not served; use {SERVED}");
    build_refusal(WireFormat::AnthropicMessages, status, &message)
}

fn describe_no_answer(player: &ScriptPlayer, incoming: &IncomingModelRequest) -> String {
    let left = player.describe_unused_answers();
    let more = left.len().saturating_sub(UNUSED_SHOWN);
    let mut shown = left.into_iter().take(UNUSED_SHOWN).collect::<Vec<_>>().join("; ");
    if shown.is_empty() {
        shown.push_str("none");
    }
    if more > 0 {
        shown.push_str(&format!("; and {more} more"));
    }
    let new_text = incoming.new_text.trim();
    format!(
        "rehearsal: no answer left for model {:?}, said last: {:?}; answers left: {shown}",
        incoming.model,
        shorten(new_text),
    )
}

/// A quarter token per byte, at least one.
fn estimate_usage(request: &HttpRequest, content: &AnswerContent) -> Usage {
    let new_text = match content {
        AnswerContent::Blocks { thinking, text, tools, text_after } => {
            let tools: usize = tools.iter().map(|tool| tool.name.len() + tool.input.len()).sum();
            thinking.len() + text.len() + tools + text_after.len()
        }
        AnswerContent::Raw(_) => 0,
    };
    let tokens = |bytes: usize| Tokens(u64::try_from(bytes.div_ceil(4).max(1)).unwrap_or(u64::MAX));
    Usage { input: tokens(request.body.len()), output: tokens(new_text), ..Usage::default() }
}

fn build_json_response(status: u16, body: &Value) -> PlannedResponse {
    let headers = vec![header("content-type", "application/json")];
    PlannedResponse::Whole { status, headers, body: body.to_string().into_bytes() }
}

fn header(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

const EVENT_STREAM_TYPE: &str = "text/event-stream";
const UNUSED_SHOWN: usize = 5;
const HTML_PAGE: &str = "<!DOCTYPE html>\n<html><head><title>Sign in</title></head>\
<body>This page is rehearsed: it stands where a model's answer should be.</body></html>\n";
/// A sound header, then a block of a type that does not exist.
const BROKEN_GZIP: &[u8] =
    &[0x1f, 0x8b, 0x08, 0, 0, 0, 0, 0, 0, 0xff, 0x07, 0xff, 0xff, 0xff, 0xff, 0xff];
