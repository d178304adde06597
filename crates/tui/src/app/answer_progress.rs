//! The answer that is being streamed, and the calls that must wait until it is complete.

use windlass_vocabulary::{Delta, ToolCallId};

use super::waiting_blocks::{EndedCall, WaitingBlocks};
use crate::streaming_answer::StreamingAnswer;

#[derive(Debug, Default)]
pub struct AnswerProgress {
    pub stream: StreamingAnswer,
    /// The end of what the model is thinking.
    pub thinking_tail: String,
    /// Blocks of the last answer that wait for its calls.
    pub waiting: WaitingBlocks,
    state: AnswerState,
}

#[derive(Debug, Default)]
enum AnswerState {
    #[default]
    NotAnswering,
    Answering {
        /// Calls that ended before the answer did: they are shown at their place in it.
        ended_calls: Vec<EndedCall>,
    },
}

impl AnswerProgress {
    /// Starts an answer. Calls deferred by one that never ended stay deferred.
    pub(super) fn start(&mut self) {
        self.reset_stream();
        if let AnswerState::NotAnswering = self.state {
            self.state = AnswerState::Answering { ended_calls: Vec::new() };
        }
    }

    /// Forgets what was streamed, and returns the calls that waited for the answer's end.
    pub(super) fn finish(&mut self) -> Vec<EndedCall> {
        self.reset_stream();
        match std::mem::take(&mut self.state) {
            AnswerState::NotAnswering => Vec::new(),
            AnswerState::Answering { ended_calls } => ended_calls,
        }
    }

    /// Keeps a call until the answer ends; returns it if there is no answer to wait for.
    pub(super) fn defer(&mut self, ended: EndedCall) -> Option<EndedCall> {
        match &mut self.state {
            AnswerState::NotAnswering => Some(ended),
            AnswerState::Answering { ended_calls } => {
                ended_calls.push(ended);
                None
            }
        }
    }

    /// The last of these calls that has ended and waits for its place.
    pub(super) fn find_deferred(&mut self, calls: &[ToolCallId]) -> Option<&mut EndedCall> {
        match &mut self.state {
            AnswerState::NotAnswering => self.waiting.find_ended(calls),
            AnswerState::Answering { ended_calls } => {
                ended_calls.iter_mut().rev().find(|ended| calls.contains(&ended.id))
            }
        }
    }

    pub(super) fn take_ended_call(&mut self, id: &ToolCallId) -> Option<EndedCall> {
        match &mut self.state {
            AnswerState::NotAnswering => None,
            AnswerState::Answering { ended_calls } => {
                let at = ended_calls.iter().position(|ended| ended.id == *id)?;
                Some(ended_calls.remove(at))
            }
        }
    }

    pub(super) fn push_delta(&mut self, delta: &Delta, width: usize) {
        match delta {
            Delta::Thinking(text) => {
                self.thinking_tail.push_str(text);
                let over = self.thinking_tail.len().saturating_sub(THINKING_TAIL_MAX);
                self.thinking_tail.drain(..self.thinking_tail.ceil_char_boundary(over));
                if self.thinking_tail.is_empty() {
                    self.thinking_tail.push('…');
                }
            }
            Delta::Text(_) | Delta::Block(_) => self.thinking_tail.clear(),
            Delta::CallStarted { .. }
            | Delta::CallInput(_)
            | Delta::Call { .. }
            | Delta::Usage(_)
            | Delta::Cleared { .. }
            | Delta::Raw(_) => {}
        }
        self.stream.push_delta(delta, width);
    }

    fn reset_stream(&mut self) {
        self.stream = StreamingAnswer::default();
        self.thinking_tail.clear();
    }
}

const THINKING_TAIL_MAX: usize = 400;
