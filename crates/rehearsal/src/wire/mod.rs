//! The languages the server speaks: which request means what, and how an answer is put.
//!
//! One file per wire, named as in the vocabulary. Written from the providers' documents and apart
//! from the crate that speaks to them, so that a mistake there is not made twice.

mod anthropic_law;
mod anthropic_messages;
mod gemini;
mod openai_chat;
mod openai_responses;
mod route;

use serde_json::{Value, json};
use windlass_vocabulary::{Usage, Wire};

use crate::script::{Answer, Speech, StopReason, ToolRequest};

pub(crate) use route::{Route, SERVED, route};

/// What a request asks, as far as a script can tell requests apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Asked {
    /// The model asked for.
    pub(crate) model: String,
    /// Is the answer wanted as an event stream?
    pub(crate) streaming: bool,
    /// All that was said to the model since its last answer, tool results included.
    pub(crate) said: String,
    /// The tool results among it.
    pub(crate) results: String,
    /// Names of the tools on offer.
    pub(crate) tools: Vec<String>,
}

impl Asked {
    fn hear(&mut self, text: &str) {
        self.said.push_str(text);
        self.said.push('\n');
    }

    fn hear_result(&mut self, text: &str) {
        self.hear(text);
        self.results.push_str(text);
        self.results.push('\n');
    }

    /// The model spoke: what was said before is answered.
    fn forget(&mut self) {
        self.said.clear();
        self.results.clear();
    }
}

/// An answer about to be put in a wire's words.
pub(crate) struct Reply<'a> {
    /// Counts the answers given; ids are made of it.
    pub(crate) number: u64,
    pub(crate) model: &'a str,
    pub(crate) answer: &'a Answer,
    pub(crate) usage: Usage,
}

/// The blocks of an answer. A raw answer has none: it is never put in words.
struct Blocks<'a> {
    thinking: &'a str,
    text: &'a str,
    tools: &'a [ToolRequest],
    text_after: &'a str,
}

impl<'a> Reply<'a> {
    fn blocks(&self) -> Blocks<'a> {
        match &self.answer.speech {
            Speech::Blocks { thinking, text, tools, text_after } => {
                Blocks { thinking, text, tools, text_after }
            }
            Speech::Raw(_) => Blocks { thinking: "", text: "", tools: &[], text_after: "" },
        }
    }

    fn stop(&self) -> StopReason {
        self.answer.stop.unwrap_or(if self.blocks().tools.is_empty() {
            StopReason::EndTurn
        } else {
            StopReason::ToolUse
        })
    }

    fn call_id(&self, prefix: &str, index: usize, tool: &ToolRequest) -> String {
        tool.id.clone().unwrap_or_else(|| format!("{prefix}_{}_{index}", self.number))
    }
}

impl Blocks<'_> {
    /// The parts of the answer that are plain text, for wires that keep them in one place.
    fn texts(&self) -> String {
        format!("{}{}", self.text, self.text_after)
    }
}

/// Reads a request. The error says what in the body is not as this wire demands.
pub(crate) fn asked(wire: Wire, body: &Value, lenient: bool) -> Result<Asked, String> {
    let asked = match wire {
        Wire::AnthropicMessages => {
            if !lenient && let Some(problem) = anthropic_law::breach(body) {
                return Err(problem);
            }
            anthropic_messages::asked(body)
        }
        Wire::OpenaiResponses => openai_responses::asked(body),
        Wire::OpenaiChat => openai_chat::asked(body),
        Wire::Gemini => gemini::asked(body),
    }?;
    Ok(Asked { tools: body.get("tools").map(names).unwrap_or_default(), ..asked })
}

/// The names of tools, however deep a wire wraps them; what they take is not looked at.
fn names(tools: &Value) -> Vec<String> {
    match tools {
        Value::Array(tools) => tools.iter().flat_map(names).collect(),
        Value::Object(tool) => match tool.get("name").and_then(Value::as_str) {
            Some(name) => vec![name.to_owned()],
            None => ["function", "functionDeclarations"]
                .iter()
                .filter_map(|key| tool.get(*key))
                .flat_map(names)
                .collect(),
        },
        _ => Vec::new(),
    }
}

/// The answer as the events of a stream.
pub(crate) fn events(wire: Wire, reply: &Reply<'_>) -> Vec<Vec<u8>> {
    if let Speech::Raw(stream) = &reply.answer.speech {
        return split(stream);
    }
    match wire {
        Wire::AnthropicMessages => anthropic_messages::events(reply),
        Wire::OpenaiResponses => openai_responses::events(reply),
        Wire::OpenaiChat => openai_chat::events(reply),
        Wire::Gemini => gemini::events(reply),
    }
}

