//! Writes a request down. Field order is fixed and every message is written on its own, without
//! cache markers, so that its bytes can be made once and reused; the markers are spliced in when
//! the body is put together, because they move on with every request.

use alloc::format;
use alloc::vec::Vec;

use windlass_vocabulary::{Clearing, Effort, ModelRequest, ThinkingMode, Tokens};

use crate::law::Law;
use crate::origins::{Origins, Place};
use crate::projection::{AnswerPart, AnsweredCall, MediaPart, Turn, UserPart};
use crate::script::{Head, Script};
use crate::tools::LegalTool;
use crate::write::{Comma, field, list, number, raw, string};

/// How this wire writes.
pub(super) struct Letter;

impl Script for Letter {
    fn head(&self, request: &ModelRequest, law: &Law, tools: &[LegalTool<'_>]) -> Head {
        let mut body = Vec::from(*b"{");
        field(&mut body, "model", request.model.as_str());
        raw(&mut body, ",\"max_tokens\":");
        number(&mut body, request.output_max.0.max(1));
        raw(&mut body, ",\"stream\":true");
        write_reasoning(&mut body, request);
        write_clearing(&mut body, request);
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
            write_tools(&mut body, tools, marks_last);
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
        raw(&mut body, ",\"messages\":[");
        Head {
            bytes: body,
            messages: 0,
            marks: marks.min(MESSAGE_MARKS),
            mark: (MARK.as_bytes(), MESSAGE_END.as_bytes()),
        }
    }

    fn write(&self, turn: &Turn<'_, '_>, _: &ModelRequest, _: &Law, out: &mut Vec<u8>) {
        match turn {
            Turn::User { calls, parts } => {
                raw(out, "{\"role\":\"user\",\"content\":[");
                let mut comma = Comma::default();
                for call in calls {
                    comma.before(out);
                    write_result(out, call);
                }
                for part in *parts {
                    comma.before(out);
                    write_user_part(out, part);
                }
            }
            Turn::Answer(exchange) => {
                raw(out, "{\"role\":\"assistant\",\"content\":[");
                let mut comma = Comma::default();
                for part in exchange.answer() {
                    comma.before(out);
                    write_answer_part(out, part);
                }
            }
        }
        raw(out, "]}");
    }

    fn trace(&self, turn: &Turn<'_, '_>, places: &[Option<Place>], origins: &mut Origins) {
        origins.add_message(turn.result_places().chain(places.iter().copied()));
    }
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

/// The budget as the wire takes it: within its bounds, and for models that are not left to decide by
/// themselves, which are those up to 4.6.
fn budgeted(request: &ModelRequest, wanted: Tokens) -> Option<u64> {
    let most = request.output_max.0.checked_sub(1).filter(|most| *most >= BUDGET_MIN)?;
    takes_budget(request.model.as_str()).then(|| wanted.0.clamp(BUDGET_MIN, most))
}

/// `claude-sonnet-4-5-20250929` and `claude-3-7-sonnet-latest`, but not `claude-opus-4-7`. A number of
/// three digits or more is a date.
fn takes_budget(model: &str) -> bool {
    let Some((_, name)) = model.rsplit_once("claude-") else { return false };
    let mut numbers = name.split(['-', '.', '@']).filter_map(|part| part.parse::<u32>().ok());
    let small = |number: Option<u32>| number.filter(|number| *number < 100);
    match (small(numbers.next()), small(numbers.next())) {
        (Some(4), minor) => minor.unwrap_or(0) <= 6,
        (Some(3), minor) => minor.unwrap_or(0) >= 7,
        _ => false,
    }
}

/// The least a budget may be.
const BUDGET_MIN: u64 = 1_024;

fn write_reasoning(body: &mut Vec<u8>, request: &ModelRequest) {
    if request.without_reasoning {
        // Whatever was wrong with the reasoning must not be asked for again.
        return;
    }
    match request.thinking {
        ThinkingMode::Unset => {}
        ThinkingMode::Budget(budget) if let Some(budget) = budgeted(request, budget) => {
            raw(
                body,
                &format!(",\"thinking\":{{\"type\":\"enabled\",\"budget_tokens\":{budget}}}"),
            );
        }
        ThinkingMode::Adaptive | ThinkingMode::Budget(_) => {
            raw(body, ",\"thinking\":{\"type\":\"adaptive\"}");
        }
        ThinkingMode::Disabled => raw(body, ",\"thinking\":{\"type\":\"disabled\"}"),
    }
    let effort = match request.effort {
        None => return,
        Some(Effort::Low) => "low",
        Some(Effort::Medium) => "medium",
        Some(Effort::High) => "high",
        // More than that needs reasoning, and is refused without.
        Some(_) if request.thinking == ThinkingMode::Disabled => return,
        Some(Effort::Xhigh) => "xhigh",
        Some(Effort::Max) => "max",
    };
    raw(body, &format!(",\"output_config\":{{\"effort\":\"{effort}\"}}"));
}

/// Old results are taken out on the provider's side; our history stays whole.
fn write_clearing(body: &mut Vec<u8>, request: &ModelRequest) {
    let Some(Clearing { over, kept, at_least }) = request.clear_results else { return };
    raw(body, ",\"context_management\":{\"edits\":[{\"type\":\"clear_tool_uses_20250919\"");
    for (name, kind, value) in [
        ("trigger", "input_tokens", over.0),
        ("keep", "tool_uses", u64::from(kept)),
        ("clear_at_least", "input_tokens", at_least.0),
    ] {
        raw(body, &format!(",\"{name}\":{{\"type\":\"{kind}\",\"value\":{value}}}"));
    }
    raw(body, "}]}");
}

/// Puts a mark into the object that begins at `start` and ends the buffer.
fn splice_mark(out: &mut Vec<u8>, start: usize) {
    if out.len() > start + 2 && out.pop() == Some(b'}') {
        raw(out, MARK);
        out.push(b'}');
    }
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

/// Every message ends in the braces of its last block, of its list, and its own.
const MESSAGE_END: &str = "}]}";

/// Marks spent on messages.
const MESSAGE_MARKS: usize = 2;
