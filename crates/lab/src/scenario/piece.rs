//! Pieces of answers and blocks of messages, usage and failures: what several lines have in common.

use std::sync::Arc;

use windlass_vocabulary::{
    Block, Delta, FailureKind, Inspection, Json, Media, Millis, ModelFailure, ProviderBlock,
    ResultPart, Thinking, Tokens, ToolCall, ToolCallId, ToolName, ToolResult, Usage, Wire,
};

use super::setup::Setup;
use super::token::Words;

/// One piece of an answer. What is whole is streamed first, as a server would.
pub(crate) fn delta(
    piece: &mut Words,
    setup: &Setup,
    deltas: &mut Vec<Delta>,
) -> Result<(), String> {
    match piece.word("a piece of an answer")?.as_str() {
        "text" => {
            let text = piece.text("what it says")?;
            deltas.push(Delta::Text(text.clone()));
            deltas.push(Delta::Block(Block::Text(text)));
        }
        "think" => {
            let thinking = thinking(piece)?;
            deltas.push(Delta::Thinking(thinking.text.clone()));
            deltas.push(Delta::Block(Block::Thinking(thinking)));
        }
        "provider" => deltas.push(Delta::Block(provider(piece)?)),
        "partial" => deltas.push(Delta::Text(piece.text("the piece")?)),
        "opening" => {
            let (id, name) = call_name(piece)?;
            deltas.push(Delta::CallStarted { id, name });
            if let Some(input) = piece.next_text() {
                deltas.push(Delta::CallInput(input));
            }
        }
        "call" => {
            let call = call(piece)?;
            let mut inspection = setup.inspect(&call.name);
            if piece.accept("invalid") {
                inspection = Inspection::refused(piece.text("what is wrong with it")?);
            }
            let (id, name) = (call.id.clone(), call.name.clone());
            deltas.push(Delta::CallStarted { id, name });
            deltas.push(Delta::Call { call, inspection });
        }
        "cleared" => {
            let results = piece.next_number().ok_or("how many results were cleared")?;
            let tokens = Tokens(piece.next_number().ok_or("what that saved")?);
            deltas.push(Delta::Cleared { results, tokens });
        }
        "usage" => deltas.push(Delta::Usage(usage(piece)?)),
        other => return Err(format!("an answer has no piece called `{other}`")),
    }
    Ok(())
}

pub(crate) fn block(piece: &mut Words) -> Result<Block, String> {
    Ok(match piece.word("a block")?.as_str() {
        "text" => Block::Text(piece.text("what it says")?),
        "think" => Block::Thinking(thinking(piece)?),
        "call" => Block::ToolUse(call(piece)?),
        "image" => Block::Media(image(&piece.word("an image's name")?)),
        "provider" => provider(piece)?,
        "result" => {
            let call = ToolCallId::from(piece.word("a call's id")?.as_str());
            let is_error = piece.accept("failed");
            let mut result = ToolResult::text(call, piece.text("the result")?, is_error);
            while piece.accept("image") {
                let media = image(&piece.word("an image's name")?);
                result.content.push(ResultPart::Media(media));
            }
            Block::ToolResult(result)
        }
        other => return Err(format!("a message has no block called `{other}`")),
    })
}

fn thinking(piece: &mut Words) -> Result<Thinking, String> {
    let text = piece.text("what it thinks")?;
    let signature = match piece.accept("sealed") {
        true => Some(Arc::from(piece.word("the seal")?)),
        false => None,
    };
    Ok(Thinking { text, signature })
}

fn provider(piece: &mut Words) -> Result<Block, String> {
    let kind = Arc::from(piece.word("the provider's name for it")?);
    let json = piece.next_object().ok_or("a provider's block is JSON")?;
    let wire = match piece.accept("over") {
        true => named(&piece.word("a wire")?, "a wire")?,
        false => Wire::AnthropicMessages,
    };
    let is_reasoning = piece.accept("reasoning");
    Ok(Block::Provider(ProviderBlock { wire, kind, is_reasoning, json }))
}

fn call_name(piece: &mut Words) -> Result<(ToolCallId, ToolName), String> {
    let id = ToolCallId::from(piece.word("a call's id")?.as_str());
    let name = ToolName::from(piece.word("a tool's name")?.as_str());
    Ok((id, name))
}

fn call(piece: &mut Words) -> Result<ToolCall, String> {
    let (id, name) = call_name(piece)?;
    let input = piece.next_object().unwrap_or_else(Json::empty_object);
    Ok(ToolCall { id, name, input, signature: None })
}

/// An image whose bytes are its name, which is all a scenario needs of them. It begins like a PNG,
/// or normalisation would see that it is none.
pub(crate) fn image(name: &str) -> Media {
    let data = format!("iVBORw0KGgo{name}");
    let data: String = data.chars().filter(char::is_ascii_alphanumeric).collect();
    let whole = data.len() / 4 * 4;
    Media {
        media_type: Arc::from("image/png"),
        data: Arc::from(data.get(..whole).unwrap_or("")),
        name: Arc::from(name),
    }
}

/// `in 100 out 20 write 5 read 5`, each part optional.
pub(crate) fn usage(words: &mut Words) -> Result<Usage, String> {
    let mut usage = Usage::default();
    while let Some(key) = words.next_word() {
        let tokens = Tokens(words.number("a number of tokens")?);
        match key.as_str() {
            "in" => usage.input = tokens,
            "out" => usage.output = tokens,
            "write" => usage.cache_write = tokens,
            "read" => usage.cache_read = tokens,
            other => return Err(format!("usage has no `{other}`")),
        }
    }
    Ok(usage)
}

/// `overloaded after 5000 "its own words"`
pub(crate) fn failure(words: &mut Words) -> Result<ModelFailure, String> {
    let kind: FailureKind = named(&words.word("why it fails")?, "a kind of failure")?;
    let retry_after = match words.accept("after") {
        true => Some(Millis(words.number("milliseconds")?)),
        false => None,
    };
    let message = words.next_text().unwrap_or_else(|| name_of(&kind));
    Ok(ModelFailure { retry_after, ..ModelFailure::new(kind, message) })
}

/// A member of a closed list by its public name.
pub(crate) fn named<T: serde::de::DeserializeOwned>(word: &str, what: &str) -> Result<T, String> {
    let value = serde_json::Value::String(word.to_owned());
    serde_json::from_value(value).map_err(|_| format!("`{word}` is not {what}"))
}

/// The public name of a member of a closed list.
pub(crate) fn name_of<T: serde::Serialize>(value: &T) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(name)) => name,
        _ => String::new(),
    }
}