/// The answer in one piece, for a request that did not want a stream.
pub(crate) fn whole(wire: Wire, reply: &Reply<'_>) -> Vec<u8> {
    if let Speech::Raw(bytes) = &reply.answer.speech {
        return bytes.clone();
    }
    let value = match wire {
        Wire::AnthropicMessages => anthropic_messages::whole(reply),
        Wire::OpenaiResponses => openai_responses::whole(reply),
        Wire::OpenaiChat => openai_chat::whole(reply),
        Wire::Gemini => gemini::whole(reply),
    };
    value.to_string().into_bytes()
}

/// The provider's error object; without a kind, the usual one for the status.
pub(crate) fn error(wire: Wire, status: u16, kind: Option<&str>, message: &str) -> Value {
    match wire {
        Wire::AnthropicMessages => anthropic_messages::error(status, kind, message),
        Wire::OpenaiResponses | Wire::OpenaiChat => {
            let kind = kind.unwrap_or(openai_kind(status));
            json!({"error": {"message": message, "type": kind, "param": null, "code": kind}})
        }
        Wire::Gemini => gemini::error(status, kind, message),
    }
}

/// An error in the middle of a stream.
pub(crate) fn error_event(wire: Wire, reply: &Reply<'_>, kind: &str, message: &str) -> Vec<u8> {
    match wire {
        Wire::AnthropicMessages => {
            sse(Some("error"), &anthropic_messages::error(500, Some(kind), message))
        }
        Wire::OpenaiResponses => openai_responses::failed(reply, kind, message),
        Wire::OpenaiChat => sse(None, &error(wire, 500, Some(kind), message)),
        Wire::Gemini => sse(None, &gemini::error(500, Some(kind), message)),
    }
}

/// A sign of life in the middle of a stream. Where the wire has no word for it, a comment.
pub(crate) fn ping(wire: Wire) -> Vec<u8> {
    match wire {
        Wire::AnthropicMessages => sse(Some("ping"), &json!({"type": "ping"})),
        _ => b": ping\n\n".to_vec(),
    }
}

/// The answer to a request to count tokens. Four bytes a token is near enough for a rehearsal.
pub(crate) fn count(wire: Wire, body_bytes: usize) -> Value {
    let tokens = body_bytes.div_ceil(4);
    match wire {
        Wire::Gemini => json!({"totalTokens": tokens}),
        _ => json!({"input_tokens": tokens}),
    }
}

fn openai_kind(status: u16) -> &'static str {
    match status {
        400 => "invalid_request_error",
        401 => "invalid_api_key",
        403 => "permission_denied",
        404 => "model_not_found",
        429 => "rate_limit_exceeded",
        503 => "server_is_overloaded",
        _ => "server_error",
    }
}

/// One event in the framing of server-sent events.
fn sse(name: Option<&str>, payload: &Value) -> Vec<u8> {
    let name = name.map(|name| format!("event: {name}\n")).unwrap_or_default();
    format!("{name}data: {payload}\n\n").into_bytes()
}

/// Text in pieces of some characters each; nothing for nothing.
fn pieces(text: &str, characters: usize) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let at = rest.char_indices().nth(characters.max(1)).map_or(rest.len(), |(at, _)| at);
        let (part, tail) = rest.split_at(at);
        parts.push(part);
        rest = tail;
    }
    parts
}

/// A raw stream at its empty lines, so that faults can count its events.
fn split(stream: &[u8]) -> Vec<Vec<u8>> {
    let mut events = Vec::new();
    let mut event = Vec::new();
    for byte in stream {
        event.push(*byte);
        if [&b"\n\n"[..], b"\r\n\r\n", b"\r\r"].iter().any(|end| event.ends_with(end)) {
            events.push(std::mem::take(&mut event));
        }
    }
    if !event.is_empty() {
        events.push(event);
    }
    events
}

/// Arguments as a JSON value, for wires that send them so. Nonsense becomes a string.
fn arguments(input: &str) -> Value {
    if input.is_empty() {
        return json!({});
    }
    serde_json::from_str(input).unwrap_or_else(|_| Value::from(input))
}

/// The text in a string, a list of parts with text, or a part.
fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(text_of).collect::<Vec<_>>().join("\n"),
        Value::Object(part) => part.get("text").map(text_of).unwrap_or_default(),
        _ => String::new(),
    }
}

/// Sets a field of an object.
fn set(object: &mut Value, key: &str, value: impl Into<Value>) {
    if let Value::Object(fields) = object {
        fields.insert(key.to_owned(), value.into());
    }
}

fn str_at<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn list_at<'a>(value: &'a Value, key: &str) -> Result<&'a Vec<Value>, String> {
    value.get(key).and_then(Value::as_array).ok_or_else(|| format!("`{key}` must be a list"))
}
