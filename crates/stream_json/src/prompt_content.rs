//! Parses the content of a prompt to blocks.

use serde_json::Value;
use windlass_vocabulary::{ContentBlock, MediaContent};

/// Its blocks, or what is wrong with them.
pub(crate) fn parse_blocks(content: &Value) -> Result<Vec<ContentBlock>, String> {
    match content {
        Value::String(text) => Ok(vec![ContentBlock::Text(text.clone())]),
        Value::Array(blocks) if !blocks.is_empty() => {
            blocks.iter().zip(1..).map(|(value, place)| parse_block(value, place)).collect()
        }
        Value::Array(_) => Err("`message.content` is an empty list".to_owned()),
        _ => Err("`message.content` is neither a text nor a list of blocks".to_owned()),
    }
}

/// The text, if it is nothing but one.
pub(crate) fn as_single_text(blocks: &[ContentBlock]) -> Option<&str> {
    match blocks {
        [ContentBlock::Text(text)] => Some(text),
        _ => None,
    }
}

fn parse_block(value: &Value, place: usize) -> Result<ContentBlock, String> {
    let wrong = |what: &str| format!("block {place} of `message.content`: {what}");
    let at = |path: &str| value.pointer(path).and_then(Value::as_str);
    match at("/type") {
        Some("text") => {
            let text = at("/text").ok_or_else(|| wrong("it has no `text`"))?;
            Ok(ContentBlock::Text(text.to_owned()))
        }
        Some(kind @ ("image" | "document")) => match at("/source/type") {
            Some("base64") => {
                let data = at("/source/data").ok_or_else(|| wrong("`source` has no `data`"))?;
                let usual = if kind == "image" { "image/png" } else { "application/pdf" };
                let media_type = at("/source/media_type").unwrap_or(usual);
                let name = at("/title").map_or_else(|| format!("{kind} {place}"), str::to_owned);
                Ok(ContentBlock::Media(MediaContent {
                    media_type: media_type.into(),
                    data: data.into(),
                    name: name.as_str().into(),
                }))
            }
            Some("text") if kind == "document" => {
                let text = at("/source/data").ok_or_else(|| wrong("`source` has no `data`"))?;
                Ok(ContentBlock::Text(text.to_owned()))
            }
            _ => Err(wrong("its `source` is not of type `base64`; send the data itself")),
        },
        Some(other) => Err(wrong(&format!("`{other}` blocks cannot be sent; use text or image"))),
        None => Err(wrong("it has no `type`")),
    }
}
