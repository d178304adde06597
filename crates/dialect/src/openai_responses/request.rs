//! Writes a request down, without the server's memory: every item goes along every time, reasoning
//! in its encrypted form.

use alloc::vec::Vec;

use windlass_vocabulary::{ModelRequest, ThinkingMode};

use crate::Encoded;
use crate::law::Law;
use crate::normalize::normalize;
use crate::openai_chat::request::effort;
use crate::projection::{AnswerPart, AnsweredCall, MediaPart, Turn, UserPart};
use crate::tools::{self, LegalTool};
use crate::write::{Comma, data_address, field, joined_system, list, number, raw, string};

/// The whole body.
pub(super) fn encode(request: &ModelRequest, law: &Law) -> Encoded {
    let (projection, mut notes) = normalize(request, law);
    let tools = tools::legal(&request.tools, law, &mut notes);
    let mut body = Vec::from(*b"{");
    field(&mut body, "model", request.model.as_str());
    raw(&mut body, ",\"stream\":true,\"store\":false,\"");
    raw(&mut body, law.output_max_name);
    raw(&mut body, "\":");
    number(&mut body, request.output_max.0.max(OUTPUT_MIN));
    if let Some(effort) = effort(request) {
        raw(&mut body, ",\"reasoning\":{");
        field(&mut body, "effort", effort);
        body.push(b'}');
    }
    // Models that do not reason refuse this, so it is asked for only where reasoning is wanted.
    if request.thinking == ThinkingMode::Adaptive && !request.repair.without_reasoning {
        raw(&mut body, ",\"include\":[\"reasoning.encrypted_content\"]");
    }
    let system = joined_system(&request.system);
    if !system.is_empty() {
        body.push(b',');
        field(&mut body, "instructions", &system);
    }
    if !tools.is_empty() {
        raw(&mut body, ",\"tools\":");
        list(&mut body, &tools, write_tool);
    }
    raw(&mut body, ",\"input\":");
    list(&mut body, projection.turns(), |out, turn| out.extend_from_slice(&encode_message(&turn)));
    body.push(b'}');
    let refusal = law.refusal(&projection, body.len());
    Encoded { body, notes: notes.into_lines(), refusal }
}

fn write_tool(out: &mut Vec<u8>, tool: &LegalTool<'_>) {
    raw(out, "{\"type\":\"function\",");
    field(out, "name", tool.name);
    out.push(b',');
    field(out, "description", tool.description);
    raw(out, ",\"parameters\":");
    raw(out, &tool.schema);
    // Strict schemas forbid what most tools use; the tools check their own input.
    raw(out, ",\"strict\":false}");
}

/// One side's turn: one item, or several apart by commas. The same turn is always the same bytes.
#[must_use]
pub fn encode_message(turn: &Turn<'_, '_>) -> Vec<u8> {
    let mut out = Vec::new();
    let mut comma = Comma::default();
    match turn {
        Turn::Answer(exchange) => {
            for part in exchange.answer() {
                // Reasoning without a seal has no form on this wire; the law keeps it out.
                if matches!(part, AnswerPart::Thinking(..)) {
                    continue;
                }
                comma.before(&mut out);
                write_answer_part(&mut out, part);
            }
        }
        Turn::User { calls, parts } => {
            for call in calls {
                comma.before(&mut out);
                write_result(&mut out, call);
            }
            if !parts.is_empty() {
                comma.before(&mut out);
                raw(&mut out, "{\"type\":\"message\",\"role\":\"user\",\"content\":");
                list(&mut out, *parts, write_user_part);
                out.push(b'}');
            }
        }
    }
    out
}

fn write_answer_part(out: &mut Vec<u8>, part: &AnswerPart<'_>) {
    match part {
        AnswerPart::Text(text) => {
            raw(out, "{\"type\":\"message\",\"role\":\"assistant\",\"content\":");
            raw(out, "[{\"type\":\"output_text\",");
            field(out, "text", text);
            raw(out, "}]}");
        }
        AnswerPart::Call(call) => {
            raw(out, "{\"type\":\"function_call\",");
            field(out, "call_id", call.id());
            out.push(b',');
            field(out, "name", call.name());
            out.push(b',');
            field(out, "arguments", call.input());
            out.push(b'}');
        }
        AnswerPart::Provider(block, _) => raw(out, block.json.as_str().trim()),
        AnswerPart::Thinking(..) => {}
    }
}

/// Text alone is one string; media needs the list form.
fn write_result(out: &mut Vec<u8>, call: &AnsweredCall<'_>) {
    raw(out, "{\"type\":\"function_call_output\",");
    field(out, "call_id", call.id());
    raw(out, ",\"output\":");
    let parts = call.result().parts();
    if parts.iter().any(|part| matches!(part, UserPart::Media(_))) {
        list(out, parts, write_user_part);
    } else {
        string(out, &call.result().text_and_media().0);
    }
    out.push(b'}');
}

fn write_user_part(out: &mut Vec<u8>, part: &UserPart<'_>) {
    match part {
        UserPart::Text(text) => {
            raw(out, "{\"type\":\"input_text\",");
            field(out, "text", text);
            out.push(b'}');
        }
        UserPart::Media(item) => write_media(out, item),
    }
}

fn write_media(out: &mut Vec<u8>, item: &MediaPart<'_>) {
    if item.media_type.starts_with("image/") {
        raw(out, "{\"type\":\"input_image\",\"image_url\":");
    } else {
        raw(out, "{\"type\":\"input_file\",");
        field(out, "filename", item.name);
        raw(out, ",\"file_data\":");
    }
    data_address(out, item.media_type, item.data);
    out.push(b'}');
}

/// The wire refuses a smaller limit.
const OUTPUT_MIN: u64 = 16;
