//! The tools are done: take in what arrived beside them, and what they changed for the next turn.
//!
//! Nothing is waited for. What is not ready stays for the next tool boundary. Input that would go
//! unanswered because no turn follows stays queued and begins the next run.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use windlass_vocabulary::{AttachmentKind, Message, MessageOrigin, Notice, ToolSpec};

use crate::budget::turns;
use crate::signal::Signal;
use crate::step::Loop;

impl Loop<'_> {
    pub(crate) fn attach(&mut self) -> Signal {
        self.apply_updates();
        let has_another = turns::has_another(&self.state.control, &self.limits);
        if has_another {
            for submission in core::mem::take(&mut self.state.inbox.queued) {
                self.add_submission(
                    submission,
                    MessageOrigin::Attachment(AttachmentKind::QueuedInput),
                );
            }
        }
        for (kind, text) in core::mem::take(&mut self.state.inbox.arrived) {
            self.add_attachment(kind, text);
        }
        if !has_another {
            let turn = self.state.control.turn.saturating_add(1);
            self.tell(Notice::MaxTurnsReached { turn, limit: self.limits.turns_max });
        }
        Signal::Attached
    }

    /// A memory that says so is pinned.
    pub(crate) fn add_attachment(&mut self, kind: AttachmentKind, text: String) {
        let id = self.state.transcript.next_id();
        let pinned = kind == AttachmentKind::Memory && text.lines().any(is_pin);
        let message = Message::user_text(id, MessageOrigin::Attachment(kind), text);
        self.add(Message { pinned, ..message });
    }

    /// Updates that tool results carried apply from the next iteration on.
    pub(crate) fn apply_updates(&mut self) {
        let context = &mut self.state.tool_context;
        for update in core::mem::take(&mut context.updates) {
            if let Some(mode) = update.mode {
                context.policy.mode = mode;
            }
            for directory in update.directories {
                context.policy.directories.push(directory.as_ref().into());
            }
            if let Some(directory) = update.working_directory {
                context.policy.standing = Some(directory.as_ref().into());
                context.working_directory = Some(directory);
            }
            if let Some(tasks) = update.tasks {
                context.tasks = Some(tasks).filter(|tasks| !tasks.is_empty());
            }
            if !update.tools.is_empty() {
                let mut tools: Vec<ToolSpec> = context.tools.to_vec();
                for tool in update.tools {
                    if !tools.iter().any(|known| known.name == tool.name) {
                        tools.push(tool);
                    }
                }
                context.tools = Arc::from(tools);
            }
        }
    }
}

/// The line by which a memory file asks to survive every context level.
fn is_pin(line: &str) -> bool {
    line.trim() == "<!-- pin -->"
}
