//! Reads the events of one answer. Deltas are for showing; an item counts when it is done, and is
//! read from the copy that comes then. Only `response.completed` or `response.incomplete` makes an
//! answer of it.

use alloc::borrow::Cow;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::mem;

use windlass_vocabulary::{
    Block, ModelFailure, ModelName, Stop, ToolCall, ToolCallId, ToolName, Usage,
};

use super::event::{Head, Item, ItemEvent, PieceEvent, Response, ResponseEvent, WireUsage};
use super::failure;
use crate::Decoded;
use crate::allowance::{Allowance, Purse};
use crate::calls::{CUT_SHORT, Calls, arguments};
use crate::decode::{Flow, Interpret, Like, Piece, cut, nonsense, read};
use crate::law;
use crate::loose::Joined;
use crate::mold::Places;
use crate::write::first_line;

/// Where one answer has got to.
#[derive(Debug, Default)]
pub(super) struct Reader {
    is_started: bool,
    /// The call whose arguments may be shown.
    call_index: Option<u64>,
    done: BTreeSet<u64>,
    /// Joins what is shown, in case it is cut inside a character.
    shown: Joined,
    is_refused: bool,
    usage: Usage,
    calls: Calls,
    purse: Purse,
}

impl Interpret for Reader {
    fn event(&mut self, data: &str, out: &mut Vec<Decoded>) -> Result<Flow, ModelFailure> {
        let Head { kind } = read(data)?;
        match &*kind {
            "response.created" => self.start(&read(data)?, out)?,
            "response.output_text.delta" | "response.refusal.delta" => {
                self.show(data, Like::Text, out)?;
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.show(data, Like::Thinking, out)?;
            }
            "response.function_call_arguments.delta" => self.show_arguments(data, out)?,
            "response.output_item.added" => self.begin_item(&read(data)?, out)?,
            "response.output_item.done" => {
                let event: ItemEvent<'_> = read(data)?;
                let index = self.place(event.output_index);
                self.finish_item(index, event.item.get(), out)?;
            }
            "response.completed" | "response.incomplete" => {
                let event: ResponseEvent<'_> = read(data)?;
                return self.finish(event.response.get(), out);
            }
            "response.failed" => {
                let event: ResponseEvent<'_> = read(data)?;
                return Err(failure::failed(event.response.get()));
            }
            "error" => return Err(failure::bare(data)),
            "keepalive" | "ping" => out.push(Decoded::Ping),
            _ => {}
        }
        Ok(Flow::More)
    }

    fn piece(&mut self, piece: &Piece<'_>, out: &mut Vec<Decoded>) -> Result<bool, ModelFailure> {
        let filling = piece.filling;
        let Some(text) = self.shown.push_quoted(filling.text, filling.is_escaped) else {
            return Ok(false);
        };
        self.purse.spend_bytes(piece.bytes)?;
        piece.like.show(text, out);
        self.shown.forget();
        Ok(true)
    }

    fn places(&self, _: Like) -> &'static Places {
        &Places { text: &["delta"], noise: &["sequence_number", "obfuscation"], counts: &[] }
    }

    fn allow(&mut self, allowance: Allowance) {
        self.purse = Purse::new(allowance);
    }

    fn name(&mut self, name: String) {
        self.calls.name_answer(Some(&name));
    }

    fn end(&mut self) -> Decoded {
        cut()
    }
}

impl Reader {
    fn start(
        &mut self,
        event: &ResponseEvent<'_>,
        out: &mut Vec<Decoded>,
    ) -> Result<(), ModelFailure> {
        if mem::replace(&mut self.is_started, true) {
            return Err(nonsense("a second answer began in the same stream"));
        }
        let response: Response<'_> = read(event.response.get())?;
        let message_id = response.id.map(Cow::into_owned).filter(|id| !id.is_empty());
        self.calls.name_answer(message_id.as_deref());
        out.push(Decoded::Started {
            message_id,
            model: response.model.as_deref().filter(|name| !name.is_empty()).map(ModelName::from),
        });
        Ok(())
    }

    fn show(&mut self, data: &str, like: Like, out: &mut Vec<Decoded>) -> Result<(), ModelFailure> {
        self.purse.spend_bytes(data.len())?;
        let event: PieceEvent<'_> = read(data)?;
        if let Some(delta) = event.delta {
            like.show(self.shown.push(&delta), out);
            self.shown.forget();
        }
        Ok(())
    }

    fn show_arguments(&mut self, data: &str, out: &mut Vec<Decoded>) -> Result<(), ModelFailure> {
        let PieceEvent { output_index, .. } = read(data)?;
        if self.call_index.is_some() && output_index.or(self.call_index) == self.call_index {
            self.show(data, Like::CallInput, out)?;
        }
        Ok(())
    }

