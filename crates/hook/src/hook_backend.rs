//! Asks models and calls tools for hooks; implemented by the owner of the session.

use std::fmt;
use std::pin::Pin;
use std::time::Duration;

use serde_json::Value;
use windlass_vocabulary::MicroUsd;

/// Asks on behalf of hooks. The deadline is kept by the caller as well: a call that takes too long is
/// dropped.
pub trait HookBackend: fmt::Debug + Send + Sync {
    /// Asks a model, which sees nothing but this; the one of this name, if one is named.
    fn ask_model(
        &self,
        prompt: String,
        model: Option<&str>,
        limit: Duration,
    ) -> HookBackendReplyFuture<'_>;
    /// Calls a tool of the session by its name.
    fn call_tool(&self, tool: String, input: Value) -> HookBackendReplyFuture<'_>;
}

pub type HookBackendReplyFuture<'a> = Pin<Box<dyn Future<Output = HookBackendReply> + Send + 'a>>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookBackendReply {
    pub text: Result<String, String>,
    pub spent: MicroUsd,
}
