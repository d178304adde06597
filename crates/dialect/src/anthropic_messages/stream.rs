//! Reads the events of one answer: `message_start`, blocks one after another, `message_delta`,
//! `message_stop`.
//!
//! A block counts when it is closed; what is open when the stream is cut never appears. Events and
//! deltas nobody knows are skipped, blocks nobody knows are kept verbatim. Anything out of order
//! voids the answer: half an answer is worse than none. What to do about it is the engine's.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use windlass_vocabulary::{ModelFailure, ModelName, Stop, Tokens, ToolCall, Usage};

use super::draft::{Draft, Finished, Started};
use super::event::{
    BlockDelta, BlockStart, BlockStop, Change, Head, MessageDelta, MessageStart, Opening, Part,
    StopDetails, WireUsage,
};
use super::failure;
use crate::Decoded;
use crate::allowance::{Allowance, Purse};
use crate::calls::{CUT_SHORT, Calls, is_cut};
use crate::decode::{Flow, Interpret, Like, Piece, cut, malformed, nonsense, read};
use crate::mold::Places;

/// Where one answer has got to.
#[derive(Debug, Default)]
pub(super) struct Reader {
    is_started: bool,
    open: Option<(u64, Draft)>,
    index_last: Option<u64>,
    /// A call without arguments, until it is sure that it was not merely cut short.
    held: Option<ToolCall>,
    calls: Calls,
    usage: Usage,
    stop: Option<(Stop, Option<String>)>,
    purse: Purse,
}

impl Interpret for Reader {
    fn event(&mut self, data: &str, out: &mut Vec<Decoded>) -> Result<Flow, ModelFailure> {
        let Head { kind } = read(data)?;
        match &*kind {
            "message_start" => self.start(read(data)?, out)?,
            "content_block_start" => self.open_block(data, out)?,
            "content_block_delta" => self.grow_block(data, out)?,
            "content_block_stop" => self.close_block(&read(data)?, out)?,
            "message_delta" => self.change(read(data)?, out)?,
            "message_stop" => return self.stop(out),
            "ping" => out.push(Decoded::Ping),
            "error" => return Err(failure::in_stream(data)),
            _ => {}
        }
        Ok(Flow::More)
    }

    fn piece(&mut self, piece: &Piece<'_>, out: &mut Vec<Decoded>) -> Result<bool, ModelFailure> {
        let joined = match (&mut self.open, piece.like) {
            (Some((_, Draft::Text(text))), Like::Text) => text,
            (Some((_, Draft::Thinking { text, .. })), Like::Thinking) => text,
            (Some((_, Draft::Call(call))), Like::CallInput) => &mut call.arguments,
            _ => return Ok(false),
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
            Like::Text => &Places { text: &["delta", "text"], noise: &[], counts: &[] },
            Like::Thinking => &Places { text: &["delta", "thinking"], noise: &[], counts: &[] },
            Like::CallInput => {
                &Places { text: &["delta", "partial_json"], noise: &[], counts: &[] }
            }
        }
    }

    fn allow(&mut self, allowance: Allowance) {
        self.purse = Purse::new(allowance);
    }

    fn name(&mut self, name: String) {
        self.calls.name_answer(Some(&name));
    }

    fn end(&mut self) -> Decoded {
        // The stop reason is the last thing an answer says; the rest is ceremony.
        match self.stop.take() {
            Some((stop, detail)) => Decoded::Ended { stop, usage: self.usage, detail },
            None => cut(),
        }
    }
}

impl Reader {
    fn start(
        &mut self,
        event: MessageStart<'_>,
        out: &mut Vec<Decoded>,
    ) -> Result<(), ModelFailure> {
        if self.is_started {
            return Err(nonsense("a second answer began in the same stream"));
        }
        self.is_started = true;
        let Opening { id, model, usage } = event.message.unwrap_or_default();
        let message_id = id.map(Cow::into_owned).filter(|id| !id.is_empty());
        self.calls.name_answer(message_id.as_deref());
        out.push(Decoded::Started {
            message_id,
            model: model.filter(|model| !model.is_empty()).map(|model| ModelName::from(&*model)),
        });
        self.count(usage, out);
        Ok(())
    }

    fn open_block(&mut self, data: &str, out: &mut Vec<Decoded>) -> Result<(), ModelFailure> {
        let BlockStart { index, content_block } = read(data)?;
        self.expect_content()?;
        if self.open.is_some() {
            return Err(nonsense("a block began before the one before it was closed"));
        }
        if self.index_last.is_some_and(|last| index <= last) {
            return Err(nonsense(format!("block {index} came twice or out of order")));
        }
        self.purse.spend_block()?;
        self.purse.spend_bytes(data.len())?;
        // The model went on, so the call before was complete.
        self.settle_held(Stop::EndTurn, out);
        let id_if_missing = self.calls.derived_id(index);
        let (draft, started) =
            Draft::begin(content_block.get(), &id_if_missing).map_err(|error| malformed(&error))?;
        match started {
            Started::Silently => {}
            Started::Text(text) => out.push(Decoded::Text(text)),
            Started::Thinking(text) => out.push(Decoded::Thinking(text)),
            Started::Call { id, name } => out.push(Decoded::CallStarted { id, name }),
        }
        self.open = Some((index, draft));
        self.index_last = Some(index);
        Ok(())
    }

