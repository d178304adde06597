//! The answer that is being streamed, and the lines that must wait until it is complete.

use windlass_vocabulary::Delta;

use crate::streaming_answer::StreamingAnswer;
use crate::styled_line::StyledLine;

#[derive(Debug, Default)]
pub struct AnswerProgress {
    pub stream: StreamingAnswer,
    /// The end of what the model is thinking.
    pub thinking_tail: String,
    state: AnswerState,
}

#[derive(Debug, Default)]
enum AnswerState {
    #[default]
    NotAnswering,
    Answering {
        /// Results of calls that ended before the answer did: they are shown below it.
        deferred_lines: Vec<StyledLine>,
    },
}

impl AnswerProgress {
    /// Starts an answer. Lines deferred by one that never ended stay deferred.
    pub(super) fn start(&mut self) {
        self.reset_stream();
        if let AnswerState::NotAnswering = self.state {
            self.state = AnswerState::Answering { deferred_lines: Vec::new() };
        }
    }

    /// Forgets what was streamed, and returns the lines that waited for the answer's end.
    pub(super) fn finish(&mut self) -> Vec<StyledLine> {
        self.reset_stream();
        match std::mem::take(&mut self.state) {
            AnswerState::NotAnswering => Vec::new(),
            AnswerState::Answering { deferred_lines } => deferred_lines,
        }
    }

    /// Keeps lines until the answer ends; returns them if there is no answer to wait for.
    pub(super) fn defer(&mut self, lines: Vec<StyledLine>) -> Vec<StyledLine> {
        match &mut self.state {
            AnswerState::NotAnswering => lines,
            AnswerState::Answering { deferred_lines } => {
                deferred_lines.extend(lines);
                Vec::new()
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
