//! Writes a request down. Field order is fixed and every message is written on its own, without
//! cache markers, so that its bytes can be made once and reused; the markers are spliced in when
//! the body is put together, because they move on with every request.

use alloc::format;
use alloc::vec::Vec;

use windlass_vocabulary::{Effort, ModelRequest, ThinkingMode, Tokens, ToolResultClearing};

use crate::accepted_tools::AcceptedTool;
use crate::json_writer::{
    CommaSeparator, append_field, append_list, append_number, append_raw, append_string,
};
use crate::normalized_conversation::{AnswerPart, AnsweredCall, MediaPart, UserPart, WireTurn};
use crate::provider_rules::ProviderRules;
use crate::request_origins::{BlockLocation, RequestOrigins};
use crate::request_writer::{RequestHead, RequestWriter};

pub(super) struct AnthropicRequestWriter;

impl RequestWriter for AnthropicRequestWriter {
    fn write_head(
        &self,
        request: &ModelRequest,
        rules: &ProviderRules,
        tools: &[AcceptedTool<'_>],
    ) -> RequestHead {
        let mut body = Vec::from(*b"{");
        append_field(&mut body, "model", request.model.as_str());
        append_raw(&mut body, ",\"max_tokens\":");
        append_number(&mut body, request.output_max.0.max(1));
        append_raw(&mut body, ",\"stream\":true");
        write_reasoning(&mut body, request);
        write_context_management(&mut body, request);
        let mut marks = rules.cache_marks_max;
        let system: Vec<&str> = request
            .system
            .iter()
            .map(|piece| &**piece)
            .filter(|piece| !piece.trim().is_empty())
            .collect();
        if !tools.is_empty() {
            append_raw(&mut body, ",\"tools\":");
            let marks_last = system.is_empty() && take_cache_mark(&mut marks);
            write_tools(&mut body, tools, marks_last);
        }
        if !system.is_empty() {
            append_raw(&mut body, ",\"system\":");
            let marked = take_cache_mark(&mut marks).then_some(system.len() - 1);
            append_list(&mut body, system.iter().enumerate(), |out, (position, piece)| {
                let start = out.len();
                write_text(out, piece);
                if marked == Some(position) {
                    splice_cache_mark(out, start);
                }
            });
        }
        append_raw(&mut body, ",\"messages\":[");
        RequestHead {
            bytes: body,
            messages: 0,
            cache_marks: marks.min(MESSAGE_CACHE_MARKS),
            cache_mark: (CACHE_MARK.as_bytes(), MESSAGE_END.as_bytes()),
        }
    }

    fn write_turn(
        &self,
        turn: &WireTurn<'_, '_>,
        _: &ModelRequest,
        _: &ProviderRules,
        out: &mut Vec<u8>,
    ) {
        match turn {
            WireTurn::User { calls, parts } => {
                append_raw(out, "{\"role\":\"user\",\"content\":[");
                let mut comma = CommaSeparator::default();
                for call in calls {
                    comma.append_before_item(out);
                    write_tool_result(out, call);
                }
                for part in *parts {
                    comma.append_before_item(out);
                    write_user_part(out, part);
                }
            }
            WireTurn::Answer(exchange) => {
                append_raw(out, "{\"role\":\"assistant\",\"content\":[");
                let mut comma = CommaSeparator::default();
                for part in exchange.answer() {
                    comma.append_before_item(out);
                    write_answer_part(out, part);
                }
            }
        }
        append_raw(out, "]}");
    }

    fn record_origins(
        &self,
        turn: &WireTurn<'_, '_>,
        locations: &[Option<BlockLocation>],
        origins: &mut RequestOrigins,
    ) {
        origins.add_message(turn.result_locations().chain(locations.iter().copied()));
    }
}

fn write_tools(out: &mut Vec<u8>, tools: &[AcceptedTool<'_>], marks_last: bool) {
    append_list(out, tools.iter().enumerate(), |out, (position, tool)| {
        let start = out.len();
        out.push(b'{');
        append_field(out, "name", tool.name);
        out.push(b',');
        append_field(out, "description", tool.description);
        append_raw(out, ",\"input_schema\":");
        append_raw(out, &tool.schema);
        out.push(b'}');
        if marks_last && position + 1 == tools.len() {
            splice_cache_mark(out, start);
        }
    });
}

fn take_cache_mark(marks: &mut usize) -> bool {
    let has_one = *marks > 0;
    *marks = marks.saturating_sub(1);
    has_one
}

/// The budget as the wire takes it: within its bounds, and for models that are not left to decide by
/// themselves, which are those up to 4.6.
fn clamp_thinking_budget(request: &ModelRequest, wanted: Tokens) -> Option<u64> {
    let most = request.output_max.0.checked_sub(1).filter(|most| *most >= BUDGET_MIN)?;
    supports_thinking_budget(request.model.as_str()).then(|| wanted.0.clamp(BUDGET_MIN, most))
}

/// `claude-sonnet-4-5-20250929` and `claude-3-7-sonnet-latest`, but not `claude-opus-4-7`. A number of
/// three digits or more is a date.
fn supports_thinking_budget(model: &str) -> bool {
    let Some((_, name)) = model.rsplit_once("claude-") else { return false };
    let mut numbers = name.split(['-', '.', '@']).filter_map(|part| part.parse::<u32>().ok());
    let small = |number: Option<u32>| number.filter(|number| *number < 100);
    match (small(numbers.next()), small(numbers.next())) {
        (Some(4), minor) => minor.unwrap_or(0) <= 6,
        (Some(3), minor) => minor.unwrap_or(0) >= 7,
        _ => false,
    }
}

/// The minimum budget.
const BUDGET_MIN: u64 = 1_024;

fn write_reasoning(body: &mut Vec<u8>, request: &ModelRequest) {
    if request.without_reasoning {
        // The reasoning was rejected, so it must not be requested again.
        return;
    }
    match request.thinking {
        ThinkingMode::Unset => {}
        ThinkingMode::Budget(budget)
            if let Some(budget) = clamp_thinking_budget(request, budget) =>
        {
            append_raw(
                body,
                &format!(",\"thinking\":{{\"type\":\"enabled\",\"budget_tokens\":{budget}}}"),
            );
        }
        ThinkingMode::Adaptive | ThinkingMode::Budget(_) => {
            append_raw(body, ",\"thinking\":{\"type\":\"adaptive\"}");
        }
        ThinkingMode::Disabled => append_raw(body, ",\"thinking\":{\"type\":\"disabled\"}"),
    }
    let effort = match request.effort {
        None => return,
        Some(Effort::Low) => "low",
        Some(Effort::Medium) => "medium",
        Some(Effort::High) => "high",
        // A higher effort needs reasoning, and is refused without it.
        Some(_) if request.thinking == ThinkingMode::Disabled => return,
        Some(Effort::Xhigh) => "xhigh",
        Some(Effort::Max) => "max",
    };
    append_raw(body, &format!(",\"output_config\":{{\"effort\":\"{effort}\"}}"));
}

/// Old results are taken out on the provider's side; our history stays whole.
fn write_context_management(body: &mut Vec<u8>, request: &ModelRequest) {
    let Some(ToolResultClearing {
        trigger_tokens: over,
        keep_latest: kept,
        clear_at_least: at_least,
    }) = request.clear_results
    else {
        return;
    };
    append_raw(body, ",\"context_management\":{\"edits\":[{\"type\":\"clear_tool_uses_20250919\"");
    for (name, kind, value) in [
        ("trigger", "input_tokens", over.0),
        ("keep", "tool_uses", u64::from(kept)),
        ("clear_at_least", "input_tokens", at_least.0),
    ] {
        append_raw(body, &format!(",\"{name}\":{{\"type\":\"{kind}\",\"value\":{value}}}"));
    }
    append_raw(body, "}]}");
}

/// Puts a mark into the object that begins at `start` and ends the buffer.
fn splice_cache_mark(out: &mut Vec<u8>, start: usize) {
    if out.len() > start + 2 && out.pop() == Some(b'}') {
        append_raw(out, CACHE_MARK);
        out.push(b'}');
    }
}

fn write_answer_part(out: &mut Vec<u8>, part: &AnswerPart<'_>) {
    match part {
        AnswerPart::Text(text) => write_text(out, text),
        AnswerPart::Thinking(thinking, _) => {
            append_raw(out, "{\"type\":\"thinking\",");
            append_field(out, "thinking", &thinking.text);
            out.push(b',');
            append_field(out, "signature", thinking.signature.as_deref().unwrap_or_default());
            out.push(b'}');
        }
        AnswerPart::Provider(block, _) => append_raw(out, block.json.as_str().trim()),
        AnswerPart::Call(call) => {
            append_raw(out, "{\"type\":\"tool_use\",");
            append_field(out, "id", call.id());
            out.push(b',');
            append_field(out, "name", call.name());
            append_raw(out, ",\"input\":");
            append_raw(out, call.input());
            out.push(b'}');
        }
    }
}

fn write_tool_result(out: &mut Vec<u8>, call: &AnsweredCall<'_>) {
    append_raw(out, "{\"type\":\"tool_result\",");
    append_field(out, "tool_use_id", call.id());
    append_raw(out, ",\"content\":");
    append_list(out, call.result().parts(), write_user_part);
    if call.result().is_error() {
        append_raw(out, ",\"is_error\":true");
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
    append_raw(out, "{\"type\":\"text\",");
    append_field(out, "text", text);
    out.push(b'}');
}

fn write_media(out: &mut Vec<u8>, item: &MediaPart<'_>) {
    let kind = if item.media_type.starts_with("image/") { "image" } else { "document" };
    append_raw(out, "{\"type\":\"");
    append_raw(out, kind);
    append_raw(out, "\",\"source\":{\"type\":\"base64\",\"media_type\":");
    append_string(out, item.media_type);
    // Checked to be base64 by the step before, so there is nothing to escape.
    append_raw(out, ",\"data\":\"");
    append_raw(out, item.data);
    append_raw(out, "\"}}");
}

const CACHE_MARK: &str = ",\"cache_control\":{\"type\":\"ephemeral\"}";

/// Every message ends in the braces of its last block, of its list, and its own.
const MESSAGE_END: &str = "}]}";

/// Marks spent on messages.
const MESSAGE_CACHE_MARKS: usize = 2;
