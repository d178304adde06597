//! Pieces of answers and blocks of messages, usage and failures: what several lines have in common.

use std::sync::Arc;

use windlass_vocabulary::{
    ContentBlock, Delta, FailureKind, Json, MediaContent, Millis, ModelFailure, ProviderBlock,
    ThinkingBlock, Tokens, ToolCall, ToolCallId, ToolInspection, ToolName, ToolResult,
    ToolResultPart, Usage, WireFormat,
};

use super::scenario_setup::ScenarioSetup;
use super::token_reader::TokenReader;

/// One piece of an answer. What is whole is streamed first, as a server would.
pub(crate) fn parse_delta(
    piece: &mut TokenReader,
    setup: &ScenarioSetup,
    deltas: &mut Vec<Delta>,
) -> Result<(), String> {
    match piece.expect_word("a piece of an answer")?.as_str() {
        "text" => {
            let text = piece.expect_text("what it says")?;
            deltas.push(Delta::Text(text.clone()));
            deltas.push(Delta::Block(ContentBlock::Text(text)));
        }
        "think" => {
            let thinking = parse_thinking(piece)?;
            deltas.push(Delta::Thinking(thinking.text.clone()));
            deltas.push(Delta::Block(ContentBlock::Thinking(thinking)));
        }
        "provider" => deltas.push(Delta::Block(parse_provider_block(piece)?)),
        "partial" => deltas.push(Delta::Text(piece.expect_text("the piece")?)),
        "opening" => {
            let (id, name) = parse_call_name(piece)?;
            deltas.push(Delta::CallStarted { id, name });
            if let Some(input) = piece.next_text() {
                deltas.push(Delta::CallInput(input));
            }
        }
        "call" => {
            let call = parse_call(piece)?;
            let mut inspection = setup.inspect(&call.name);
            if piece.accept("invalid") {
                inspection =
                    ToolInspection::from_problem(piece.expect_text("what is wrong with it")?);
            }
            let id = call.id.clone();
            let name = call.name.clone();
            deltas.push(Delta::CallStarted { id, name });
            deltas.push(Delta::Call { call, inspection });
        }
        "cleared" => {
            let results = piece.next_number().ok_or("how many results were cleared")?;
            let tokens = Tokens(piece.next_number().ok_or("what that saved")?);
            deltas.push(Delta::Cleared { results, tokens });
        }
        "usage" => deltas.push(Delta::Usage(parse_usage(piece)?)),
        other => return Err(format!("an answer has no piece called `{other}`")),
    }
    Ok(())
}

pub(crate) fn parse_block(piece: &mut TokenReader) -> Result<ContentBlock, String> {
    Ok(match piece.expect_word("a block")?.as_str() {
        "text" => ContentBlock::Text(piece.expect_text("what it says")?),
        "think" => ContentBlock::Thinking(parse_thinking(piece)?),
        "call" => ContentBlock::ToolUse(parse_call(piece)?),
        "image" => ContentBlock::Media(build_image(&piece.expect_word("an image's name")?)),
        "provider" => parse_provider_block(piece)?,
        "result" => {
            let call = ToolCallId::from(piece.expect_word("a call's id")?.as_str());
            let is_error = piece.accept("failed");
            let mut result =
                ToolResult::from_text(call, piece.expect_text("the result")?, is_error);
            while piece.accept("image") {
                let media = build_image(&piece.expect_word("an image's name")?);
                result.content.push(ToolResultPart::Media(media));
            }
            ContentBlock::ToolResult(result)
        }
        other => return Err(format!("a message has no block called `{other}`")),
    })
}

fn parse_thinking(piece: &mut TokenReader) -> Result<ThinkingBlock, String> {
    let text = piece.expect_text("what it thinks")?;
    let signature = match piece.accept("sealed") {
        true => Some(Arc::from(piece.expect_word("the seal")?)),
        false => None,
    };
    Ok(ThinkingBlock { text, signature })
}

fn parse_provider_block(piece: &mut TokenReader) -> Result<ContentBlock, String> {
    let kind = Arc::from(piece.expect_word("the provider's name for it")?);
    let json = piece.next_object().ok_or("a provider's block is JSON")?;
    let wire = match piece.accept("over") {
        true => parse_public_name(&piece.expect_word("a wire")?, "a wire")?,
        false => WireFormat::AnthropicMessages,
    };
    let is_reasoning = piece.accept("reasoning");
    Ok(ContentBlock::Provider(ProviderBlock { wire, kind, is_reasoning, json }))
}

fn parse_call_name(piece: &mut TokenReader) -> Result<(ToolCallId, ToolName), String> {
    let id = ToolCallId::from(piece.expect_word("a call's id")?.as_str());
    let name = ToolName::from(piece.expect_word("a tool's name")?.as_str());
    Ok((id, name))
}

fn parse_call(piece: &mut TokenReader) -> Result<ToolCall, String> {
    let (id, name) = parse_call_name(piece)?;
    let input = piece.next_object().unwrap_or_else(Json::empty_object);
    Ok(ToolCall { id, name, input, signature: None })
}

/// An image whose data is its name, which is sufficient for scenarios. It starts like a PNG,
/// because normalization would otherwise reject it.
pub(crate) fn build_image(name: &str) -> MediaContent {
    let data = format!("iVBORw0KGgo{name}");
    let data: String = data.chars().filter(char::is_ascii_alphanumeric).collect();
    let whole = data.len() / 4 * 4;
    MediaContent {
        media_type: Arc::from("image/png"),
        data: Arc::from(data.get(..whole).unwrap_or("")),
        name: Arc::from(name),
    }
}

/// `in 100 out 20 write 5 read 5`, each part optional.
pub(crate) fn parse_usage(words: &mut TokenReader) -> Result<Usage, String> {
    let mut usage = Usage::default();
    while let Some(key) = words.next_word() {
        let tokens = Tokens(words.expect_number("a number of tokens")?);
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
pub(crate) fn parse_failure(words: &mut TokenReader) -> Result<ModelFailure, String> {
    let kind: FailureKind =
        parse_public_name(&words.expect_word("why it fails")?, "a kind of failure")?;
    let retry_after = match words.accept("after") {
        true => Some(Millis(words.expect_number("milliseconds")?)),
        false => None,
    };
    let message = words.next_text().unwrap_or_else(|| public_name(&kind));
    Ok(ModelFailure { retry_after, ..ModelFailure::new(kind, message) })
}

/// A member of a closed list by its public name.
pub(crate) fn parse_public_name<T: serde::de::DeserializeOwned>(
    word: &str,
    what: &str,
) -> Result<T, String> {
    let value = serde_json::Value::String(word.to_owned());
    serde_json::from_value(value).map_err(|_| format!("`{word}` is not {what}"))
}

/// The public name of a member of a closed list.
pub(crate) fn public_name<T: serde::Serialize>(value: &T) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(name)) => name,
        _ => String::new(),
    }
}
