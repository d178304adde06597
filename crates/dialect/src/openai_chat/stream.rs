//! Reads the chunks of one answer. They have no types and no block boundaries: text grows, calls
//! grow by index, and all of it is complete when a finish reason comes. So nothing counts before
//! that, and a cut answer leaves nothing behind.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::mem;

use windlass_vocabulary::{
    Block, ModelFailure, ModelName, Stop, Thinking, ToolCall, ToolCallId, ToolName, Usage,
};

use super::event::{CallPiece, Choice, Chunk, Delta, WireUsage};
use super::failure;
use crate::Decoded;
use crate::allowance::{Allowance, Purse};
use crate::calls::{CUT_SHORT, Calls, arguments, is_cut};
use crate::decode::{DONE, Flow, Interpret, Like, Piece, cut, nonsense, read};
use crate::fault::complaint;
use crate::loose::{Fragment, Joined};
use crate::mold::Places;

/// Where one answer has got to.
#[derive(Debug, Default)]
pub(super) struct Reader {
    is_started: bool,
    text: Joined,
    thinking: Joined,
    drafts: Vec<CallDraft>,
    is_refused: bool,
    usage: Usage,
    stop: Option<(Stop, Option<String>)>,
    calls: Calls,
    purse: Purse,
}

#[derive(Debug)]
struct CallDraft {
    index: Option<u64>,
    /// As the server gave it; empty if it gave none.
    wire_id: String,
    id: ToolCallId,
    name: ToolName,
    arguments: Joined,
}

impl Interpret for Reader {
    fn event(&mut self, data: &str, out: &mut Vec<Decoded>) -> Result<Flow, ModelFailure> {
        if data.trim() == DONE {
            return self.done(out);
        }
        let chunk: Chunk<'_> = read(data)?;
        if chunk.has_error() {
            return Err(failure::in_stream(&complaint(data).unwrap_or_default()));
        }
        self.purse.spend_bytes(data.len())?;
        self.start(&chunk, out);
        for choice in chunk.choices.into_iter().flatten() {
            if choice.index.unwrap_or(0) == 0 && self.stop.is_none() {
                self.grow(choice, out)?;
            }
        }
        self.count(chunk.usage, out);
        Ok(Flow::More)
    }

    fn piece(&mut self, piece: &Piece<'_>, out: &mut Vec<Decoded>) -> Result<bool, ModelFailure> {
        let joined = match piece.like {
            Like::Text => &mut self.text,
            Like::Thinking => &mut self.thinking,
            // Arguments are shown only for the call that began last.
            Like::CallInput => match self.drafts.last_mut() {
                Some(draft) => &mut draft.arguments,
                None => return Ok(false),
            },
        };
        let Some(text) = joined.push_quoted(piece.filling.text, piece.filling.is_escaped) else {
            return Ok(false);
        };
        self.purse.spend_bytes(piece.bytes)?;
        piece.like.show(text, out);
        Ok(true)
    }

    fn places(&self, like: Like) -> &'static Places {
        match like {
            Like::Text => {
                &Places { text: &["choices", "delta", "content"], noise: NOISE, counts: &[] }
            }
            Like::Thinking => &Places {
                text: &["choices", "delta", "reasoning_content"],
                noise: NOISE,
                counts: &[],
            },
            Like::CallInput => &Places {
                text: &["choices", "delta", "tool_calls", "function", "arguments"],
                noise: NOISE,
                counts: &[],
            },
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
        let message_id = chunk.id.as_deref().filter(|id| !id.is_empty()).map(String::from);
        self.calls.name_answer(message_id.as_deref());
        out.push(Decoded::Started {
            message_id,
            model: chunk.model.as_deref().filter(|name| !name.is_empty()).map(ModelName::from),
        });
    }

    fn grow(&mut self, choice: Choice<'_>, out: &mut Vec<Decoded>) -> Result<(), ModelFailure> {
        let Delta { content, refusal, reasoning_content, reasoning, tool_calls } =
            choice.delta.unwrap_or_default();
        for piece in [reasoning_content.or(reasoning)].into_iter().flatten() {
            Like::Thinking.show(self.thinking.push(&piece), out);
        }
        for piece in content.into_iter().flat_map(|content| content.0) {
            Like::Text.show(self.text.push(&piece), out);
        }
        if let Some(piece) = refusal {
            let words = self.text.push(&piece);
            self.is_refused |= !words.is_empty();
            Like::Text.show(words, out);
        }
        for piece in tool_calls.into_iter().flatten() {
            self.grow_call(piece, out)?;
        }
        match choice.finish_reason.as_deref() {
            None | Some("") => Ok(()),
            Some("error") => Err(nonsense("the server gave up in the middle of the answer")),
            Some(reason) => {
                self.finish_answer(reason, out);
                Ok(())
            }
        }
    }

