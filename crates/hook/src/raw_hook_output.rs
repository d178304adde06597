//! The raw result of a hook, before it is parsed.

use serde_json::Value;
use windlass_vocabulary::MicroUsd;

use crate::hook_backend::HookBackendReply;

#[derive(Debug, Default)]
pub(crate) struct RawHookOutput {
    pub(crate) end: HookCompletion,
    pub(crate) exit_code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) spent: MicroUsd,
}

#[derive(Debug, Default)]
pub(crate) enum HookCompletion {
    /// There is no output, which is fine.
    #[default]
    NoOutput,
    /// A command exited by itself with valid output.
    Exited(i32),
    /// A command exited by itself, but its output is unusable for this reason.
    InvalidOutput(i32, String),
    Value(Value),
    TimedOut,
    Cancelled,
    Failed(String),
}

impl RawHookOutput {
    pub(crate) fn from_completion(end: HookCompletion) -> Self {
        Self { end, ..Self::default() }
    }

    /// `parse` interprets the text of the reply.
    pub(crate) fn from_reply(
        reply: HookBackendReply,
        parse: impl FnOnce(&str) -> HookCompletion,
    ) -> Self {
        let spent = reply.spent;
        match reply.text {
            Ok(text) => Self { end: parse(&text), stdout: text, spent, ..Self::default() },
            Err(why) => {
                let end = HookCompletion::Failed(format!("failed: {why}"));
                Self { end, spent, ..Self::default() }
            }
        }
    }
}
