//! The result of one hook run.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use windlass_vocabulary::{HookVerdict, MicroUsd};

use crate::event::HookEvent;
use crate::hook_output::{ElicitationAnswer, PermissionRequestAnswer};
use crate::long_output::shorten_long_text;

#[derive(Clone, Debug, PartialEq)]
pub struct HookRunResult {
    /// The number that was passed to `hook_started`.
    pub number: u64,
    pub event: HookEvent,
    /// For display: the event, with a tool's name or a source.
    pub event_label: String,
    pub name: String,
    pub source: String,
    pub duration: Duration,
    /// A command's exit code, or a server's status.
    pub exit_code: Option<i32>,
    /// The output, truncated.
    pub stdout: String,
    /// The standard error, truncated.
    pub stderr: String,
    /// Why the result does not count.
    pub failure: Option<String>,
    pub is_cancelled: bool,
    pub spent: MicroUsd,
    pub answer: HookAnswer,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct HookAnswer {
    pub verdict: HookVerdict,
    pub context: Vec<String>,
    pub message: Option<String>,
    pub updated_input: Option<Value>,
    /// Replaces the tool's result for the model.
    pub updated_output: Option<Value>,
    pub permission_answer: Option<PermissionRequestAnswer>,
    pub title: Option<String>,
    pub first_message: Option<String>,
    pub elicitation_answer: Option<ElicitationAnswer>,
}

impl HookAnswer {
    /// Truncates each text; the complete ones are written to files.
    pub(crate) fn shorten(&mut self, spill: &Path) {
        let short = |text: &mut String| *text = shorten_long_text(std::mem::take(text), spill);
        self.context.iter_mut().for_each(short);
        self.message.iter_mut().for_each(short);
        self.title.iter_mut().for_each(short);
        self.first_message.iter_mut().for_each(short);
        match &mut self.verdict {
            HookVerdict::Ask(why)
            | HookVerdict::Defer(why)
            | HookVerdict::Block(why)
            | HookVerdict::Halt(why) => short(why),
            HookVerdict::Pass | HookVerdict::Allow => {}
        }
        if let Some(PermissionRequestAnswer::Deny { message, .. }) = &mut self.permission_answer {
            short(message);
        }
    }
}
