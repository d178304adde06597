//! Writes a request down. Results are a message of their own, as many as there were calls; what
//! else was said follows in another. Seals go back to the model that set them, and calls of other
//! models get the stand-in the provider has for that.

use alloc::vec::Vec;

use windlass_vocabulary::{Effort, ModelRequest, ThinkingMode};

use crate::law::Law;
use crate::openai_chat::request::trace_rest;
use crate::origins::{Origins, Place};
use crate::projection::{AnswerPart, AnsweredCall, Exchange, MediaPart, Turn, UserPart};
use crate::script::{Head, Script};
use crate::tools::LegalTool;
use crate::write::{Comma, field, joined_system, list, number, raw, string};

/// How this wire writes.
pub(super) struct Letter;

impl Script for Letter {
    fn head(&self, request: &ModelRequest, law: &Law, tools: &[LegalTool<'_>]) -> Head {
        let mut body = Vec::from(*b"{");
        let system = joined_system(&request.system);
        if !system.is_empty() {
            raw(&mut body, "\"systemInstruction\":{\"parts\":[");
            write_text(&mut body, &system);
            raw(&mut body, "]},");
        }
        if !tools.is_empty() {
            raw(&mut body, "\"tools\":[{\"functionDeclarations\":");
            list(&mut body, tools, write_tool);
            raw(&mut body, "}],");
        }
        raw(&mut body, "\"generationConfig\":{\"");
        raw(&mut body, law.output_max_name);
        raw(&mut body, "\":");
        number(&mut body, request.output_max.0.max(1));
        write_thinking(&mut body, request);
        raw(&mut body, "},\"contents\":[");
        Head { bytes: body, ..Head::default() }
    }

    fn write(&self, turn: &Turn<'_, '_>, request: &ModelRequest, law: &Law, out: &mut Vec<u8>) {
        match turn {
            Turn::Answer(exchange) => {
                let seals = Seals { request, stand_in: law.foreign_call_seal };
                write_answer(out, exchange, &seals);
            }
            Turn::User { calls, parts } => {
                let mut aside: Vec<&MediaPart<'_>> = Vec::new();
                let mut comma = Comma::default();
                if !calls.is_empty() {
                    comma.before(out);
                    raw(out, "{\"role\":\"user\",\"parts\":");
                    list(out, calls, |out, call| aside.extend(write_result(out, call)));
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
        let mut results = turn.result_places().peekable();
        if results.peek().is_some() {
            origins.add_message(results);
        }
        trace_rest(turn, places, origins);
    }
}

/// Levels of thinking are a word of newer models, which cannot stop thinking; older ones refuse the
/// word, but can.
fn write_thinking(body: &mut Vec<u8>, request: &ModelRequest) {
    if request.without_reasoning {
        return;
    }
    let is_off = request.thinking == ThinkingMode::Disabled;
    let level = match request.effort {
        _ if is_old(request) => None,
        _ if is_off => Some("low"),
        Some(Effort::Low) => Some("low"),
        Some(Effort::Medium) => Some("medium"),
        Some(Effort::High | Effort::Xhigh | Effort::Max) => Some("high"),
        None => None,
    };
    let mut fields = Vec::new();
    let mut comma = Comma::default();
    if request.thinking.is_on() {
        comma.before(&mut fields);
        raw(&mut fields, "\"includeThoughts\":true");
    }
    if let Some(level) = level {
        comma.before(&mut fields);
        field(&mut fields, "thinkingLevel", level);
    }
    if is_off && is_old(request) {
        raw(&mut fields, "\"thinkingBudget\":0");
    }
    if !fields.is_empty() {
        raw(body, ",\"thinkingConfig\":{");
        body.extend_from_slice(&fields);
        body.push(b'}');
    }
}

fn is_old(request: &ModelRequest) -> bool {
    let name = request.model.as_str();
    let name = name.strip_prefix("models/").unwrap_or(name);
    name.starts_with("gemini-1") || name.starts_with("gemini-2")
}

fn write_tool(out: &mut Vec<u8>, tool: &LegalTool<'_>) {
    out.push(b'{');
    field(out, "name", tool.name);
    out.push(b',');
    field(out, "description", tool.description);
    raw(out, ",\"parametersJsonSchema\":");
    raw(out, &tool.schema);
    out.push(b'}');
}

/// Whose seals may go back.
struct Seals<'a> {
    request: &'a ModelRequest,
    stand_in: Option<&'static str>,
}

impl Seals<'_> {
    /// The seal of a call: its own if this model set it, the stand-in on the first call of a
    /// foreign answer, none on the others, which is how this provider seals calls made together.
    fn of<'c>(&self, call: &AnsweredCall<'c>, is_first: bool) -> Option<&'c str> {
        let is_own = call.model() == Some(&self.request.model);
        match call.signature() {
            _ if is_old(self.request) && !is_own => None,
            Some(seal) if is_own && !self.request.without_reasoning => Some(seal),
            None if is_own && !self.request.without_reasoning => None,
            _ if is_first => self.stand_in,
            _ => None,
        }
    }
}

