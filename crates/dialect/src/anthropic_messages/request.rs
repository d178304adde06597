//! Writes a request down. Field order is fixed and every message is written on its own, without
//! cache markers, so that its bytes can be made once and reused; the markers are spliced in when
//! the body is put together, because they move on with every request.

use alloc::format;
use alloc::vec::Vec;

use windlass_vocabulary::{Effort, ModelRequest, ThinkingMode};

use crate::Encoded;
use crate::law::Law;
use crate::normalize::normalize;
use crate::projection::{AnswerPart, AnsweredCall, MediaPart, Turn, UserPart};
use crate::tools::{self, LegalTool};
use crate::write::{Comma, field, list, number, raw, string};

/// The whole body.
pub(super) fn encode(request: &ModelRequest, law: &Law) -> Encoded {
    let (projection, mut notes) = normalize(request, law);
    let messages: Vec<Written> = projection.turns().map(|turn| Written::of(&turn)).collect();
    let tools = tools::legal(&request.tools, law, &mut notes);
    let mut body = Vec::with_capacity(
        BODY_HEAD_BYTES + messages.iter().map(|message| message.bytes.len() + 48).sum::<usize>(),
    );
    body.push(b'{');
    field(&mut body, "model", request.model.as_str());
    raw(&mut body, ",\"max_tokens\":");
    number(&mut body, request.output_max.0.max(1));
    raw(&mut body, ",\"stream\":true");
    write_reasoning(&mut body, request);
    let mut marks = law.cache_marks_max;
    let system: Vec<&str> = request
        .system
        .iter()
        .map(|piece| &**piece)
        .filter(|piece| !piece.trim().is_empty())
        .collect();
    if !tools.is_empty() {
        raw(&mut body, ",\"tools\":");
        let marks_last = system.is_empty() && spend(&mut marks);
        write_tools(&mut body, &tools, marks_last);
    }
    if !system.is_empty() {
        raw(&mut body, ",\"system\":");
        let marked = spend(&mut marks).then_some(system.len() - 1);
        list(&mut body, system.iter().enumerate(), |out, (position, piece)| {
            let start = out.len();
            write_text(out, piece);
            if marked == Some(position) {
                splice_mark(out, start);
            }
        });
    }
    raw(&mut body, ",\"messages\":");
    write_messages(&mut body, &messages, marks.min(MESSAGE_MARKS));
    body.push(b'}');
    let refusal = law.refusal(&projection, body.len());
    Encoded { body, notes: notes.into_lines(), refusal }
}

