//! Writes a request down. Results are a message of their own, as many as there were calls; what
//! else was said follows in another. Seals go back to the model that set them, and calls of other
//! models get the stand-in the provider has for that.

use alloc::vec::Vec;

use windlass_vocabulary::{Effort, ModelRequest, ThinkingMode};

use crate::accepted_tools::AcceptedTool;
use crate::json_writer::{
    CommaSeparator, append_field, append_list, append_number, append_raw, append_string,
    join_system_prompt,
};
use crate::normalized_conversation::{
    AnswerPart, AnsweredCall, ConversationExchange, MediaPart, UserPart, WireTurn,
};
use crate::provider_rules::ProviderRules;
use crate::request_origins::{BlockLocation, RequestOrigins};
use crate::request_writer::{RequestHead, RequestWriter, record_remaining_origins};

pub(super) struct GeminiRequestWriter;

impl RequestWriter for GeminiRequestWriter {
    fn write_head(
        &self,
        request: &ModelRequest,
        rules: &ProviderRules,
        tools: &[AcceptedTool<'_>],
    ) -> RequestHead {
        let mut body = Vec::from(*b"{");
        let system = join_system_prompt(&request.system);
        if !system.is_empty() {
            append_raw(&mut body, "\"systemInstruction\":{\"parts\":[");
            write_text(&mut body, &system);
            append_raw(&mut body, "]},");
        }
        if !tools.is_empty() {
            append_raw(&mut body, "\"tools\":[{\"functionDeclarations\":");
            append_list(&mut body, tools, write_tool);
            append_raw(&mut body, "}],");
        }
        append_raw(&mut body, "\"generationConfig\":{\"");
        append_raw(&mut body, rules.output_limit_field);
        append_raw(&mut body, "\":");
        append_number(&mut body, request.output_max.0.max(1));
        write_thinking(&mut body, request);
        append_raw(&mut body, "},\"contents\":[");
        RequestHead { bytes: body, ..RequestHead::default() }
    }

    fn write_turn(
        &self,
        turn: &WireTurn<'_, '_>,
        request: &ModelRequest,
        rules: &ProviderRules,
        out: &mut Vec<u8>,
    ) {
        match turn {
            WireTurn::Answer(exchange) => {
                let seals = GeminiCallSeals { request, placeholder: rules.tools.foreign_call_seal };
                write_answer(out, exchange, &seals);
            }
            WireTurn::User { calls, parts } => {
                let mut aside: Vec<&MediaPart<'_>> = Vec::new();
                let mut comma = CommaSeparator::default();
                if !calls.is_empty() {
                    comma.append_before_item(out);
                    append_raw(out, "{\"role\":\"user\",\"parts\":");
                    append_list(out, calls, |out, call| aside.extend(write_tool_result(out, call)));
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
        let mut results = turn.result_locations().peekable();
        if results.peek().is_some() {
            origins.add_message(results);
        }
        record_remaining_origins(turn, locations, origins);
    }
}

/// Thinking levels exist only for newer models, which cannot stop thinking; older models reject the
/// field, but can.
fn write_thinking(body: &mut Vec<u8>, request: &ModelRequest) {
    if request.without_reasoning {
        return;
    }
    let is_off = request.thinking == ThinkingMode::Disabled;
    let level = match request.effort {
        _ if is_legacy_model(request) => None,
        _ if is_off => Some("low"),
        Some(Effort::Low) => Some("low"),
        Some(Effort::Medium) => Some("medium"),
        Some(Effort::High | Effort::Xhigh | Effort::Max) => Some("high"),
        None => None,
    };
    let mut fields = Vec::new();
    let mut comma = CommaSeparator::default();
    if request.thinking.is_on() {
        comma.append_before_item(&mut fields);
        append_raw(&mut fields, "\"includeThoughts\":true");
    }
    if let Some(level) = level {
        comma.append_before_item(&mut fields);
        append_field(&mut fields, "thinkingLevel", level);
    }
    if is_off && is_legacy_model(request) {
        append_raw(&mut fields, "\"thinkingBudget\":0");
    }
    if !fields.is_empty() {
        append_raw(body, ",\"thinkingConfig\":{");
        body.extend_from_slice(&fields);
        body.push(b'}');
    }
}

fn is_legacy_model(request: &ModelRequest) -> bool {
    let name = request.model.as_str();
    let name = name.strip_prefix("models/").unwrap_or(name);
    name.starts_with("gemini-1") || name.starts_with("gemini-2")
}

fn write_tool(out: &mut Vec<u8>, tool: &AcceptedTool<'_>) {
    out.push(b'{');
    append_field(out, "name", tool.name);
    out.push(b',');
    append_field(out, "description", tool.description);
    append_raw(out, ",\"parametersJsonSchema\":");
    append_raw(out, &tool.schema);
    out.push(b'}');
}

/// The models whose seals are sent back.
struct GeminiCallSeals<'a> {
    request: &'a ModelRequest,
    placeholder: Option<&'static str>,
}

impl GeminiCallSeals<'_> {
    /// The seal of a call: its own if this model set it, the stand-in on the first call of a
    /// foreign answer, none on the others, which is how this provider seals calls made together.
    fn find_seal<'c>(&self, call: &AnsweredCall<'c>, is_first: bool) -> Option<&'c str> {
        let is_own = call.model() == Some(&self.request.model);
        match call.signature() {
            _ if is_legacy_model(self.request) && !is_own => None,
            Some(seal) if is_own && !self.request.without_reasoning => Some(seal),
            None if is_own && !self.request.without_reasoning => None,
            _ if is_first => self.placeholder,
            _ => None,
        }
    }
}