    fn grow_block(&mut self, data: &str, out: &mut Vec<Decoded>) -> Result<(), ModelFailure> {
        let BlockDelta { index, delta } = read(data)?;
        self.expect_content()?;
        self.purse.spend_bytes(data.len())?;
        let draft = match &mut self.open {
            Some((open, draft)) if *open == index => draft,
            _ => {
                return Err(nonsense(format!("a piece came for block {index}, which is not open")));
            }
        };
        let Head { kind } = read(delta.get())?;
        let part: Part<'_> = match &*kind {
            "text_delta" | "thinking_delta" | "input_json_delta" | "signature_delta" => {
                read(delta.get())?
            }
            _ => Part::default(),
        };
        match (draft, part) {
            (Draft::Text(text), Part { text: Some(piece), .. }) => {
                Like::Text.show(text.push(&piece), out);
            }
            (Draft::Thinking { text, .. }, Part { thinking: Some(piece), .. }) => {
                Like::Thinking.show(text.push(&piece), out);
            }
            (Draft::Thinking { signature, .. }, Part { signature: Some(seal), .. }) => {
                *signature = Some(seal.into_owned());
            }
            (Draft::Call(call), Part { partial_json: Some(piece), .. }) => {
                Like::CallInput.show(call.arguments.push(&piece), out);
            }
            (Draft::Provider(block), _) => {
                block.grow(delta.get()).map_err(|error| malformed(&error))?;
            }
            _ => {}
        }
        Ok(())
    }

    fn close_block(
        &mut self,
        event: &BlockStop,
        out: &mut Vec<Decoded>,
    ) -> Result<(), ModelFailure> {
        let draft = match self.open.take() {
            Some((index, draft)) if index == event.index => draft,
            _ => {
                return Err(nonsense(format!("block {} ended, which is not open", event.index)));
            }
        };
        match draft.finish() {
            Finished::Nothing => {}
            Finished::Block(block) => out.push(Decoded::Block(block)),
            Finished::Call { call, problem } => {
                out.push(self.calls.complete(call, problem));
            }
            Finished::BareCall(call) => self.held = Some(call),
        }
        Ok(())
    }

    fn change(
        &mut self,
        event: MessageDelta<'_>,
        out: &mut Vec<Decoded>,
    ) -> Result<(), ModelFailure> {
        if !self.is_started {
            return Err(nonsense("the answer ended before it began"));
        }
        let Change { stop_reason, stop_details } = event.delta.unwrap_or_default();
        if let Some(reason) = stop_reason {
            if self.open.is_some() {
                return Err(nonsense("the answer ended inside a block"));
            }
            let stop = stop_of(&reason);
            self.settle_held(stop, out);
            let detail = detail_of(&reason, stop_details);
            self.stop = Some((stop, detail));
        }
        let edits = event.context_management.unwrap_or_default().applied_edits;
        for edit in edits.iter().filter(|edit| edit.cleared_tool_uses.tokens() > Tokens(0)) {
            let results = edit.cleared_tool_uses.tokens().0;
            let tokens = edit.cleared_input_tokens.tokens();
            out.push(Decoded::Cleared { results, tokens });
        }
        self.count(event.usage, out);
        Ok(())
    }

    fn stop(&mut self, out: &mut Vec<Decoded>) -> Result<Flow, ModelFailure> {
        if !self.is_started || self.open.is_some() {
            return Err(nonsense("the answer ended inside a block, or before it began"));
        }
        let (stop, detail) = self.stop.take().unwrap_or((Stop::EndTurn, None));
        self.settle_held(stop, out);
        out.push(Decoded::Ended { stop, usage: self.usage, detail });
        Ok(Flow::Over)
    }

    fn expect_content(&self) -> Result<(), ModelFailure> {
        if self.is_started && self.stop.is_none() {
            return Ok(());
        }
        Err(nonsense("a block came before the answer began or after it ended"))
    }

    fn count(&mut self, usage: Option<WireUsage>, out: &mut Vec<Decoded>) {
        let Some(usage) = usage else { return };
        self.usage = self.usage.max(&Usage {
            input: usage.input_tokens.tokens(),
            output: usage.output_tokens.tokens(),
            cache_write: usage.cache_creation_input_tokens.tokens(),
            cache_read: usage.cache_read_input_tokens.tokens(),
        });
        out.push(Decoded::Usage(self.usage));
    }

    /// The stop reason decides about a call without arguments: cut short, or complete.
    fn settle_held(&mut self, stop: Stop, out: &mut Vec<Decoded>) {
        if let Some(call) = self.held.take() {
            let problem = is_cut(stop).then(|| String::from(CUT_SHORT));
            out.push(self.calls.complete(call, problem));
        }
    }
}

fn stop_of(reason: &str) -> Stop {
    match reason {
        "max_tokens" => Stop::OutputLimit,
        "model_context_window_exceeded" => Stop::WindowFull,
        "pause_turn" | "compaction" => Stop::Pause,
        "refusal" => Stop::Refusal,
        _ => Stop::EndTurn,
    }
}

fn detail_of(reason: &str, details: Option<StopDetails<'_>>) -> Option<String> {
    let explanation = details.and_then(|details| details.explanation.or(details.category));
    match (explanation, reason) {
        (Some(text), _) => Some(crate::write::first_line(&text)),
        (
            None,
            "end_turn"
            | "tool_use"
            | "stop_sequence"
            | "max_tokens"
            | "pause_turn"
            | "refusal"
            | "model_context_window_exceeded",
        ) => None,
        (None, other) => Some(format!("stop reason {}", crate::write::first_line(other))),
    }
}
