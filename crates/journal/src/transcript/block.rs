//! Blocks in the words of the wire that readers of transcripts expect.

use serde_json::value::RawValue;
use windlass_vocabulary::{Block, Json, Media, ResultPart, ToolResult};

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