    fn grow_call(
        &mut self,
        piece: CallPiece<'_>,
        out: &mut Vec<Decoded>,
    ) -> Result<(), ModelFailure> {
        let function = piece.function.unwrap_or_default();
        let wire_id = piece.id.as_deref().unwrap_or_default();
        let name = function.name.as_deref().unwrap_or_default();
        let known =
            self.drafts.iter().rposition(|draft| draft.is_meant(piece.index, wire_id, name));
        let place = match known {
            Some(place) => place,
            None => {
                self.purse.spend_block()?;
                self.begin_call(piece.index, wire_id, name, out);
                self.drafts.len().saturating_sub(1)
            }
        };
        let is_last = place + 1 == self.drafts.len();
        let Some(draft) = self.drafts.get_mut(place) else {
            return Ok(());
        };
        if let Some(json) = function.arguments {
            let words = match serde_json::from_str::<Fragment<'_>>(json.get()) {
                Ok(piece) => draft.arguments.push(&piece),
                // Some servers send the object itself, whole.
                Err(_) if json.get() != "null" => draft.arguments.push_str(json.get()),
                Err(_) => "",
            };
            if is_last {
                Like::CallInput.show(words, out);
            }
        }
        Ok(())
    }

    fn begin_call(
        &mut self,
        index: Option<u64>,
        wire_id: &str,
        name: &str,
        out: &mut Vec<Decoded>,
    ) {
        let number = u64::try_from(self.drafts.len()).unwrap_or(u64::MAX);
        let id = match wire_id {
            "" => ToolCallId::from(self.calls.derived_id(number).as_str()),
            id => ToolCallId::from(id),
        };
        let name = ToolName::from(name);
        out.push(Decoded::CallStarted { id: id.clone(), name: name.clone() });
        self.drafts.push(CallDraft {
            index,
            wire_id: String::from(wire_id),
            id,
            name,
            arguments: Joined::default(),
        });
    }

    fn finish_answer(&mut self, reason: &str, out: &mut Vec<Decoded>) {
        let (stop, detail) = self.stop_of(reason);
        let thinking = mem::take(&mut self.thinking);
        if !thinking.is_empty() {
            let thinking = Thinking { text: thinking.into_text(), signature: None };
            out.push(Decoded::Block(Block::Thinking(thinking)));
        }
        let text = mem::take(&mut self.text);
        if !text.is_empty() {
            out.push(Decoded::Block(Block::Text(text.into_text())));
        }
        for draft in mem::take(&mut self.drafts) {
            let words = draft.arguments.into_text();
            let is_cut = is_cut(stop) && words.trim().is_empty();
            let (input, problem) = arguments(&words);
            let call = ToolCall { id: draft.id, name: draft.name, input, signature: None };
            let problem = if is_cut { Some(String::from(CUT_SHORT)) } else { problem };
            out.push(self.calls.complete(call, problem));
        }
        self.stop = Some((stop, detail));
    }

    fn stop_of(&self, reason: &str) -> (Stop, Option<String>) {
        match reason {
            "length" => (Stop::OutputLimit, None),
            "model_length" => (Stop::WindowFull, None),
            "content_filter" => (Stop::Refusal, None),
            _ if self.is_refused => (Stop::Refusal, None),
            "stop" | "tool_calls" | "function_call" => (Stop::EndTurn, None),
            other => {
                let detail = format!("finish reason {}", crate::write::first_line(other));
                (Stop::EndTurn, Some(detail))
            }
        }
    }

    /// Some servers never give a reason, but all say when they are done.
    fn done(&mut self, out: &mut Vec<Decoded>) -> Result<Flow, ModelFailure> {
        if !self.is_started {
            return Err(nonsense("the answer ended before it began"));
        }
        if self.stop.is_none() {
            self.finish_answer("stop", out);
        }
        out.push(self.end());
        Ok(Flow::Over)
    }

    fn count(&mut self, usage: Option<WireUsage>, out: &mut Vec<Decoded>) {
        let Some(usage) = usage else { return };
        let details = usage.prompt_tokens_details.unwrap_or_default();
        let hit = usage.prompt_cache_hit_tokens.tokens();
        let (read, written) =
            (details.cached_tokens.tokens().max(hit), details.cache_write_tokens.tokens());
        self.usage = Usage {
            input: usage.prompt_tokens.tokens().less(read).less(written),
            output: usage.completion_tokens.tokens(),
            cache_write: written,
            cache_read: read,
        };
        out.push(Decoded::Usage(self.usage));
    }
}

impl CallDraft {
    /// Is a piece meant for this call? Servers name calls by index, by id, by both, or by neither;
    /// some give every call the index zero, some repeat the id and the name in every piece.
    fn is_meant(&self, index: Option<u64>, wire_id: &str, name: &str) -> bool {
        let same_id = wire_id.is_empty() || wire_id == self.wire_id;
        match (index, self.index) {
            (Some(index), Some(own)) => index == own && same_id,
            _ if !wire_id.is_empty() => wire_id == self.wire_id,
            _ => name.is_empty(),
        }
    }
}

/// Padding that hides how long a piece is, and the time.
const NOISE: &[&str] = &["obfuscation", "created"];
