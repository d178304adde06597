//! Reads the fragments of one answer. Text grows until something else comes; calls are whole; a
//! finish reason makes an answer of it. Parts nobody here knows are kept verbatim.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::mem;

use windlass_vocabulary::{
    Block, ModelFailure, ModelName, Stop, Thinking, ToolCall, ToolCallId, ToolName, Usage,
};

use super::event::{Candidate, Chunk, Feedback, FunctionCall, Part, WireUsage};
use super::failure;
use crate::Decoded;
use crate::allowance::{Allowance, Purse};
use crate::calls::{Calls, arguments};
use crate::decode::{Flow, Interpret, Like, Piece, cut, nonsense, read};
use crate::law;
use crate::loose::{Count, Joined};
use crate::mold::Places;
use crate::write::{self, first_line};

/// Where one answer has got to.
#[derive(Debug, Default)]
pub(super) struct Reader {
    is_started: bool,
    text: Joined,
    thinking: Joined,
    calls_seen: u64,
    usage: Usage,
    stop: Option<(Stop, Option<String>)>,
    calls: Calls,
    purse: Purse,
}

impl Interpret for Reader {
    fn event(&mut self, data: &str, out: &mut Vec<Decoded>) -> Result<Flow, ModelFailure> {
        let chunk: Chunk<'_> = read(data)?;
        if chunk.has_error() {
            return Err(failure::in_stream(data));
        }
        self.purse.spend_bytes(data.len())?;
        self.start(&chunk, out);
        let has_usage = chunk.usage_metadata.is_some();
        self.count(chunk.usage_metadata, out);
        for candidate in chunk.candidates.into_iter().flatten() {
            if candidate.index.unwrap_or(0) == 0 && self.stop.is_none() {
                self.grow(candidate, out)?;
            }
        }
        if let Some(Feedback { block_reason: Some(reason), block_reason_message }) =
            chunk.prompt_feedback
        {
            let words = block_reason_message.unwrap_or(reason);
            self.stop = Some((Stop::Refusal, Some(first_line(&words))));
        }
        // There is no end marker: the reason and the count are the last things a server says.
        if self.stop.is_some() && has_usage {
            out.push(self.end());
            return Ok(Flow::Over);
        }
        Ok(Flow::More)
    }

    fn piece(&mut self, piece: &Piece<'_>, out: &mut Vec<Decoded>) -> Result<bool, ModelFailure> {
        let joined = match piece.like {
            Like::Text => &mut self.text,
            Like::Thinking => &mut self.thinking,
            Like::CallInput => return Ok(false),
        };
        let Some(text) = joined.push_quoted(piece.filling.text, piece.filling.is_escaped) else {
            return Ok(false);
        };
        self.purse.spend_bytes(piece.bytes)?;
        if piece.has_usage {
            let [prompt, cached, candidates, thoughts, tool_use] = piece.filling.counts;
            self.usage = usage_of(WireUsage {
                prompt_token_count: Count::sane(prompt),
                cached_content_token_count: Count::sane(cached),
                candidates_token_count: Count::sane(candidates),
                thoughts_token_count: Count::sane(thoughts),
                tool_use_prompt_token_count: Count::sane(tool_use),
            });
            out.push(Decoded::Usage(self.usage));
        }
        piece.like.show(text, out);
        Ok(true)
    }

    fn places(&self, _: Like) -> &'static Places {
        &Places {
            text: &["candidates", "content", "parts", "text"],
            noise: &["totalTokenCount", "tokenCount"],
            counts: &[
                &["usageMetadata", "promptTokenCount"],
                &["usageMetadata", "cachedContentTokenCount"],
                &["usageMetadata", "candidatesTokenCount"],
                &["usageMetadata", "thoughtsTokenCount"],
                &["usageMetadata", "toolUsePromptTokenCount"],
            ],
        }
    }

    fn allow(&mut self, allowance: Allowance) {
        self.purse = Purse::new(allowance);
    }

    fn name(&mut self, name: String) {
        self.calls.name_answer(Some(&name));
    }

    fn end(&mut self) -> Decoded {
        match self.stop.take() {
            Some((stop, detail)) => Decoded::Ended { stop, usage: self.usage, detail },
            None => cut(),
        }
    }
}

impl Reader {
    fn start(&mut self, chunk: &Chunk<'_>, out: &mut Vec<Decoded>) {
        if mem::replace(&mut self.is_started, true) {
            return;
        }
        let message_id = chunk.response_id.as_deref().filter(|id| !id.is_empty()).map(String::from);
        let model = chunk.model_version.as_deref().filter(|name| !name.is_empty());
        self.calls.name_answer(message_id.as_deref());
        out.push(Decoded::Started { message_id, model: model.map(ModelName::from) });
    }