fn write_tools(out: &mut Vec<u8>, tools: &[LegalTool<'_>], marks_last: bool) {
    list(out, tools.iter().enumerate(), |out, (position, tool)| {
        let start = out.len();
        out.push(b'{');
        field(out, "name", tool.name);
        out.push(b',');
        field(out, "description", tool.description);
        raw(out, ",\"input_schema\":");
        raw(out, &tool.schema);
        out.push(b'}');
        if marks_last && position + 1 == tools.len() {
            splice_mark(out, start);
        }
    });
}

fn spend(marks: &mut usize) -> bool {
    let has_one = *marks > 0;
    *marks = marks.saturating_sub(1);
    has_one
}

fn write_reasoning(body: &mut Vec<u8>, request: &ModelRequest) {
    if request.repair.without_reasoning {
        // Whatever was wrong with the reasoning must not be asked for again.
        return;
    }
    match request.thinking {
        ThinkingMode::Unset => {}
        ThinkingMode::Adaptive => raw(body, ",\"thinking\":{\"type\":\"adaptive\"}"),
        ThinkingMode::Disabled => raw(body, ",\"thinking\":{\"type\":\"disabled\"}"),
    }
    let effort = match request.effort {
        Effort::Low => "low",
        Effort::Medium => "medium",
        // The provider's own default; naming it would only break a cached prefix.
        Effort::High => return,
        Effort::Xhigh => "xhigh",
        Effort::Max => "max",
    };
    raw(body, &format!(",\"output_config\":{{\"effort\":\"{effort}\"}}"));
}

/// The last messages of the user's side carry the marks: the newest so that this request is
/// cached, the one before it so that a long reply does not lose sight of the last cached place.
fn write_messages(body: &mut Vec<u8>, messages: &[Written], marks: usize) {
    let user = messages.iter().enumerate().filter(|(_, message)| message.is_user);
    let marked: Vec<usize> = user.rev().take(marks).map(|(position, _)| position).collect();
    list(body, messages.iter().enumerate(), |out, (position, message)| {
        message.write(out, marked.contains(&position));
    });
}

/// One message as bytes, made once.
struct Written {
    is_user: bool,
    bytes: Vec<u8>,
}

impl Written {
    fn of(turn: &Turn<'_, '_>) -> Self {
        Self { is_user: matches!(turn, Turn::User { .. }), bytes: encode_message(turn) }
    }

    fn write(&self, out: &mut Vec<u8>, is_marked: bool) {
        // Every message ends in the braces of its last block, of its list, and its own.
        let end = self.bytes.len().saturating_sub(MESSAGE_END.len());
        match self.bytes.split_at_checked(end) {
            Some((head, tail)) if is_marked && tail == MESSAGE_END.as_bytes() => {
                out.extend_from_slice(head);
                raw(out, MARK);
                out.extend_from_slice(tail);
            }
            _ => out.extend_from_slice(&self.bytes),
        }
    }
}

/// Puts a mark into the object that begins at `start` and ends the buffer.
fn splice_mark(out: &mut Vec<u8>, start: usize) {
    if out.len() > start + 2 && out.pop() == Some(b'}') {
        raw(out, MARK);
        out.push(b'}');
    }
}

/// One message, without cache markers. The same message is always the same bytes.
#[must_use]
pub fn encode_message(turn: &Turn<'_, '_>) -> Vec<u8> {
    let mut out = Vec::new();
    match turn {
        Turn::User { calls, parts } => {
            raw(&mut out, "{\"role\":\"user\",\"content\":[");
            let mut comma = Comma::default();
            for call in calls {
                comma.before(&mut out);
                write_result(&mut out, call);
            }
            for part in *parts {
                comma.before(&mut out);
                write_user_part(&mut out, part);
            }
        }
        Turn::Answer(exchange) => {
            raw(&mut out, "{\"role\":\"assistant\",\"content\":[");
            let mut comma = Comma::default();
            for part in exchange.answer() {
                comma.before(&mut out);
                write_answer_part(&mut out, part);
            }
        }
    }
    raw(&mut out, "]}");
    out
}

fn write_answer_part(out: &mut Vec<u8>, part: &AnswerPart<'_>) {
    match part {
        AnswerPart::Text(text) => write_text(out, text),
        AnswerPart::Thinking(thinking, _) => {
            raw(out, "{\"type\":\"thinking\",");
            field(out, "thinking", &thinking.text);
            out.push(b',');
            field(out, "signature", thinking.signature.as_deref().unwrap_or_default());
            out.push(b'}');
        }
        AnswerPart::Provider(block, _) => raw(out, block.json.as_str().trim()),
        AnswerPart::Call(call) => {
            raw(out, "{\"type\":\"tool_use\",");
            field(out, "id", call.id());
            out.push(b',');
            field(out, "name", call.name());
            raw(out, ",\"input\":");
            raw(out, call.input());
            out.push(b'}');
        }
    }
}

fn write_result(out: &mut Vec<u8>, call: &AnsweredCall<'_>) {
    raw(out, "{\"type\":\"tool_result\",");
    field(out, "tool_use_id", call.id());
    raw(out, ",\"content\":");
    list(out, call.result().parts(), write_user_part);
    if call.result().is_error() {
        raw(out, ",\"is_error\":true");
    }
    out.push(b'}');
}

fn write_user_part(out: &mut Vec<u8>, part: &UserPart<'_>) {
    match part {
        UserPart::Text(text) => write_text(out, text),
        UserPart::Media(item) => write_media(out, item),
    }
}

fn write_text(out: &mut Vec<u8>, text: &str) {
    raw(out, "{\"type\":\"text\",");
    field(out, "text", text);
    out.push(b'}');
}

fn write_media(out: &mut Vec<u8>, item: &MediaPart<'_>) {
    let kind = if item.media_type.starts_with("image/") { "image" } else { "document" };
    raw(out, "{\"type\":\"");
    raw(out, kind);
    raw(out, "\",\"source\":{\"type\":\"base64\",\"media_type\":");
    string(out, item.media_type);
    // Checked to be base64 by the step before, so there is nothing to escape.
    raw(out, ",\"data\":\"");
    raw(out, item.data);
    raw(out, "\"}}");
}

const MARK: &str = ",\"cache_control\":{\"type\":\"ephemeral\"}";

const MESSAGE_END: &str = "}]}";

/// Marks spent on messages.
const MESSAGE_MARKS: usize = 2;

const BODY_HEAD_BYTES: usize = 16 * 1024;
