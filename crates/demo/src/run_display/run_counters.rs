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
        if let Notice::RequestStarted { .. } = notice {
            self.requests += 1;
        } else if let Notice::ToolStarted(_) = notice {
            self.tools += 1;
        } else if let Notice::Retracted { .. } = notice {
            self.cut_streams += 1;
        } else if let Notice::RetryScheduled { failure, .. } = notice
            && failure.status.is_some()
        {
            self.refused_requests += 1;
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
