//! The wires the server supports: parses requests and encodes answers.
//!
//! One file per wire, named as in the vocabulary. Written from the providers' documentation and
//! independently of the client, so that the same mistake is not made twice.

mod anthropic_messages;
mod anthropic_rules;
mod gemini;
mod openai_chat;
mod openai_responses;
mod route;

use serde_json::{Value, json};
use windlass_vocabulary::{Usage, WireFormat};

use crate::script::{AnswerContent, ScriptedAnswer, ScriptedToolCall, StopReason};

pub(crate) use route::{RequestRoute, SERVED, error_wire, route_request};

/// What a script can examine of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct IncomingModelRequest {
    pub(crate) model: String,
    /// Is the answer wanted as an event stream?
    pub(crate) streaming: bool,
    /// All text sent since the model's last answer, tool results included.
    pub(crate) new_text: String,
    /// The tool results among it.
    pub(crate) tool_results: String,
    /// Names of the offered tools.
    pub(crate) tool_names: Vec<String>,
}

impl IncomingModelRequest {
    fn add_text(&mut self, text: &str) {
        self.new_text.push_str(text);
        self.new_text.push('\n');
    }

    fn add_tool_result(&mut self, text: &str) {
        self.add_text(text);
        self.tool_results.push_str(text);
        self.tool_results.push('\n');
    }

    /// A message of the model: everything before it was answered.
    fn clear_answered(&mut self) {
        self.new_text.clear();
        self.tool_results.clear();
    }
}

/// An answer to be encoded for a wire.
pub(crate) struct WireReply<'a> {
    /// The number of the answer; ids are derived from it.
    pub(crate) number: u64,
    pub(crate) model: &'a str,
    pub(crate) answer: &'a ScriptedAnswer,
    pub(crate) usage: Usage,
}

/// The blocks of an answer. A raw answer has none, because it is not encoded.
struct AnswerBlocks<'a> {
    thinking: &'a str,
    text: &'a str,
    tools: &'a [ScriptedToolCall],
    text_after: &'a str,
}

impl<'a> WireReply<'a> {
    fn blocks(&self) -> AnswerBlocks<'a> {
        match &self.answer.content {
            AnswerContent::Blocks { thinking, text, tools, text_after } => {
                AnswerBlocks { thinking, text, tools, text_after }
            }
            AnswerContent::Raw(_) => {
                AnswerBlocks { thinking: "", text: "", tools: &[], text_after: "" }
            }
        }
    }

    fn stop_reason(&self) -> StopReason {
        self.answer.stop.unwrap_or(if self.blocks().tools.is_empty() {
            StopReason::EndTurn
        } else {
            StopReason::ToolUse
        })
    }

    fn call_id(&self, prefix: &str, index: usize, tool: &ScriptedToolCall) -> String {
        tool.id.clone().unwrap_or_else(|| format!("{prefix}_{}_{index}", self.number))
    }
}

impl AnswerBlocks<'_> {
    /// The parts of the answer that are plain text, for wires that keep them in one place.
    fn joined_text(&self) -> String {
        format!("{}{}", self.text, self.text_after)
    }
}

/// Parses a request. The error says what in the body is invalid for this wire.
pub(crate) fn parse_request(
    wire: WireFormat,
    body: &Value,
    lenient: bool,
) -> Result<IncomingModelRequest, String> {
    let incoming = match wire {
        WireFormat::AnthropicMessages => {
            if !lenient && let Some(problem) = anthropic_rules::find_violation(body) {
                return Err(problem);
            }
            anthropic_messages::parse_request(body)
        }
        WireFormat::OpenaiResponses => openai_responses::parse_request(body),
        WireFormat::OpenaiChat => openai_chat::parse_request(body),
        WireFormat::Gemini => gemini::parse_request(body),
    }?;
    Ok(IncomingModelRequest {
        tool_names: body.get("tools").map(collect_tool_names).unwrap_or_default(),
        ..incoming
    })
}

/// The names of tools, however deep a wire wraps them; what they take is not looked at.
fn collect_tool_names(tools: &Value) -> Vec<String> {
    match tools {
        Value::Array(tools) => tools.iter().flat_map(collect_tool_names).collect(),
        Value::Object(tool) => match tool.get("name").and_then(Value::as_str) {
            Some(name) => vec![name.to_owned()],
            None => ["function", "functionDeclarations"]
                .iter()
                .filter_map(|key| tool.get(*key))
                .flat_map(collect_tool_names)
                .collect(),
        },
        _ => Vec::new(),
    }
}

