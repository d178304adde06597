//! What every stream reader shares: framing, the check of the text, the caps, and the promise that
//! exactly one terminal item comes and nothing after it. What an event means is the dialect's.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use serde::Deserialize;

use windlass_vocabulary::{AttemptId, FailureKind, Json, ModelFailure};

use crate::sse::{Frame, Framer};
use crate::{Decode, Decoded, loose};

/// What one dialect makes of its events.
pub(crate) trait Interpret {
    /// One event. The data is one or more lines of valid UTF-8.
    fn event(&mut self, data: &str, out: &mut Vec<Decoded>) -> Result<Flow, ModelFailure>;

    /// What to call an answer its server does not name.
    fn name(&mut self, name: String);

    /// The body is over: the closing item if the answer was complete, else what was cut.
    fn end(&mut self) -> Decoded;
}

/// Does the stream go on?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    More,
    /// The terminal item has been written.
    Over,
}

/// A decoder for one reply.
pub(crate) struct StreamDecoder<I> {
    framer: Framer,
    state: State<I>,
}

struct State<I> {
    interpreter: I,
    keeps_raw: bool,
    is_over: bool,
}

impl<I: Interpret> StreamDecoder<I> {
    pub(crate) fn new(interpreter: I) -> Self {
        Self {
            framer: Framer::default(),
            state: State { interpreter, keeps_raw: false, is_over: false },
        }
    }
}

impl<I: Interpret> Decode for StreamDecoder<I> {
    fn push(&mut self, bytes: &[u8], out: &mut Vec<Decoded>) {
        if self.state.is_over {
            return;
        }
        let state = &mut self.state;
        if let Err(oversize) = self.framer.push(bytes, |frame| state.take(frame, out)) {
            state.fail(
                nonsense(format!("an event of the stream is over {} bytes", oversize.bytes_max)),
                out,
            );
        }
    }

    fn finish(&mut self, out: &mut Vec<Decoded>) {
        if self.state.is_over {
            return;
        }
        let state = &mut self.state;
        // Without its blank line an event may be half of one; then the stream was simply cut.
        self.framer.finish(|frame| {
            let is_whole = core::str::from_utf8(frame.data)
                .is_ok_and(|text| text.trim() == DONE || loose::is_json(text));
            if is_whole {
                state.take(frame, out);
            }
        });
        if !state.is_over {
            state.is_over = true;
            out.push(state.interpreter.end());
        }
    }

    fn for_attempt(&mut self, attempt: AttemptId) {
        self.state.interpreter.name(format!("{attempt}"));
    }

    fn keep_raw(&mut self) {
        self.state.keeps_raw = true;
    }
}

impl<I: Interpret> State<I> {
    fn take(&mut self, frame: Frame<'_>, out: &mut Vec<Decoded>) -> bool {
        let Ok(data) = core::str::from_utf8(frame.data) else {
            self.fail(nonsense("an event of the stream is not valid UTF-8"), out);
            return false;
        };
        if data.trim().is_empty() {
            return true;
        }
        if self.keeps_raw && loose::is_json(data) {
            out.push(Decoded::Raw(Json::from_checked(data)));
        }
        match self.interpreter.event(data, out) {
            Ok(Flow::More) => true,
            Ok(Flow::Over) => {
                self.is_over = true;
                false
            }
            Err(failure) => {
                self.fail(failure, out);
                false
            }
        }
    }

    fn fail(&mut self, failure: ModelFailure, out: &mut Vec<Decoded>) {
        self.is_over = true;
        out.push(Decoded::Failed(failure));
    }
}

/// How much one answer may bring. Spent by every reader, so that no stream can fill the memory.
#[derive(Debug)]
pub(crate) struct Allowance {
    bytes: usize,
    blocks: usize,
}

impl Default for Allowance {
    fn default() -> Self {
        Self { bytes: ANSWER_BYTES_MAX, blocks: ANSWER_BLOCKS_MAX }
    }
}

impl Allowance {
    /// Takes the price of an event that will be kept.
    pub(crate) fn spend_bytes(&mut self, bytes: usize) -> Result<(), ModelFailure> {
        self.bytes = self
            .bytes
            .checked_sub(bytes)
            .ok_or_else(|| nonsense(format!("the answer is over {ANSWER_BYTES_MAX} bytes")))?;
        Ok(())
    }

    /// Takes the price of one more block.
    pub(crate) fn spend_block(&mut self) -> Result<(), ModelFailure> {
        self.blocks = self
            .blocks
            .checked_sub(1)
            .ok_or_else(|| nonsense(format!("the answer is over {ANSWER_BLOCKS_MAX} blocks")))?;
        Ok(())
    }
}

/// Passes a piece on for showing, unless there is nothing to show.
pub(crate) fn shown(text: &str, piece: impl FnOnce(String) -> Decoded, out: &mut Vec<Decoded>) {
    if !text.is_empty() {
        out.push(piece(String::from(text)));
    }
}

/// Reads one event, or one part of it.
pub(crate) fn read<'a, T: Deserialize<'a>>(data: &'a str) -> Result<T, ModelFailure> {
    serde_json::from_str(data).map_err(|error| malformed(&error))
}

/// The server broke the protocol.
pub(crate) fn nonsense(what: impl Into<String>) -> ModelFailure {
    ModelFailure::new(FailureKind::ServerFault, what)
}

/// An event is not the JSON it should be.
pub(crate) fn malformed(error: &serde_json::Error) -> ModelFailure {
    nonsense(format!("an event of the stream cannot be read: {error}"))
}

/// The stream was cut.
pub(crate) fn cut() -> Decoded {
    Decoded::Failed(ModelFailure::new(
        FailureKind::Transport,
        "the stream ended before the answer was complete",
    ))
}

/// What some wires send instead of an event when they are done.
pub(crate) const DONE: &str = "[DONE]";

/// Bytes of events one answer may bring: some sixty times what the longest answer needs.
const ANSWER_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Blocks one answer may have.
const ANSWER_BLOCKS_MAX: usize = 10_000;