    fn grow(
        &mut self,
        candidate: Candidate<'_>,
        out: &mut Vec<Decoded>,
    ) -> Result<(), ModelFailure> {
        for part in candidate.content.and_then(|content| content.parts).into_iter().flatten() {
            self.grow_by_part(part.get(), out)?;
        }
        let Some(reason) = candidate.finish_reason.filter(|reason| !reason.is_empty()) else {
            return Ok(());
        };
        let words = candidate.finish_message.map(|message| first_line(&message));
        let stop = match &*reason {
            "STOP" => (Stop::EndTurn, None),
            "MAX_TOKENS" => (Stop::OutputLimit, None),
            "CONTINUATION" => (Stop::Pause, None),
            "SAFETY" | "RECITATION" | "LANGUAGE" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII"
            | "IMAGE_SAFETY" => (Stop::Refusal, Some(words.unwrap_or_else(|| reason.into_owned()))),
            "MALFORMED_FUNCTION_CALL"
            | "UNEXPECTED_TOOL_CALL"
            | "TOO_MANY_TOOL_CALLS"
            | "MALFORMED_RESPONSE" => {
                let words = words.unwrap_or_else(|| reason.into_owned());
                return Err(nonsense(format!("the model wrote what cannot be read: {words}")));
            }
            other => (Stop::EndTurn, Some(format!("finish reason {}", first_line(other)))),
        };
        self.close_thinking(out);
        self.close_text(out);
        self.stop = Some(stop);
        Ok(())
    }

    fn grow_by_part(&mut self, json: &str, out: &mut Vec<Decoded>) -> Result<(), ModelFailure> {
        let Part { text, thought, thought_signature, function_call } = read(json)?;
        let seal = thought_signature.filter(|seal| !seal.is_empty());
        match (text, function_call) {
            (_, Some(call)) => {
                self.close_thinking(out);
                self.close_text(out);
                self.purse.spend_block()?;
                self.finish_call(&call, seal.as_deref(), out);
            }
            (Some(piece), None) if thought == Some(true) => {
                self.close_text(out);
                Like::Thinking.show(self.thinking.push(&piece), out);
            }
            (Some(piece), None) => {
                self.close_thinking(out);
                Like::Text.show(self.text.push(&piece), out);
                if let Some(seal) = seal {
                    self.close_text(out);
                    self.purse.spend_block()?;
                    out.push(Decoded::Block(sealed_part(&seal)));
                }
            }
            (None, None) => {
                self.close_thinking(out);
                self.close_text(out);
                self.purse.spend_block()?;
                out.push(Decoded::Block(unknown_part(json)));
            }
        }
        Ok(())
    }

    fn finish_call(&mut self, call: &FunctionCall<'_>, seal: Option<&str>, out: &mut Vec<Decoded>) {
        let id = match call.id.as_deref().unwrap_or_default() {
            "" => {
                let derived = self.calls.derived_id(self.calls_seen);
                ToolCallId::from(derived.as_str())
            }
            id => ToolCallId::from(id),
        };
        self.calls_seen = self.calls_seen.saturating_add(1);
        let name = ToolName::from(call.name.as_deref().unwrap_or_default());
        let words = call.args.map_or("", |args| args.get());
        let words = if words == "null" { "" } else { words };
        out.push(Decoded::CallStarted { id: id.clone(), name: name.clone() });
        Like::CallInput.show(words, out);
        let (input, problem) = arguments(words);
        let call = ToolCall { id, name, input, signature: seal.map(Arc::from) };
        out.push(self.calls.complete(call, problem));
    }

    fn close_text(&mut self, out: &mut Vec<Decoded>) {
        let text = mem::take(&mut self.text);
        if !text.is_empty() {
            out.push(Decoded::Block(Block::Text(text.into_text())));
        }
    }

    /// Summaries of reasoning are for people; what the model needs back is in the seals.
    fn close_thinking(&mut self, out: &mut Vec<Decoded>) {
        let thinking = mem::take(&mut self.thinking);
        if !thinking.is_empty() {
            let thinking = Thinking { text: thinking.into_text(), signature: None };
            out.push(Decoded::Block(Block::Thinking(thinking)));
        }
    }

    fn count(&mut self, usage: Option<WireUsage>, out: &mut Vec<Decoded>) {
        let Some(usage) = usage else { return };
        self.usage = usage_of(usage);
        out.push(Decoded::Usage(self.usage));
    }
}

fn usage_of(usage: WireUsage) -> Usage {
    let cached = usage.cached_content_token_count.tokens();
    let prompt = usage.prompt_token_count.tokens() + usage.tool_use_prompt_token_count.tokens();
    Usage {
        input: prompt.less(cached),
        output: usage.candidates_token_count.tokens() + usage.thoughts_token_count.tokens(),
        cache_write: windlass_vocabulary::Tokens(0),
        cache_read: cached,
    }
}

/// A seal on text goes back on an empty part behind it, which is how the server itself sends seals
/// that come late.
fn sealed_part(seal: &str) -> Block {
    let mut json = Vec::from(*b"{\"text\":\"\",");
    write::field(&mut json, "thoughtSignature", seal);
    json.push(b'}');
    provider("sealed_part", &String::from_utf8(json).unwrap_or_default())
}

fn unknown_part(json: &str) -> Block {
    provider("part", json)
}

fn provider(kind: &str, json: &str) -> Block {
    Block::Provider(law::GEMINI.block(kind, json))
}
