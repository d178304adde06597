//! Blocks in the words of the wire that readers of transcripts expect.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use windlass_vocabulary::{
    Block, Json, Media, ProviderBlock, ResultPart, Thinking, ToolCall, ToolCallId, ToolName,
    ToolResult, Wire,
};

/// A JSON string.
pub(super) fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_else(|_| String::from("\"\""))
}

/// JSON as it came, on one line; an empty object if it is none.
pub(super) fn raw(json: &Json) -> String {
    match serde_json::from_str::<&RawValue>(json.as_str()) {
        // A line break can only stand between tokens there: inside strings it is escaped.
        Ok(raw) => raw.get().replace(['\n', '\r'], " "),
        Err(_) => String::from("{}"),
    }
}

pub(super) fn api_block(block: &Block) -> String {
    match block {
        Block::Text(text) => format!(r#"{{"type":"text","text":{}}}"#, quoted(text)),
        Block::Thinking(thinking) => {
            let signature = quoted(thinking.signature.as_deref().unwrap_or_default());
            let text = quoted(&thinking.text);
            format!(r#"{{"type":"thinking","thinking":{text},"signature":{signature}}}"#)
        }
        Block::ToolUse(call) => format!(
            r#"{{"type":"tool_use","id":{},"name":{},"input":{}}}"#,
            quoted(call.id.as_str()),
            quoted(call.name.as_str()),
            raw(&call.input)
        ),
        Block::ToolResult(result) => api_result(result),
        Block::Media(media) => api_media(media),
        Block::Provider(block) => raw(&block.json),
    }
}

pub(super) fn api_result(result: &ToolResult) -> String {
    let content = match result.content.as_slice() {
        [ResultPart::Text(text)] => quoted(text),
        parts => {
            let part = |part: &ResultPart| match part {
                ResultPart::Text(text) => format!(r#"{{"type":"text","text":{}}}"#, quoted(text)),
                ResultPart::Media(media) => api_media(media),
            };
            format!("[{}]", parts.iter().map(part).collect::<Vec<_>>().join(","))
        }
    };
    let error = if result.is_error { r#","is_error":true"# } else { "" };
    let call = quoted(result.call.as_str());
    format!(r#"{{"tool_use_id":{call},"type":"tool_result","content":{content}{error}}}"#)
}

fn api_media(media: &Media) -> String {
    let kind = if media.media_type.starts_with("image/") { "image" } else { "document" };
    format!(
        r#"{{"type":"{kind}","source":{{"type":"base64","media_type":{},"data":{}}}}}"#,
        quoted(&media.media_type),
        quoted(&media.data)
    )
}

/// The blocks of a message of that wire, or its plain text. What no provider would take is left out.
pub(super) fn parsed(content: &str) -> Vec<Block> {
    if let Ok(text) = serde_json::from_str::<String>(content) {
        return if text.is_empty() { Vec::new() } else { vec![Block::Text(text)] };
    }
    let blocks: Vec<&RawValue> = serde_json::from_str(content).unwrap_or_default();
    blocks.into_iter().filter_map(|raw| parsed_block(raw.get())).collect()
}

#[derive(Deserialize)]
struct Api<'a> {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
    thinking: Option<String>,
    signature: Option<String>,
    id: Option<String>,
    name: Option<String>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    tool_use_id: Option<String>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    is_error: Option<bool>,
    source: Option<Source>,
}

#[derive(Deserialize)]
struct Source {
    media_type: Option<String>,
    data: Option<String>,
}

fn parsed_block(raw: &str) -> Option<Block> {
    let api: Api<'_> = serde_json::from_str(raw).ok()?;
    Some(match api.kind.as_str() {
        "text" => Block::Text(api.text.filter(|text| !text.is_empty())?),
        "thinking" => Block::Thinking(Thinking {
            text: api.thinking.unwrap_or_default(),
            signature: api.signature.filter(|signature| !signature.is_empty()).map(Arc::from),
        }),
        "tool_use" => Block::ToolUse(ToolCall {
            id: ToolCallId::from(api.id?.as_str()),
            name: ToolName::from(api.name?.as_str()),
            input: Json::from_checked(api.input.map_or("{}", RawValue::get)),
            signature: None,
        }),
        "tool_result" => {
            let parts = api.content.map(|content| parsed(content.get())).unwrap_or_default();
            let parts = parts.into_iter().filter_map(|block| match block {
                Block::Text(text) => Some(ResultPart::Text(text)),
                Block::Media(media) => Some(ResultPart::Media(media)),
                _ => None,
            });
            Block::ToolResult(ToolResult {
                call: ToolCallId::from(api.tool_use_id?.as_str()),
                content: parts.collect(),
                is_error: api.is_error.unwrap_or(false),
            })
        }
        "image" | "document" => {
            let source = api.source?;
            Block::Media(Media {
                media_type: Arc::from(source.media_type?),
                data: Arc::from(source.data?),
                name: Arc::from(api.kind),
            })
        }
        kind => Block::Provider(ProviderBlock {
            wire: Wire::AnthropicMessages,
            kind: Arc::from(kind),
            is_reasoning: kind == "redacted_thinking",
            json: Json::from_checked(raw),
        }),
    })
}
