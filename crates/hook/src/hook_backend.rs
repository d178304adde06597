//! Calls models and tools for hooks; implemented by the session.

use std::fmt;
use std::pin::Pin;
use std::time::Duration;

use serde_json::Value;
use windlass_vocabulary::MicroUsd;

/// Calls models and tools for hooks. The caller enforces the deadline by dropping the future.
pub trait HookBackend: fmt::Debug + Send + Sync {
    /// Asks a model, which only sees this prompt. `None` means the default model.
    fn ask_model(
        &self,
        prompt: String,
        model: Option<&str>,
        limit: Duration,
    ) -> HookBackendReplyFuture<'_>;
    /// Calls a tool of the session by name.
    fn call_tool(&self, tool: String, input: Value) -> HookBackendReplyFuture<'_>;
}

pub type HookBackendReplyFuture<'a> = Pin<Box<dyn Future<Output = HookBackendReply> + Send + 'a>>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookBackendReply {
    pub text: Result<String, String>,
    pub spent: MicroUsd,
}
