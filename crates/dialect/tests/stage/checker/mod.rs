//! The rules of each wire, checked on the body as the provider would see it. Written from the
//! providers' rules and apart from the encoders, so that neither repeats the other's mistakes.

mod anthropic_messages;
mod gemini;
mod openai_chat;
mod openai_responses;

use serde_json::Value;
use windlass_vocabulary::WireFormat;

/// Every rule the body breaks.
pub fn breaches(wire: WireFormat, body: &[u8]) -> Vec<String> {
    match wire {
        WireFormat::AnthropicMessages => anthropic_messages::breaches(body),
        WireFormat::OpenaiChat => openai_chat::breaches(body),
        WireFormat::OpenaiResponses => openai_responses::breaches(body),
        WireFormat::Gemini => gemini::breaches(body),
    }
}

/// Where a body keeps its messages.
pub fn messages(wire: WireFormat, body: &Value) -> Vec<Value> {
    let key = match wire {
        WireFormat::AnthropicMessages | WireFormat::OpenaiChat => "messages",
        WireFormat::OpenaiResponses => "input",
        WireFormat::Gemini => "contents",
    };
    body[key].as_array().cloned().unwrap_or_default()
}

/// Tools by name and schema.
fn check_tools(tools: &[(Value, Value)], chars_max: usize, broken: &mut Vec<String>) {
    let mut names = std::collections::BTreeSet::new();
    for (name, schema) in tools {
        let name = name.as_str().unwrap_or_default().to_string();
        if !is_name(&name, chars_max) || !names.insert(name.clone()) {
            broken.push(format!("tool name {name}"));
        }
        let is_plain = ["anyOf", "oneOf", "allOf"].iter().all(|word| schema.get(word).is_none());
        if schema["type"] != "object" || !is_plain {
            broken.push(format!("schema {schema}"));
        }
    }
}

/// A tool that the provider runs itself; it brings its own schema.
fn is_servers(tool: &Value) -> bool {
    tool["type"].as_str().is_some_and(|kind| kind.starts_with("web_search"))
}

fn is_name(name: &str, chars_max: usize) -> bool {
    (1..=chars_max).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

fn is_blank(value: &Value) -> bool {
    value.as_str().unwrap_or_default().trim().is_empty()
}
