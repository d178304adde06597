//! Writes a request down, without the server's memory: every item goes along every time, reasoning
//! in its encrypted form.

use alloc::vec::Vec;

use windlass_vocabulary::ModelRequest;

use crate::accepted_tools::AcceptedTool;
use crate::json_writer::{
    CommaSeparator, append_field, append_list, append_media_url, append_number, append_raw,
    append_string, join_system_prompt,
};
use crate::normalized_conversation::{AnswerPart, AnsweredCall, MediaPart, UserPart, WireTurn};
use crate::provider_rules::ProviderRules;
use crate::request_origins::{BlockLocation, RequestOrigins};
use crate::request_writer::{RequestHead, RequestWriter, effort_name};

pub(super) struct ResponsesRequestWriter;

impl RequestWriter for ResponsesRequestWriter {
    fn write_head(
        &self,
        request: &ModelRequest,
        rules: &ProviderRules,
        tools: &[AcceptedTool<'_>],
    ) -> RequestHead {
        let mut body = Vec::from(*b"{");
        append_field(&mut body, "model", request.model.as_str());
        append_raw(&mut body, ",\"stream\":true,\"store\":false,\"");
        append_raw(&mut body, rules.output_limit_field);
        append_raw(&mut body, "\":");
        append_number(&mut body, request.output_max.0.max(OUTPUT_MIN));
        if let Some(effort) = effort_name(request) {
            append_raw(&mut body, ",\"reasoning\":{");
            append_field(&mut body, "effort", effort);
            body.push(b'}');
        }
        // Models that do not reason refuse this, so it is asked for only where reasoning is wanted.
        if request.thinking.is_on() && !request.without_reasoning {
            append_raw(&mut body, ",\"include\":[\"reasoning.encrypted_content\"]");
        }
        let system = join_system_prompt(&request.system);
        if !system.is_empty() {
            body.push(b',');
            append_field(&mut body, "instructions", &system);
        }
        if !tools.is_empty() {
            append_raw(&mut body, ",\"tools\":");
            append_list(&mut body, tools, write_tool);
        }
        append_raw(&mut body, ",\"input\":[");
        RequestHead { bytes: body, ..RequestHead::default() }
    }

    fn write_turn(
        &self,
        turn: &WireTurn<'_, '_>,
        _: &ModelRequest,
        _: &ProviderRules,
        out: &mut Vec<u8>,
    ) {
        let mut comma = CommaSeparator::default();
        match turn {
            WireTurn::Answer(exchange) => {
                for part in exchange.answer() {
                    // Reasoning without a seal has no form on this wire; the rules keep it out.
                    if matches!(part, AnswerPart::Thinking(..)) {
                        continue;
                    }
                    comma.append_before_item(out);
                    write_answer_part(out, part);
                }
            }
            WireTurn::User { calls, parts } => {
                for call in calls {
                    comma.append_before_item(out);
                    write_tool_result(out, call);
                }
                if !parts.is_empty() {
                    comma.append_before_item(out);
                    append_raw(out, "{\"type\":\"message\",\"role\":\"user\",\"content\":");
                    append_list(out, *parts, write_user_part);
                    out.push(b'}');
                }
            }
        }
    }

    fn record_origins(
        &self,
        turn: &WireTurn<'_, '_>,
        locations: &[Option<BlockLocation>],
        origins: &mut RequestOrigins,
    ) {
        turn.result_locations().for_each(|place| origins.add_message([place]));
        match turn {
            WireTurn::Answer(exchange) => {
                let written = exchange.answer().iter().zip(locations);
                let written = written.filter(|(part, _)| !matches!(part, AnswerPart::Thinking(..)));
                written.for_each(|(_, place)| origins.add_message([*place]));
            }
            WireTurn::User { .. } if locations.is_empty() => {}
            WireTurn::User { .. } => origins.add_message(locations.iter().copied()),
        }
    }
}

fn write_tool(out: &mut Vec<u8>, tool: &AcceptedTool<'_>) {
    append_raw(out, "{\"type\":\"function\",");
    append_field(out, "name", tool.name);
    out.push(b',');
    append_field(out, "description", tool.description);
    append_raw(out, ",\"parameters\":");
    append_raw(out, &tool.schema);
    // Strict schemas forbid what most tools use; the tools check their own input.
    append_raw(out, ",\"strict\":false}");
}

fn write_answer_part(out: &mut Vec<u8>, part: &AnswerPart<'_>) {
    match part {
        AnswerPart::Text(text) => {
            // As a list its parts would need ids of the server's, which a plain text does not.
            append_raw(out, "{\"type\":\"message\",\"role\":\"assistant\",");
            append_field(out, "content", text);
            out.push(b'}');
        }
        AnswerPart::Call(call) => {
            append_raw(out, "{\"type\":\"function_call\",");
            append_field(out, "call_id", call.id());
            out.push(b',');
            append_field(out, "name", call.name());
            out.push(b',');
            append_field(out, "arguments", call.input());
            out.push(b'}');
        }
        AnswerPart::Provider(block, _) => append_raw(out, block.json.as_str().trim()),
        AnswerPart::Thinking(..) => {}
    }
}

/// Text alone is one string; media needs the list form.
fn write_tool_result(out: &mut Vec<u8>, call: &AnsweredCall<'_>) {
    append_raw(out, "{\"type\":\"function_call_output\",");
    append_field(out, "call_id", call.id());
    append_raw(out, ",\"output\":");
    let parts = call.result().parts();
    if parts.iter().any(|part| matches!(part, UserPart::Media(_))) {
        append_list(out, parts, write_user_part);
    } else {
        append_string(out, &call.result().split_text_and_media().0);
    }
    out.push(b'}');
}

fn write_user_part(out: &mut Vec<u8>, part: &UserPart<'_>) {
    match part {
        UserPart::Text(text) => {
            append_raw(out, "{\"type\":\"input_text\",");
            append_field(out, "text", text);
            out.push(b'}');
        }
        UserPart::Media(item) => write_media(out, item),
    }
}

fn write_media(out: &mut Vec<u8>, item: &MediaPart<'_>) {
    if item.media_type.starts_with("image/") {
        append_raw(out, "{\"type\":\"input_image\",\"image_url\":");
    } else {
        append_raw(out, "{\"type\":\"input_file\",");
        append_field(out, "filename", item.name);
        append_raw(out, ",\"file_data\":");
    }
    append_media_url(out, item.media_type, item.data);
    out.push(b'}');
}

/// The wire refuses a smaller limit.
const OUTPUT_MIN: u64 = 16;
