//! What every stream reader shares: framing, the check of the text, the caps, and the promise that
//! exactly one terminal item comes and nothing after it. What an event means is the dialect's.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use serde::Deserialize;

use windlass_vocabulary::{AttemptId, FailureKind, Json, ModelFailure};

use crate::delta_fast_path::{DeltaFieldPaths, DeltaTemplate, TemplateMatch};
use crate::response_limits::ResponseLimits;
use crate::sse::{EVENT_BYTES_MAX, SseFrame, SseFrameSink, SseFramer};
use crate::{DecodedEvent, ResponseDecoder, lenient_json};

/// What one dialect makes of its events.
pub(crate) trait EventInterpreter {
    /// One event. The data is one or more lines of valid UTF-8.
    fn read_event(
        &mut self,
        data: &str,
        out: &mut Vec<DecodedEvent>,
    ) -> Result<StreamFlow, ModelFailure>;

    /// One more piece that looks like the last one, which was read the long way and was nothing but
    /// a piece. `false`, and nothing done, if it has to be read the long way after all.
    fn read_matched_delta(
        &mut self,
        piece: &MatchedDelta<'_>,
        out: &mut Vec<DecodedEvent>,
    ) -> Result<bool, ModelFailure>;

    /// Where such pieces stand in an event.
    fn delta_paths(&self, like: DeltaKind) -> &'static DeltaFieldPaths;

    /// How much the answer may bring.
    fn set_limits(&mut self, allowance: ResponseLimits);

    /// What to call an answer its server does not name.
    fn set_answer_id(&mut self, name: String);

    /// The body is over: the closing item if the answer was complete, else what was cut.
    fn finish_stream(&mut self) -> DecodedEvent;
}

/// Does the stream go on?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamFlow {
    Continue,
    /// The terminal item has been written.
    Finished,
}

/// What a piece looked like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeltaKind {
    Text,
    Thinking,
    CallInput,
}

impl DeltaKind {
    /// Passes a piece on for showing, unless there is nothing to show.
    pub(crate) fn emit(self, text: &str, out: &mut Vec<DecodedEvent>) {
        if text.is_empty() {
            return;
        }
        match self {
            Self::Text => out.push(DecodedEvent::Text(String::from(text))),
            Self::Thinking => out.push(DecodedEvent::Thinking(String::from(text))),
            Self::CallInput => out.push(DecodedEvent::CallInput(String::from(text))),
        }
    }
}

/// A piece that was recognised by its shape.
pub(crate) struct MatchedDelta<'a> {
    pub(crate) kind: DeltaKind,
    /// Does usage come with it?
    pub(crate) has_usage: bool,
    pub(crate) matched: TemplateMatch<'a>,
    /// Of the whole event.
    pub(crate) bytes: usize,
}

/// A decoder for one reply.
pub(crate) struct StreamDecoder<I> {
    framer: SseFramer,
    state: DecoderState<I>,
}

struct DecoderState<I> {
    interpreter: I,
    template: DeltaTemplate,
    /// What the event was that left the mold.
    last_delta: Option<(DeltaKind, bool)>,
    emits_raw: bool,
    is_over: bool,
}

impl<I: EventInterpreter> StreamDecoder<I> {
    pub(crate) fn new(interpreter: I) -> Self {
        Self {
            framer: SseFramer::default(),
            state: DecoderState {
                interpreter,
                template: DeltaTemplate::default(),
                last_delta: None,
                emits_raw: false,
                is_over: false,
            },
        }
    }
}

impl<I: EventInterpreter> ResponseDecoder for StreamDecoder<I> {
    fn push(&mut self, bytes: &[u8], out: &mut Vec<DecodedEvent>) {
        if self.state.is_over {
            return;
        }
        let mut listening = DecoderFrameSink { state: &mut self.state, out };
        if let Err(oversize) = self.framer.push_to_sink(bytes, &mut listening) {
            let words = format!("an event of the stream is over {} bytes", oversize.bytes_max);
            self.state.fail(protocol_failure(words), out);
        }
    }

    fn finish(&mut self, out: &mut Vec<DecodedEvent>) {
        if self.state.is_over {
            return;
        }
        let state = &mut self.state;
        // Without its blank line an event may be half of one; then the stream was simply cut.
        self.framer.finish(|frame| {
            let is_whole = core::str::from_utf8(frame.data)
                .is_ok_and(|text| text.trim() == DONE_MARKER || lenient_json::is_json(text));
            if is_whole {
                state.read_frame(frame, out);
            }
        });
        if !state.is_over {
            state.is_over = true;
            out.push(state.interpreter.finish_stream());
        }
    }

    fn set_attempt(&mut self, attempt: AttemptId) {
        self.state.interpreter.set_answer_id(format!("{attempt}"));
    }

    fn set_limits(&mut self, allowance: ResponseLimits) {
        self.state.interpreter.set_limits(allowance);
    }

    fn emit_raw_events(&mut self) {
        self.state.emits_raw = true;
        self.state.last_delta = None;
    }
}

