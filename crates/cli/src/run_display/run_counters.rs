//! Counts what happened in a run, for its last line.

use windlass_vocabulary::Notice;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RunCounters {
    pub(crate) requests: u32,
    pub(crate) tools: u32,
    /// Refused and retried.
    pub(crate) refused_requests: u32,
    /// Answers that broke off and were requested again.
    pub(crate) cut_streams: u32,
}

impl RunCounters {
    pub(crate) fn on_notice(&mut self, notice: &Notice) {
        match notice {
            Notice::RequestStarted { .. } => self.requests += 1,
            Notice::ToolStarted(_) => self.tools += 1,
            Notice::Retracted { .. } => self.cut_streams += 1,
            Notice::RetryScheduled { failure, .. } if failure.status.is_some() => {
                self.refused_requests += 1;
            }
            Notice::RunStarted
            | Notice::Sealed { .. }
            | Notice::MessageAdded(_)
            | Notice::ToolProgressed { .. }
            | Notice::PermissionAsked { .. }
            | Notice::PermissionWithdrawn(_)
            | Notice::ContextShrunk { .. }
            | Notice::Continued { .. }
            | Notice::HookMessage { .. }
            | Notice::Hook(_)
            | Notice::ToolsLabelled(_)
            | Notice::SessionTitled(_)
            | Notice::PromptSuggested(_)
            | Notice::SideQuestionAnswered(_)
            | Notice::InputQueued(_)
            | Notice::Billed { .. }
            | Notice::MaxTurnsReached { .. }
            | Notice::SubagentNotice { .. }
            | Notice::RunEnded(_)
            | Notice::Streamed { .. }
            | Notice::ToolEnded { .. }
            | Notice::ToolDenied { .. }
            | Notice::RetryScheduled { .. }
            | Notice::ModelSwitched { .. }
            | Notice::Repaired { .. }
            | Notice::Warning(_) => {}
        }
    }

    pub(crate) fn describe_faults(&self) -> String {
        let plural = |count: u32, one: &str, many: &str| match count {
            1 => format!("1 {one}"),
            count => format!("{count} {many}"),
        };
        format!(
            "{} ({}, {})",
            plural(self.refused_requests + self.cut_streams, "fault survived", "faults survived"),
            plural(self.refused_requests, "overload", "overloads"),
            plural(self.cut_streams, "cut stream", "cut streams"),
        )
    }
}
