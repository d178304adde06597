//! Summaries of the conversation, as clients see them: begun, and ended with the summary or a reason.

use windlass_vocabulary::notice::RunEnding;
use windlass_vocabulary::{Outcome, Terminal};

use crate::schema::{AcpContent, CompactionStatus, SessionUpdate};

#[derive(Debug)]
pub(super) struct CompactionUpdates {
    /// The client takes them; others get a thought.
    is_taken: bool,
    count: u32,
    is_open: bool,
}

impl CompactionUpdates {
    pub(super) fn new(is_taken: bool) -> Self {
        Self { is_taken, count: 0, is_open: false }
    }

    /// The user has asked for a summary. One that the session makes by itself is known when it is there.
    pub(super) fn begin(&mut self) -> Option<SessionUpdate> {
        if !self.is_taken || self.is_open {
            return None;
        }
        self.count += 1;
        self.is_open = true;
        Some(self.update(CompactionStatus::InProgress))
    }

    /// The conversation has been replaced; its summary is the next message.
    pub(super) fn replace_history(&mut self) -> Option<SessionUpdate> {
        match self.is_taken {
            true => self.begin(),
            false => Some(SessionUpdate::AgentThoughtChunk {
                content: AcpContent::text("The conversation so far was summarised."),
            }),
        }
    }

    pub(super) fn complete(&mut self, text: &str) -> Option<SessionUpdate> {
        std::mem::take(&mut self.is_open).then(|| {
            let mut update = self.update(CompactionStatus::Completed);
            if let SessionUpdate::CompactionUpdate { summary, .. } = &mut update {
                *summary = Some(vec![AcpContent::text(text)]);
            }
            update
        })
    }

    /// A run ended. What was begun and not completed has failed, or was cancelled.
    pub(super) fn end_run(&mut self, ending: &RunEnding) -> Vec<SessionUpdate> {
        let has_failed = ending.outcome == Some(Outcome::NotCompacted);
        let begun = if has_failed { self.begin() } else { None };
        let is_cancelled =
            matches!(ending.terminal, Terminal::AbortedStreaming | Terminal::AbortedTools);
        let ended = std::mem::take(&mut self.is_open).then(|| {
            let status = match is_cancelled {
                true => CompactionStatus::Cancelled,
                false => CompactionStatus::Failed,
            };
            let mut update = self.update(status);
            if let (SessionUpdate::CompactionUpdate { error, .. }, false) =
                (&mut update, is_cancelled)
            {
                *error = Some(ending.why.clone());
            }
            update
        });
        begun.into_iter().chain(ended).collect()
    }

    fn update(&self, status: CompactionStatus) -> SessionUpdate {
        let compaction_id = format!("compaction-{}", self.count);
        SessionUpdate::CompactionUpdate { compaction_id, status, summary: None, error: None }
    }
}