struct DecoderFrameSink<'a, I> {
    state: &'a mut DecoderState<I>,
    out: &'a mut Vec<DecodedEvent>,
}

impl<I: EventInterpreter> SseFrameSink for DecoderFrameSink<'_, I> {
    fn take_prefix(&mut self, bytes: &[u8]) -> usize {
        let mut taken = 0;
        while let Some(rest) = bytes.get(taken..)
            && let Some(like) = self.state.last_delta
            && let Some((filling, event_bytes, all)) = self.state.template.match_framed_event(rest)
            && all < EVENT_BYTES_MAX
            && let Some(goes_on) = self.state.read_fast(like, filling, event_bytes, self.out)
        {
            // After a failure there is nothing more to read.
            taken = if goes_on { taken + all } else { bytes.len() };
        }
        taken
    }

    fn accept_frame(&mut self, frame: SseFrame<'_>) -> bool {
        self.state.read_frame(frame, self.out)
    }
}

impl<I: EventInterpreter> DecoderState<I> {
    /// Reads an event, the short way if it looks like the last one.
    fn read_frame(&mut self, frame: SseFrame<'_>, out: &mut Vec<DecodedEvent>) -> bool {
        // A mold without its framing is worth taking again with it.
        let is_better = frame.framing.is_some() && !self.template.has_framing();
        let like = self.last_delta.filter(|_| !is_better);
        let fitting = like.and_then(|like| Some((like, self.template.match_event(frame.data)?)));
        let short = fitting
            .and_then(|(like, filling)| self.read_fast(like, filling, frame.data.len(), out));
        short.unwrap_or_else(|| self.read_slow(frame, out))
    }

    /// Does the stream go on? `None`, and nothing done, if the long way has to be taken after all.
    fn read_fast(
        &mut self,
        (like, has_usage): (DeltaKind, bool),
        filling: TemplateMatch<'_>,
        bytes: usize,
        out: &mut Vec<DecodedEvent>,
    ) -> Option<bool> {
        match self.interpreter.read_matched_delta(
            &MatchedDelta { kind: like, has_usage, matched: filling, bytes },
            out,
        ) {
            Ok(is_done) => is_done.then_some(true),
            Err(failure) => {
                self.fail(failure, out);
                Some(false)
            }
        }
    }

    fn read_slow(&mut self, frame: SseFrame<'_>, out: &mut Vec<DecodedEvent>) -> bool {
        let Ok(data) = core::str::from_utf8(frame.data) else {
            self.fail(protocol_failure("an event of the stream is not valid UTF-8"), out);
            return false;
        };
        if data.trim().is_empty() {
            return true;
        }
        if self.emits_raw && lenient_json::is_json(data) {
            out.push(DecodedEvent::Raw(Json::from_checked(data)));
        }
        let before = out.len();
        match self.interpreter.read_event(data, out) {
            Ok(StreamFlow::Continue) => {
                self.learn_template(data, frame.framing, out.get(before..).unwrap_or_default());
                true
            }
            Ok(StreamFlow::Finished) => {
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
    fn learn_template(
        &mut self,
        data: &str,
        framing: Option<(&[u8], &[u8])>,
        effect: &[DecodedEvent],
    ) {
        let (has_usage, pieces) = match effect {
            [DecodedEvent::Usage(_), pieces @ ..] => (true, pieces),
            pieces => (false, pieces),
        };
        let like = match pieces {
            [DecodedEvent::Text(_)] => DeltaKind::Text,
            [DecodedEvent::Thinking(_)] => DeltaKind::Thinking,
            [DecodedEvent::CallInput(_)] => DeltaKind::CallInput,
            _ => {
                self.last_delta = None;
                return;
            }
        };
        // Raw events are made from the text of each, so there the long way is the only one.
        self.last_delta = (!self.emits_raw).then_some((like, has_usage));
        if self.last_delta.is_some() {
            self.template.learn(data, framing, self.interpreter.delta_paths(like));
        }
    }

    fn fail(&mut self, failure: ModelFailure, out: &mut Vec<DecodedEvent>) {
        self.is_over = true;
        out.push(DecodedEvent::Failed(failure));
    }
}

/// Reads one event, or one part of it.
pub(crate) fn parse_event<'a, T: Deserialize<'a>>(data: &'a str) -> Result<T, ModelFailure> {
    serde_json::from_str(data).map_err(|error| malformed_event_failure(&error))
}

/// The server broke the protocol.
pub(crate) fn protocol_failure(what: impl Into<String>) -> ModelFailure {
    ModelFailure::new(FailureKind::ServerFault, what)
}

/// An event is not the JSON it should be.
pub(crate) fn malformed_event_failure(error: &serde_json::Error) -> ModelFailure {
    protocol_failure(format!("an event of the stream cannot be read: {error}"))
}

/// The stream was cut.
pub(crate) fn truncated_stream() -> DecodedEvent {
    DecodedEvent::Failed(ModelFailure::new(
        FailureKind::Transport,
        "the stream ended before the answer was complete",
    ))
}

/// What some wires send instead of an event when they are done.
pub(crate) const DONE_MARKER: &str = "[DONE]";
