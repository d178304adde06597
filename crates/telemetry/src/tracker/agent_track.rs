//! The open spans and counters of one session of a tree.

use windlass_vocabulary::ToolCall;

use super::calls::CallTrack;
use super::emission::{Emission, OpenSpan};
use super::requests::{self, RequestTrack};
use super::{calls, prompts};
use crate::record::SpanContext;

#[derive(Debug, Default)]
pub(super) struct AgentTrack {
    /// The span of the call that started it, for a nested session.
    pub(super) base: Option<SpanContext>,
    pub(super) interaction: Option<OpenInteraction>,
    pub(super) interactions: u64,
    /// Id of the current prompt.
    pub(super) prompt_id: String,
    pub(super) requests: RequestTrack,
    pub(super) calls: CallTrack,
    pub(super) run: RunTrack,
    pub(super) compaction_is_by_hand: bool,
    /// The call that started it asked for it to run in the background.
    pub(super) is_async: bool,
    /// The MCP tool that ran since the last request: server and tool.
    pub(super) mcp_call: Option<(String, String)>,
}

/// The span from a prompt to the end of the run it started.
#[derive(Debug)]
pub(super) struct OpenInteraction {
    pub(super) span: OpenSpan,
    /// The prompt as it is sent, or a placeholder.
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
    /// The skill that is active: the last one of this run.
    pub(super) skill: Option<String>,
}

impl AgentTrack {
    /// The span that new spans and events belong to.
    pub(super) fn current_context(&self) -> Option<SpanContext> {
        self.interaction.as_ref().map(|open| open.span.context).or(self.base)
    }

    /// Opens a call's span when permission for it is first considered.
    pub(super) fn open_call(&mut self, call: &ToolCall, emission: &Emission<'_>) {
        let parent = self.current_context();
        self.calls.open(call, parent, emission);
    }

    /// Ends all open spans when the session ends.
    pub(super) fn end_everything(&mut self, emission: &mut Emission<'_>) {
        requests::abandon_all(self, emission);
        calls::abandon_all(self, emission);
        prompts::end_interaction(self, emission);
    }
}