fn write_answer(out: &mut Vec<u8>, exchange: &Exchange<'_>, seals: &Seals<'_>) {
    raw(out, "{\"role\":\"model\",\"parts\":[");
    let mut comma = Comma::default();
    let mut is_first = true;
    for part in exchange.answer() {
        match part {
            AnswerPart::Text(text) => {
                comma.before(out);
                write_text(out, text);
            }
            AnswerPart::Call(call) => {
                comma.before(out);
                let seal = seals.of(call, core::mem::replace(&mut is_first, false));
                write_call(out, call, seal);
            }
            AnswerPart::Provider(block, _) => {
                comma.before(out);
                raw(out, block.json.as_str().trim());
            }
            // Summaries of reasoning do not go back; the law keeps them out.
            AnswerPart::Thinking(..) => {}
        }
    }
    raw(out, "]}");
}

fn write_call(out: &mut Vec<u8>, call: &AnsweredCall<'_>, seal: Option<&str>) {
    raw(out, "{\"functionCall\":{");
    field(out, "id", call.id());
    out.push(b',');
    field(out, "name", call.name());
    raw(out, ",\"args\":");
    raw(out, call.input());
    out.push(b'}');
    if let Some(seal) = seal {
        out.push(b',');
        field(out, "thoughtSignature", seal);
    }
    out.push(b'}');
}

/// Writes a result and returns the media that has to follow it.
fn write_result<'c, 'a>(out: &mut Vec<u8>, call: &'c AnsweredCall<'a>) -> Vec<&'c MediaPart<'a>> {
    let (text, media) = call.result().text_and_media();
    raw(out, "{\"functionResponse\":{");
    field(out, "id", call.id());
    out.push(b',');
    field(out, "name", call.name());
    raw(out, ",\"response\":{");
    field(out, if call.result().is_error() { "error" } else { "output" }, &text);
    raw(out, "}}}");
    media
}

fn write_user(out: &mut Vec<u8>, aside: &[&MediaPart<'_>], parts: &[UserPart<'_>]) {
    raw(out, "{\"role\":\"user\",\"parts\":[");
    let mut comma = Comma::default();
    for item in aside {
        comma.before(out);
        write_media(out, item);
    }
    for part in parts {
        comma.before(out);
        match part {
            UserPart::Text(text) => write_text(out, text),
            UserPart::Media(item) => write_media(out, item),
        }
    }
    raw(out, "]}");
}

fn write_text(out: &mut Vec<u8>, text: &str) {
    out.push(b'{');
    field(out, "text", text);
    out.push(b'}');
}

fn write_media(out: &mut Vec<u8>, item: &MediaPart<'_>) {
    raw(out, "{\"inlineData\":{\"mimeType\":");
    string(out, item.media_type);
    // Checked to be base64 by the step before, so there is nothing to escape.
    raw(out, ",\"data\":\"");
    raw(out, item.data);
    raw(out, "\"}}");
}
