//! Writes a request down. The system prompt is one message, every result a message of its own, and
//! media in results follows in a message from the user, because many servers take it only there.

use alloc::string::String;
use alloc::vec::Vec;

use windlass_vocabulary::ModelRequest;

use crate::accepted_tools::AcceptedTool;
use crate::json_writer::{
    CommaSeparator, append_field, append_list, append_media_url, append_number, append_raw,
    append_string, join_system_prompt,
};
use crate::normalized_conversation::{
    AnswerPart, ConversationExchange, MediaPart, UserPart, WireTurn,
};
use crate::provider_rules::ProviderRules;
use crate::request_origins::{BlockLocation, RequestOrigins};
use crate::request_writer::{RequestHead, RequestWriter, effort_name, record_remaining_origins};

pub(super) struct ChatRequestWriter;

impl RequestWriter for ChatRequestWriter {
    fn write_head(
        &self,
        request: &ModelRequest,
        rules: &ProviderRules,
        tools: &[AcceptedTool<'_>],
    ) -> RequestHead {
        let mut body = Vec::from(*b"{");
        append_field(&mut body, "model", request.model.as_str());
        append_raw(&mut body, ",\"stream\":true,\"stream_options\":{\"include_usage\":true},\"");
        append_raw(&mut body, rules.output_limit_field);
        append_raw(&mut body, "\":");
        append_number(&mut body, request.output_max.0.max(1));
        if let Some(effort) = effort_name(request) {
            body.push(b',');
            append_field(&mut body, "reasoning_effort", effort);
        }
        if !tools.is_empty() {
            append_raw(&mut body, ",\"tools\":");
            append_list(&mut body, tools, write_tool);
        }
        append_raw(&mut body, ",\"messages\":[");
        let system = join_system_prompt(&request.system);
        if !system.is_empty() {
            append_raw(&mut body, "{\"role\":\"system\",");
            append_field(&mut body, "content", &system);
            // There is always at least one turn.
            append_raw(&mut body, "},");
        }
        RequestHead {
            bytes: body,
            messages: usize::from(!system.is_empty()),
            ..RequestHead::default()
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
            WireTurn::Answer(exchange) => write_answer(out, exchange),
            WireTurn::User { calls, parts } => {
                let mut comma = CommaSeparator::default();
                let mut aside = Vec::new();
                for call in calls {
                    let (text, media) = call.result().split_text_and_media();
                    aside.extend(media);
                    comma.append_before_item(out);
                    append_raw(out, "{\"role\":\"tool\",");
                    append_field(out, "tool_call_id", call.id());
                    out.push(b',');
                    append_field(out, "content", &text);
                    out.push(b'}');
                }
                if !aside.is_empty() || !parts.is_empty() {
                    comma.append_before_item(out);
                    write_user(out, &aside, parts);
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
        record_remaining_origins(turn, locations, origins);
    }
}

fn write_tool(out: &mut Vec<u8>, tool: &AcceptedTool<'_>) {
    append_raw(out, "{\"type\":\"function\",\"function\":{");
    append_field(out, "name", tool.name);
    out.push(b',');
    append_field(out, "description", tool.description);
    append_raw(out, ",\"parameters\":");
    append_raw(out, &tool.schema);
    append_raw(out, "}}");
}

fn write_answer(out: &mut Vec<u8>, exchange: &ConversationExchange<'_>) {
    let mut text = String::new();
    for part in exchange.answer() {
        if let AnswerPart::Text(words) = part {
            text.push_str(words);
        }
    }
    append_raw(out, "{\"role\":\"assistant\",");
    if text.is_empty() {
        append_raw(out, "\"content\":null");
    } else {
        append_field(out, "content", &text);
    }
    if exchange.calls().next().is_some() {
        append_raw(out, ",\"tool_calls\":");
        append_list(out, exchange.calls(), |out, call| {
            out.push(b'{');
            append_field(out, "id", call.id());
            append_raw(out, ",\"type\":\"function\",\"function\":{");
            append_field(out, "name", call.name());
            out.push(b',');
            append_field(out, "arguments", call.input());
            append_raw(out, "}}");
        });
    }
    out.push(b'}');
}

/// Text alone is one string, which every server takes; media needs the list form.
fn write_user(out: &mut Vec<u8>, aside: &[&MediaPart<'_>], parts: &[UserPart<'_>]) {
    append_raw(out, "{\"role\":\"user\",\"content\":");
    let texts: Vec<&str> = parts
        .iter()
        .filter_map(|part| match part {
            UserPart::Text(text) => Some(&**text),
            UserPart::Media(_) => None,
        })
        .collect();
    if aside.is_empty() && texts.len() == parts.len() {
        append_string(out, &texts.join("\n\n"));
    } else {
        out.push(b'[');
        let mut comma = CommaSeparator::default();
        for item in aside {
            comma.append_before_item(out);
            write_image(out, item);
        }
        for part in parts {
            comma.append_before_item(out);
            match part {
                UserPart::Text(text) => {
                    append_raw(out, "{\"type\":\"text\",");
                    append_field(out, "text", text);
                    out.push(b'}');
                }
                UserPart::Media(item) => write_image(out, item),
            }
        }
        out.push(b']');
    }
    out.push(b'}');
}

fn write_image(out: &mut Vec<u8>, item: &MediaPart<'_>) {
    append_raw(out, "{\"type\":\"image_url\",\"image_url\":{\"url\":");
    append_media_url(out, item.media_type, item.data);
    append_raw(out, "}}");
}
