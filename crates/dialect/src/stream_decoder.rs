//! What the stream readers of all dialects share: framing, the check of the text, the limits, and
//! the guarantee that exactly one terminal item comes and nothing after it. The dialect interprets
//! the events.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use windlass_vocabulary::{AttemptId, Json, ModelFailure};

use crate::response_limits::{ResponseBudget, ResponseLimits};
use crate::sse::SseFramer;
use crate::stream_failure::protocol_failure;
use crate::stream_progress::StreamProgress;
use crate::{DecodedEvent, ResponseDecoder, lenient_json};

/// How one dialect interprets its events.
pub(crate) trait EventInterpreter {
    /// One event. The data is one or more lines of valid UTF-8.
    fn read_event(
        &mut self,
        data: &str,
        out: &mut Vec<DecodedEvent>,
    ) -> Result<StreamFlow, ModelFailure>;

    /// The state that every dialect tracks alike.
    fn progress(&mut self) -> &mut StreamProgress;
}

/// Whether the stream continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamFlow {
    Continue,
    /// The terminal item has been written.
    Finished,
}

/// What a streamed fragment belongs to.
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

/// A decoder for one reply.
pub(crate) struct StreamDecoder<I> {
    framer: SseFramer,
    state: DecoderState<I>,
}

struct DecoderState<I> {
    interpreter: I,
    emits_raw: bool,
    is_over: bool,
}

impl<I: EventInterpreter> StreamDecoder<I> {
    pub(crate) fn new(interpreter: I) -> Self {
        Self {
            framer: SseFramer::default(),
            state: DecoderState { interpreter, emits_raw: false, is_over: false },
        }
    }
}

impl<I: EventInterpreter> ResponseDecoder for StreamDecoder<I> {
    fn push(&mut self, bytes: &[u8], out: &mut Vec<DecodedEvent>) {
        if self.state.is_over {
            return;
        }
        let state = &mut self.state;
        if let Err(oversize) = self.framer.push(bytes, |frame| state.read_frame(frame.data, out)) {
            let words = format!("an event of the stream is over {} bytes", oversize.bytes_max);
            state.fail(protocol_failure(words), out);
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
                state.read_frame(frame.data, out);
            }
        });
        if !state.is_over {
            state.is_over = true;
            out.push(state.interpreter.progress().finish());
        }
    }

    fn set_attempt(&mut self, attempt: AttemptId) {
        self.state.interpreter.progress().calls.set_answer_id(Some(&format!("{attempt}")));
    }

    fn set_limits(&mut self, limits: ResponseLimits) {
        self.state.interpreter.progress().budget = ResponseBudget::new(limits);
    }

    fn emit_raw_events(&mut self) {
        self.state.emits_raw = true;
    }
}

impl<I: EventInterpreter> DecoderState<I> {
    /// Reads one event. `false` when nothing more is to be read.
    fn read_frame(&mut self, data: &[u8], out: &mut Vec<DecodedEvent>) -> bool {
        let Ok(data) = core::str::from_utf8(data) else {
            self.fail(protocol_failure("an event of the stream is not valid UTF-8"), out);
            return false;
        };
        if data.trim().is_empty() {
            return true;
        }
        if self.emits_raw && lenient_json::is_json(data) {
            out.push(DecodedEvent::Raw(Json::from_checked(data)));
        }
        match self.interpreter.read_event(data, out) {
            Ok(StreamFlow::Continue) => true,
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

    fn fail(&mut self, failure: ModelFailure, out: &mut Vec<DecodedEvent>) {
        self.is_over = true;
        out.push(DecodedEvent::Failed(failure));
    }
}

/// What some wires send instead of an event when they are done.
pub(crate) const DONE_MARKER: &str = "[DONE]";
