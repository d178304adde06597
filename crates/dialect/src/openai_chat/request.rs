//! Writes a request down. The system prompt is one message, every result a message of its own, and
//! media in results follows in a message from the user, because many servers take it only there.

use alloc::string::String;
use alloc::vec::Vec;

use windlass_vocabulary::{Effort, ModelRequest, ThinkingMode};

use crate::law::Law;
use crate::origins::{Origins, Place};
use crate::projection::{AnswerPart, Exchange, MediaPart, Turn, UserPart};
use crate::script::{Head, Script};
use crate::tools::LegalTool;
use crate::write::{Comma, data_address, field, joined_system, list, number, raw, string};

/// How this wire writes.
pub(super) struct Letter;

impl Script for Letter {
    fn head(&self, request: &ModelRequest, law: &Law, tools: &[LegalTool<'_>]) -> Head {
        let mut body = Vec::from(*b"{");
        field(&mut body, "model", request.model.as_str());
        raw(&mut body, ",\"stream\":true,\"stream_options\":{\"include_usage\":true},\"");
        raw(&mut body, law.output_max_name);
        raw(&mut body, "\":");
        number(&mut body, request.output_max.0.max(1));
        if let Some(effort) = effort(request) {
            body.push(b',');
            field(&mut body, "reasoning_effort", effort);
        }
        if !tools.is_empty() {
            raw(&mut body, ",\"tools\":");
            list(&mut body, tools, write_tool);
        }
        raw(&mut body, ",\"messages\":[");
        let system = joined_system(&request.system);
        if !system.is_empty() {
            raw(&mut body, "{\"role\":\"system\",");
            field(&mut body, "content", &system);
            // There is always at least one turn.
            raw(&mut body, "},");
        }
        Head { bytes: body, messages: usize::from(!system.is_empty()), ..Head::default() }
    }

    fn write(&self, turn: &Turn<'_, '_>, _: &ModelRequest, _: &Law, out: &mut Vec<u8>) {
        match turn {
            Turn::Answer(exchange) => write_answer(out, exchange),
            Turn::User { calls, parts } => {
                let mut comma = Comma::default();
                let mut aside = Vec::new();
                for call in calls {
                    let (text, media) = call.result().text_and_media();
                    aside.extend(media);
                    comma.before(out);
                    raw(out, "{\"role\":\"tool\",");
                    field(out, "tool_call_id", call.id());
                    out.push(b',');
                    field(out, "content", &text);
                    out.push(b'}');
                }
                if !aside.is_empty() || !parts.is_empty() {
                    comma.before(out);
                    write_user(out, &aside, parts);
                }
            }
        }
    }

    fn trace(&self, turn: &Turn<'_, '_>, places: &[Option<Place>], origins: &mut Origins) {
        turn.result_places().for_each(|place| origins.add_message([place]));
        trace_rest(turn, places, origins);
    }
}

/// The answer, or what follows the results: media that had to leave them, then the rest.
pub(crate) fn trace_rest(turn: &Turn<'_, '_>, places: &[Option<Place>], origins: &mut Origins) {
    let mut blocks = turn.media_places().chain(places.iter().copied()).peekable();
    if blocks.peek().is_some() {
        origins.add_message(blocks);
    }
}

/// What the provider does by itself is not mentioned. To think not at all is the least effort here;
/// a server that does not know the word says so, and is not told again.
pub(crate) fn effort(request: &ModelRequest) -> Option<&'static str> {
    match request.effort {
        _ if request.without_reasoning => None,
        _ if request.thinking == ThinkingMode::Disabled => Some("none"),
        None => None,
        Some(Effort::Low) => Some("low"),
        Some(Effort::Medium) => Some("medium"),
        Some(Effort::High) => Some("high"),
        Some(Effort::Xhigh) => Some("xhigh"),
        Some(Effort::Max) => Some("max"),
    }
}

fn write_tool(out: &mut Vec<u8>, tool: &LegalTool<'_>) {
    raw(out, "{\"type\":\"function\",\"function\":{");
    field(out, "name", tool.name);
    out.push(b',');
    field(out, "description", tool.description);
    raw(out, ",\"parameters\":");
    raw(out, &tool.schema);
    raw(out, "}}");
}

fn write_answer(out: &mut Vec<u8>, exchange: &Exchange<'_>) {
    let mut text = String::new();
    for part in exchange.answer() {
        if let AnswerPart::Text(words) = part {
            text.push_str(words);
        }
    }
    raw(out, "{\"role\":\"assistant\",");
    if text.is_empty() {
        raw(out, "\"content\":null");
    } else {
        field(out, "content", &text);
    }
    if exchange.calls().next().is_some() {
        raw(out, ",\"tool_calls\":");
        list(out, exchange.calls(), |out, call| {
            out.push(b'{');
            field(out, "id", call.id());
            raw(out, ",\"type\":\"function\",\"function\":{");
            field(out, "name", call.name());
            out.push(b',');
            field(out, "arguments", call.input());
            raw(out, "}}");
        });
    }
    out.push(b'}');
}

/// Text alone is one string, which every server takes; media needs the list form.
fn write_user(out: &mut Vec<u8>, aside: &[&MediaPart<'_>], parts: &[UserPart<'_>]) {
    raw(out, "{\"role\":\"user\",\"content\":");
    let texts: Vec<&str> = parts
        .iter()
        .filter_map(|part| match part {
            UserPart::Text(text) => Some(&**text),
            UserPart::Media(_) => None,
        })
        .collect();
    if aside.is_empty() && texts.len() == parts.len() {
        string(out, &texts.join("\n\n"));
    } else {
        out.push(b'[');
        let mut comma = Comma::default();
        for item in aside {
            comma.before(out);
            write_image(out, item);
        }
        for part in parts {
            comma.before(out);
            match part {
                UserPart::Text(text) => {
                    raw(out, "{\"type\":\"text\",");
                    field(out, "text", text);
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
    raw(out, "{\"type\":\"image_url\",\"image_url\":{\"url\":");
    data_address(out, item.media_type, item.data);
    raw(out, "}}");
}
