//! Writes a request down, without the server's memory: every item goes along every time, reasoning
//! in its encrypted form.

use alloc::vec::Vec;

use windlass_vocabulary::ModelRequest;

use crate::law::Law;
use crate::openai_chat::request::effort;
use crate::origins::{Origins, Place};
use crate::projection::{AnswerPart, AnsweredCall, MediaPart, Turn, UserPart};
use crate::script::{Head, Script};
use crate::tools::LegalTool;
use crate::write::{Comma, data_address, field, joined_system, list, number, raw, string};

/// How this wire writes.
pub(super) struct Letter;

impl Script for Letter {
    fn head(&self, request: &ModelRequest, law: &Law, tools: &[LegalTool<'_>]) -> Head {
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
        if request.thinking.is_on() && !request.without_reasoning {
            raw(&mut body, ",\"include\":[\"reasoning.encrypted_content\"]");
        }
        let system = joined_system(&request.system);
        if !system.is_empty() {
            body.push(b',');
            field(&mut body, "instructions", &system);
        }
        if !tools.is_empty() {
            raw(&mut body, ",\"tools\":");
            list(&mut body, tools, write_tool);
        }
        raw(&mut body, ",\"input\":[");
        Head { bytes: body, ..Head::default() }
    }

    fn write(&self, turn: &Turn<'_, '_>, _: &ModelRequest, _: &Law, out: &mut Vec<u8>) {
        let mut comma = Comma::default();
        match turn {
            Turn::Answer(exchange) => {
                for part in exchange.answer() {
                    // Reasoning without a seal has no form on this wire; the law keeps it out.
                    if matches!(part, AnswerPart::Thinking(..)) {
                        continue;
                    }
                    comma.before(out);
                    write_answer_part(out, part);
                }
            }
            Turn::User { calls, parts } => {
                for call in calls {
                    comma.before(out);
                    write_result(out, call);
                }
                if !parts.is_empty() {
                    comma.before(out);
                    raw(out, "{\"type\":\"message\",\"role\":\"user\",\"content\":");
                    list(out, *parts, write_user_part);
                    out.push(b'}');
                }
            }
        }
    }

    fn trace(&self, turn: &Turn<'_, '_>, places: &[Option<Place>], origins: &mut Origins) {
        turn.result_places().for_each(|place| origins.add_message([place]));
        match turn {
            Turn::Answer(exchange) => {
                let written = exchange.answer().iter().zip(places);
                let written = written.filter(|(part, _)| !matches!(part, AnswerPart::Thinking(..)));
                written.for_each(|(_, place)| origins.add_message([*place]));
            }
            Turn::User { .. } if places.is_empty() => {}
            Turn::User { .. } => origins.add_message(places.iter().copied()),
        }
    }
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

fn write_answer_part(out: &mut Vec<u8>, part: &AnswerPart<'_>) {
    match part {
        AnswerPart::Text(text) => {
            // As a list its parts would need ids of the server's, which a plain text does not.
            raw(out, "{\"type\":\"message\",\"role\":\"assistant\",");
            field(out, "content", text);
            out.push(b'}');
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