    fn begin_item(
        &mut self,
        event: &ItemEvent<'_>,
        out: &mut Vec<Decoded>,
    ) -> Result<(), ModelFailure> {
        let item: Item<'_> = read(event.item.get())?;
        let index = self.place(event.output_index);
        if self.done.contains(&index) {
            return Err(nonsense(format!("item {index} began again")));
        }
        self.call_index = None;
        self.shown = Joined::default();
        if item.kind == "function_call" {
            self.call_index = Some(index);
            let (id, name) = self.names(&item, index);
            out.push(Decoded::CallStarted { id, name });
        }
        Ok(())
    }

    /// An item's place in the answer. Servers that do not number items tell one after the other.
    fn place(&self, index: Option<u64>) -> u64 {
        index.unwrap_or_else(|| u64::try_from(self.done.len()).unwrap_or(u64::MAX))
    }

    fn finish_item(
        &mut self,
        index: u64,
        json: &str,
        out: &mut Vec<Decoded>,
    ) -> Result<(), ModelFailure> {
        if !self.is_started {
            return Err(nonsense("an item came before the answer began"));
        }
        if !self.done.insert(index) {
            return Err(nonsense(format!("item {index} was done twice")));
        }
        self.purse.spend_block()?;
        self.purse.spend_bytes(json.len())?;
        let item: Item<'_> = read(json)?;
        match &*item.kind {
            "message" => self.finish_message(&item, out),
            "function_call" => self.finish_call(&item, index, out),
            kind => {
                let block = law::OPENAI_RESPONSES.block(kind, json);
                out.push(Decoded::Block(Block::Provider(block)));
            }
        }
        Ok(())
    }

    fn finish_message(&mut self, item: &Item<'_>, out: &mut Vec<Decoded>) {
        let mut text = Joined::default();
        for part in item.content.iter().flatten() {
            for piece in [&part.text, &part.refusal].into_iter().flatten() {
                text.push(piece);
            }
            self.is_refused |= part.refusal.is_some();
        }
        if !text.is_empty() {
            out.push(Decoded::Block(Block::Text(text.into_text())));
        }
    }

    fn finish_call(&mut self, item: &Item<'_>, index: u64, out: &mut Vec<Decoded>) {
        let (id, name) = self.names(item, index);
        let mut words = Joined::default();
        if let Some(piece) = &item.arguments {
            words.push(piece);
        }
        let (input, problem) = arguments(&words.into_text());
        let is_cut = item.status.as_deref() == Some("incomplete");
        let problem = problem.or_else(|| is_cut.then(|| String::from(CUT_SHORT)));
        out.push(self.calls.complete(ToolCall { id, name, input, signature: None }, problem));
    }

    fn names(&self, item: &Item<'_>, index: u64) -> (ToolCallId, ToolName) {
        let given = [&item.call_id, &item.id].into_iter().flatten().find(|id| !id.is_empty());
        let id = match given {
            Some(id) => ToolCallId::from(&**id),
            None => ToolCallId::from(self.calls.derived_id(index).as_str()),
        };
        (id, ToolName::from(item.name.as_deref().unwrap_or_default()))
    }

    fn finish(&mut self, json: &str, out: &mut Vec<Decoded>) -> Result<Flow, ModelFailure> {
        if !self.is_started {
            return Err(nonsense("the answer ended before it began"));
        }
        let response: Response<'_> = read(json)?;
        // Some servers never tell an item by itself, only the whole at the end.
        if self.done.is_empty() {
            for (index, item) in (0..).zip(response.output.into_iter().flatten()) {
                self.finish_item(index, item.get(), out)?;
            }
        }
        self.count(response.usage, out);
        let reason = response.incomplete_details.and_then(|details| details.reason);
        let (stop, detail) = match reason.as_deref() {
            Some("max_output_tokens") => (Stop::OutputLimit, None),
            Some("content_filter") => (Stop::Refusal, None),
            _ if self.is_refused => (Stop::Refusal, None),
            None => (Stop::EndTurn, None),
            Some(other) => (Stop::EndTurn, Some(format!("incomplete: {}", first_line(other)))),
        };
        out.push(Decoded::Ended { stop, usage: self.usage, detail });
        Ok(Flow::Over)
    }

    fn count(&mut self, usage: Option<WireUsage>, out: &mut Vec<Decoded>) {
        let Some(usage) = usage else { return };
        let details = usage.input_tokens_details.unwrap_or_default();
        let (read, written) = (details.cached_tokens.tokens(), details.cache_write_tokens.tokens());
        self.usage = Usage {
            input: usage.input_tokens.tokens().less(read).less(written),
            output: usage.output_tokens.tokens(),
            cache_write: written,
            cache_read: read,
        };
        out.push(Decoded::Usage(self.usage));
    }
}