/// The answer as the events of a stream.
pub(crate) fn encode_events(wire: WireFormat, reply: &WireReply<'_>) -> Vec<Vec<u8>> {
    if let AnswerContent::Raw(stream) = &reply.answer.content {
        return split_raw_events(stream);
    }
    match wire {
        WireFormat::AnthropicMessages => anthropic_messages::encode_events(reply),
        WireFormat::OpenaiResponses => openai_responses::encode_events(reply),
        WireFormat::OpenaiChat => openai_chat::encode_events(reply),
        WireFormat::Gemini => gemini::encode_events(reply),
    }
}

/// The answer without streaming.
pub(crate) fn encode_whole(wire: WireFormat, reply: &WireReply<'_>) -> Vec<u8> {
    if let AnswerContent::Raw(bytes) = &reply.answer.content {
        return bytes.clone();
    }
    let value = match wire {
        WireFormat::AnthropicMessages => anthropic_messages::encode_whole(reply),
        WireFormat::OpenaiResponses => openai_responses::encode_whole(reply),
        WireFormat::OpenaiChat => openai_chat::encode_whole(reply),
        WireFormat::Gemini => gemini::encode_whole(reply),
    };
    value.to_string().into_bytes()
}

/// The provider's error object; without a kind, the usual one for the status.
pub(crate) fn encode_error(
    wire: WireFormat,
    status: u16,
    kind: Option<&str>,
    message: &str,
) -> Value {
    match wire {
        WireFormat::AnthropicMessages => anthropic_messages::encode_error(status, kind, message),
        WireFormat::OpenaiResponses | WireFormat::OpenaiChat => {
            let kind = kind.unwrap_or(openai_error_kind(status));
            json!({"error": {"message": message, "type": kind, "param": null, "code": kind}})
        }
        WireFormat::Gemini => gemini::encode_error(status, kind, message),
    }
}

/// An error in the middle of a stream.
pub(crate) fn encode_error_event(
    wire: WireFormat,
    reply: &WireReply<'_>,
    kind: &str,
    message: &str,
) -> Vec<u8> {
    match wire {
        WireFormat::AnthropicMessages => {
            encode_sse(Some("error"), &anthropic_messages::encode_error(500, Some(kind), message))
        }
        WireFormat::OpenaiResponses => openai_responses::encode_failed_event(reply, kind, message),
        WireFormat::OpenaiChat => encode_sse(None, &encode_error(wire, 500, Some(kind), message)),
        WireFormat::Gemini => encode_sse(None, &gemini::encode_error(500, Some(kind), message)),
    }
}

/// A keep-alive event, or a comment if the wire has none.
pub(crate) fn encode_ping(wire: WireFormat) -> Vec<u8> {
    match wire {
        WireFormat::AnthropicMessages => encode_sse(Some("ping"), &json!({"type": "ping"})),
        WireFormat::OpenaiResponses | WireFormat::OpenaiChat | WireFormat::Gemini => {
            b": ping\n\n".to_vec()
        }
    }
}

/// The answer to a token count request: estimates four bytes per token.
pub(crate) fn encode_token_count(wire: WireFormat, body_bytes: usize) -> Value {
    let tokens = body_bytes.div_ceil(4);
    match wire {
        WireFormat::Gemini => json!({"totalTokens": tokens}),
        WireFormat::AnthropicMessages | WireFormat::OpenaiResponses | WireFormat::OpenaiChat => {
            json!({"input_tokens": tokens})
        }
    }
}

fn openai_error_kind(status: u16) -> &'static str {
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
fn encode_sse(name: Option<&str>, payload: &Value) -> Vec<u8> {
    let name = name.map(|name| format!("event: {name}\n")).unwrap_or_default();
    format!("{name}data: {payload}\n\n").into_bytes()
}

/// Text in pieces of some characters each; nothing for nothing.
fn split_into_pieces(text: &str, characters: usize) -> Vec<&str> {
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
fn split_raw_events(stream: &[u8]) -> Vec<Vec<u8>> {
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
fn parse_arguments(input: &str) -> Value {
    if input.is_empty() {
        return json!({});
    }
    serde_json::from_str(input).unwrap_or_else(|_| Value::from(input))
}

/// The text in a string, a list of parts with text, or a part.
fn collect_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(collect_text).collect::<Vec<_>>().join("\n"),
        Value::Object(part) => part.get("text").map(collect_text).unwrap_or_default(),
        _ => String::new(),
    }
}

/// Sets a field of an object.
fn set_field(object: &mut Value, key: &str, value: impl Into<Value>) {
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
