//! What every stream reader shares: framing, the check of the text, the caps, and the promise that
//! exactly one terminal item comes and nothing after it. What an event means is the dialect's.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use serde::Deserialize;

use windlass_vocabulary::{AttemptId, FailureKind, Json, ModelFailure};

use crate::allowance::Allowance;
use crate::mold::{Filling, Mold, Places};
use crate::sse::{EVENT_BYTES_MAX, Frame, Framer, Listener};
use crate::{Decode, Decoded, loose};

/// What one dialect makes of its events.
pub(crate) trait Interpret {
    /// One event. The data is one or more lines of valid UTF-8.
    fn event(&mut self, data: &str, out: &mut Vec<Decoded>) -> Result<Flow, ModelFailure>;

    /// One more piece that looks like the last one, which was read the long way and was nothing but
    /// a piece. `false`, and nothing done, if it has to be read the long way after all.
    fn piece(&mut self, piece: &Piece<'_>, out: &mut Vec<Decoded>) -> Result<bool, ModelFailure>;

    /// Where such pieces stand in an event.
    fn places(&self, like: Like) -> &'static Places;

    /// How much the answer may bring.
    fn allow(&mut self, allowance: Allowance);

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

/// What a piece looked like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Like {
    Text,
    Thinking,
    CallInput,
}

impl Like {
    /// Passes a piece on for showing, unless there is nothing to show.
    pub(crate) fn show(self, text: &str, out: &mut Vec<Decoded>) {
        if text.is_empty() {
            return;
        }
        match self {
            Self::Text => out.push(Decoded::Text(String::from(text))),
            Self::Thinking => out.push(Decoded::Thinking(String::from(text))),
            Self::CallInput => out.push(Decoded::CallInput(String::from(text))),
        }
    }
}

/// A piece that was recognised by its shape.
pub(crate) struct Piece<'a> {
    pub(crate) like: Like,
    /// Does usage come with it?
    pub(crate) has_usage: bool,
    pub(crate) filling: Filling<'a>,
    /// Of the whole event.
    pub(crate) bytes: usize,
}

/// A decoder for one reply.
pub(crate) struct StreamDecoder<I> {
    framer: Framer,
    state: State<I>,
}

struct State<I> {
    interpreter: I,
    mold: Mold,
    /// What the event was that left the mold.
    like: Option<(Like, bool)>,
    keeps_raw: bool,
    is_over: bool,
}

impl<I: Interpret> StreamDecoder<I> {
    pub(crate) fn new(interpreter: I) -> Self {
        Self {
            framer: Framer::default(),
            state: State {
                interpreter,
                mold: Mold::default(),
                like: None,
                keeps_raw: false,
                is_over: false,
            },
        }
    }
}

impl<I: Interpret> Decode for StreamDecoder<I> {
    fn push(&mut self, bytes: &[u8], out: &mut Vec<Decoded>) {
        if self.state.is_over {
            return;
        }
        let mut listening = Listening { state: &mut self.state, out };
        if let Err(oversize) = self.framer.push_to(bytes, &mut listening) {
            let words = format!("an event of the stream is over {} bytes", oversize.bytes_max);
            self.state.fail(nonsense(words), out);
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

    fn allow(&mut self, allowance: Allowance) {
        self.state.interpreter.allow(allowance);
    }

    fn keep_raw(&mut self) {
        self.state.keeps_raw = true;
        self.state.like = None;
    }
}

struct Listening<'a, I> {
    state: &'a mut State<I>,
    out: &'a mut Vec<Decoded>,
}

impl<I: Interpret> Listener for Listening<'_, I> {
    fn take(&mut self, bytes: &[u8]) -> usize {
        let mut taken = 0;
        while let Some(rest) = bytes.get(taken..)
            && let Some(like) = self.state.like
            && let Some((filling, event_bytes, all)) = self.state.mold.fill_framed(rest)
            && all < EVENT_BYTES_MAX
            && let Some(goes_on) = self.state.short(like, filling, event_bytes, self.out)
        {
            // After a failure there is nothing more to read.
            taken = if goes_on { taken + all } else { bytes.len() };
        }
        taken
    }

    fn hear(&mut self, frame: Frame<'_>) -> bool {
        self.state.take(frame, self.out)
    }
}

impl<I: Interpret> State<I> {
    /// Reads an event, the short way if it looks like the last one.
    fn take(&mut self, frame: Frame<'_>, out: &mut Vec<Decoded>) -> bool {
        // A mold without its framing is worth taking again with it.
        let is_better = frame.framing.is_some() && !self.mold.has_framing();
        let like = self.like.filter(|_| !is_better);
        let fitting = like.and_then(|like| Some((like, self.mold.fill(frame.data)?)));
        let short =
            fitting.and_then(|(like, filling)| self.short(like, filling, frame.data.len(), out));
        short.unwrap_or_else(|| self.long(frame, out))
    }

    /// Does the stream go on? `None`, and nothing done, if the long way has to be taken after all.
    fn short(
        &mut self,
        (like, has_usage): (Like, bool),
        filling: Filling<'_>,
        bytes: usize,
        out: &mut Vec<Decoded>,
    ) -> Option<bool> {
        match self.interpreter.piece(&Piece { like, has_usage, filling, bytes }, out) {
            Ok(is_done) => is_done.then_some(true),
            Err(failure) => {
                self.fail(failure, out);
                Some(false)
            }
        }
    }

    fn long(&mut self, frame: Frame<'_>, out: &mut Vec<Decoded>) -> bool {
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
        let before = out.len();
        match self.interpreter.event(data, out) {
            Ok(Flow::More) => {
                self.remember(data, frame.framing, out.get(before..).unwrap_or_default());
                true
            }
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

    /// Takes the mold of an event that was nothing but one piece. After any other, what was learned
    /// may no longer hold.
    fn remember(&mut self, data: &str, framing: Option<(&[u8], &[u8])>, effect: &[Decoded]) {
        let (has_usage, pieces) = match effect {
            [Decoded::Usage(_), pieces @ ..] => (true, pieces),
            pieces => (false, pieces),
        };
        let like = match pieces {
            [Decoded::Text(_)] => Like::Text,
            [Decoded::Thinking(_)] => Like::Thinking,
            [Decoded::CallInput(_)] => Like::CallInput,
            _ => {
                self.like = None;
                return;
            }
        };
        // Raw events are made from the text of each, so there the long way is the only one.
        self.like = (!self.keeps_raw).then_some((like, has_usage));
        if self.like.is_some() {
            self.mold.take(data, framing, self.interpreter.places(like));
        }
    }

    fn fail(&mut self, failure: ModelFailure, out: &mut Vec<Decoded>) {
        self.is_over = true;
        out.push(Decoded::Failed(failure));
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