fn write_answer(
    out: &mut Vec<u8>,
    exchange: &ConversationExchange<'_>,
    seals: &GeminiCallSeals<'_>,
) {
    append_raw(out, "{\"role\":\"model\",\"parts\":[");
    let mut comma = CommaSeparator::default();
    let mut is_first = true;
    for part in exchange.answer() {
        match part {
            AnswerPart::Text(text) => {
                comma.append_before_item(out);
                write_text(out, text);
            }
            AnswerPart::Call(call) => {
                comma.append_before_item(out);
                let seal = seals.find_seal(call, core::mem::replace(&mut is_first, false));
                write_call(out, call, seal);
            }
            AnswerPart::Provider(block, _) => {
                comma.append_before_item(out);
                append_raw(out, block.json.as_str().trim());
            }
            // Summaries of reasoning do not go back; the rules keep them out.
            AnswerPart::Thinking(..) => {}
        }
    }
    append_raw(out, "]}");
}

fn write_call(out: &mut Vec<u8>, call: &AnsweredCall<'_>, seal: Option<&str>) {
    append_raw(out, "{\"functionCall\":{");
    append_field(out, "id", call.id());
    out.push(b',');
    append_field(out, "name", call.name());
    append_raw(out, ",\"args\":");
    append_raw(out, call.input());
    out.push(b'}');
    if let Some(seal) = seal {
        out.push(b',');
        append_field(out, "thoughtSignature", seal);
    }
    out.push(b'}');
}

/// Writes a result and returns the media that has to follow it.
fn write_tool_result<'c, 'a>(
    out: &mut Vec<u8>,
    call: &'c AnsweredCall<'a>,
) -> Vec<&'c MediaPart<'a>> {
    let (text, media) = call.result().split_text_and_media();
    append_raw(out, "{\"functionResponse\":{");
    append_field(out, "id", call.id());
    out.push(b',');
    append_field(out, "name", call.name());
    append_raw(out, ",\"response\":{");
    append_field(out, if call.result().is_error() { "error" } else { "output" }, &text);
    append_raw(out, "}}}");
    media
}

fn write_user(out: &mut Vec<u8>, aside: &[&MediaPart<'_>], parts: &[UserPart<'_>]) {
    append_raw(out, "{\"role\":\"user\",\"parts\":[");
    let mut comma = CommaSeparator::default();
    for item in aside {
        comma.append_before_item(out);
        write_media(out, item);
    }
    for part in parts {
        comma.append_before_item(out);
        match part {
            UserPart::Text(text) => write_text(out, text),
            UserPart::Media(item) => write_media(out, item),
        }
    }
    append_raw(out, "]}");
}

fn write_text(out: &mut Vec<u8>, text: &str) {
    out.push(b'{');
    append_field(out, "text", text);
    out.push(b'}');
}

fn write_media(out: &mut Vec<u8>, item: &MediaPart<'_>) {
    append_raw(out, "{\"inlineData\":{\"mimeType\":");
    append_string(out, item.media_type);
    // Checked to be base64 by the step before, so there is nothing to escape.
    append_raw(out, ",\"data\":\"");
    append_raw(out, item.data);
    append_raw(out, "\"}}");
}
