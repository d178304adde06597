//! What has begun in one session of a tree.

use windlass_vocabulary::ToolCall;

use super::calls::CallTrack;
use super::emission::{Emission, OpenSpan};
use super::requests::{self, RequestTrack};
use super::{calls, prompts};
use crate::record::SpanContext;

#[derive(Debug, Default)]
pub(super) struct AgentTrack {
    /// The call that started it, if it is a nested session.
    pub(super) base: Option<SpanContext>,
    pub(super) interaction: Option<OpenInteraction>,
    pub(super) interactions: u64,
    /// The prompt that is worked on, by a name of its own.
    pub(super) prompt_id: String,
    pub(super) requests: RequestTrack,
    pub(super) calls: CallTrack,
    pub(super) run: RunTrack,
    pub(super) compaction_is_by_hand: bool,
}

/// From a prompt to the end of the run it began.
#[derive(Debug)]
pub(super) struct OpenInteraction {
    pub(super) span: OpenSpan,
    /// As it is sent: perhaps not at all.
    pub(super) prompt: String,
    pub(super) prompt_length: u64,
}

#[derive(Debug, Default)]
pub(super) struct RunTrack {
    pub(super) started: Option<u64>,
    pub(super) tool_uses: u64,
    /// Of the last request.
    pub(super) last_tokens: u64,
    pub(super) model: String,
}

impl AgentTrack {
    /// The span that new spans and events belong to.
    pub(super) fn current_context(&self) -> Option<SpanContext> {
        self.interaction.as_ref().map(|open| open.span.context).or(self.base)
    }

    /// A call is considered from now on.
    pub(super) fn open_call(&mut self, call: &ToolCall, emission: &Emission<'_>) {
        let parent = self.current_context();
        self.calls.open(call, parent, emission);
    }

    /// What has not ended by now never will.
    pub(super) fn end_everything(&mut self, emission: &mut Emission<'_>) {
        requests::abandon_all(self, emission);
        calls::abandon_all(self, emission);
        prompts::end_interaction(self, emission);
    }
}
