//! Renders blocks in the wire format that readers of transcripts expect.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use windlass_vocabulary::{
    ContentBlock, Json, MediaContent, ProviderBlock, ThinkingBlock, ToolCall, ToolCallId, ToolName,
    ToolResult, ToolResultPart, WireFormat,
};

pub(super) fn to_json_string(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_else(|_| String::from("\"\""))
}

/// The JSON unchanged but on one line; an empty object if it is invalid.
pub(super) fn to_raw_json(json: &Json) -> String {
    match serde_json::from_str::<&RawValue>(json.as_str()) {
        // Outside of strings, line breaks are only between tokens; inside they are escaped.
        Ok(raw) => raw.get().replace(['\n', '\r'], " "),
        Err(_) => String::from("{}"),
    }
}

pub(super) fn render_api_block(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => format!(r#"{{"type":"text","text":{}}}"#, to_json_string(text)),
        ContentBlock::Thinking(thinking) => {
            let signature = to_json_string(thinking.signature.as_deref().unwrap_or_default());
            let text = to_json_string(&thinking.text);
            format!(r#"{{"type":"thinking","thinking":{text},"signature":{signature}}}"#)
        }
        ContentBlock::ToolUse(call) => format!(
            r#"{{"type":"tool_use","id":{},"name":{},"input":{}}}"#,
            to_json_string(call.id.as_str()),
            to_json_string(call.name.as_str()),
            to_raw_json(&call.input)
        ),
        ContentBlock::ToolResult(result) => render_api_result(result),
        ContentBlock::Media(media) => render_api_media(media),
        ContentBlock::Provider(block) => to_raw_json(&block.json),
    }
}

pub(super) fn render_api_result(result: &ToolResult) -> String {
    let content = match result.content.as_slice() {
        [ToolResultPart::Text(text)] => to_json_string(text),
        parts => {
            let part = |part: &ToolResultPart| match part {
                ToolResultPart::Text(text) => {
                    format!(r#"{{"type":"text","text":{}}}"#, to_json_string(text))
                }
                ToolResultPart::Media(media) => render_api_media(media),
            };
            format!("[{}]", parts.iter().map(part).collect::<Vec<_>>().join(","))
        }
    };
    let error = if result.is_error { r#","is_error":true"# } else { "" };
    let call = to_json_string(result.call.as_str());
    format!(r#"{{"tool_use_id":{call},"type":"tool_result","content":{content}{error}}}"#)
}

fn render_api_media(media: &MediaContent) -> String {
    let kind = if media.media_type.starts_with("image/") { "image" } else { "document" };
    format!(
        r#"{{"type":"{kind}","source":{{"type":"base64","media_type":{},"data":{}}}}}"#,
        to_json_string(&media.media_type),
        to_json_string(&media.data)
    )
}

/// The blocks of a message in that format, or its plain text. Blocks that no provider would accept
/// are left out.
pub(super) fn parse_blocks(content: &str) -> Vec<ContentBlock> {
    if let Ok(text) = serde_json::from_str::<String>(content) {
        return if text.is_empty() { Vec::new() } else { vec![ContentBlock::Text(text)] };
    }
    let blocks: Vec<&RawValue> = serde_json::from_str(content).unwrap_or_default();
    blocks.into_iter().filter_map(|raw| parse_block(raw.get())).collect()
}

#[derive(Deserialize)]
struct TranscriptApiBlock<'a> {
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
    source: Option<TranscriptMediaSource>,
}

#[derive(Deserialize)]
struct TranscriptMediaSource {
    media_type: Option<String>,
    data: Option<String>,
}

fn parse_block(raw: &str) -> Option<ContentBlock> {
    let api: TranscriptApiBlock<'_> = serde_json::from_str(raw).ok()?;
    Some(match api.kind.as_str() {
        "text" => ContentBlock::Text(api.text.filter(|text| !text.is_empty())?),
        "thinking" => ContentBlock::Thinking(ThinkingBlock {
            text: api.thinking.unwrap_or_default(),
            signature: api.signature.filter(|signature| !signature.is_empty()).map(Arc::from),
        }),
        "tool_use" => ContentBlock::ToolUse(ToolCall {
            id: ToolCallId::from(api.id?.as_str()),
            name: ToolName::from(api.name?.as_str()),
            input: Json::from_checked(api.input.map_or("{}", RawValue::get)),
            signature: None,
        }),
        "tool_result" => {
            let parts = api.content.map(|content| parse_blocks(content.get())).unwrap_or_default();
            let parts = parts.into_iter().filter_map(|block| match block {
                ContentBlock::Text(text) => Some(ToolResultPart::Text(text)),
                ContentBlock::Media(media) => Some(ToolResultPart::Media(media)),
                ContentBlock::Thinking(_)
                | ContentBlock::ToolUse(_)
                | ContentBlock::ToolResult(_)
                | ContentBlock::Provider(_) => None,
            });
            ContentBlock::ToolResult(ToolResult {
                call: ToolCallId::from(api.tool_use_id?.as_str()),
                content: parts.collect(),
                is_error: api.is_error.unwrap_or(false),
            })
        }
        "image" | "document" => {
            let source = api.source?;
            ContentBlock::Media(MediaContent {
                media_type: Arc::from(source.media_type?),
                data: Arc::from(source.data?),
                name: Arc::from(api.kind),
            })
        }
        kind => ContentBlock::Provider(ProviderBlock {
            wire: WireFormat::AnthropicMessages,
            kind: Arc::from(kind),
            is_reasoning: kind == "redacted_thinking",
            json: Json::from_checked(raw),
        }),
    })
}
