//! What happened in a run, counted for the last line.

use windlass_vocabulary::Notice;

/// The counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Requests sent.
    pub(crate) requests: u32,
    /// Tools run.
    pub(crate) tools: u32,
    /// Requests that were refused and tried again.
    pub(crate) refusals: u32,
    /// Answers that broke off and were asked for again.
    pub(crate) cuts: u32,
}

impl Tally {
    /// Counts.
    pub(crate) fn notice(&mut self, notice: &Notice) {
        match notice {
            Notice::RequestStarted { .. } => self.requests += 1,
            Notice::ToolStarted(_) => self.tools += 1,
            Notice::Retracted { .. } => self.cuts += 1,
            Notice::Waiting { failure, .. } if failure.status.is_some() => self.refusals += 1,
            _ => {}
        }
    }

    /// In words: what went wrong and did no harm.
    pub(crate) fn faults(&self) -> String {
        let plural = |count: u32, one: &str, many: &str| match count {
            1 => format!("1 {one}"),
            count => format!("{count} {many}"),
        };
        format!(
            "{} ({}, {})",
            plural(self.refusals + self.cuts, "fault survived", "faults survived"),
            plural(self.refusals, "overload", "overloads"),
            plural(self.cuts, "cut stream", "cut streams"),
        )
    }
}
