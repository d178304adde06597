//! A hook that is a function of the embedding program or of the client.

use std::fmt;
use std::pin::Pin;

use serde_json::Value;

pub type HookCallbackFuture<'a> = Pin<Box<dyn Future<Output = Result<Value, String>> + Send + 'a>>;

/// Calls the program that registered the hook.
///
/// The answer is the same JSON that a command hook prints; an empty object means no opinion. The
/// caller enforces the deadline by dropping the future.
pub trait HookCallback: fmt::Debug + Send + Sync {
    /// Calls the callback with this id, with the same JSON input as a command hook.
    fn call<'a>(
        &'a self,
        callback_id: &'a str,
        input: &'a Value,
        tool_use_id: Option<&'a str>,
    ) -> HookCallbackFuture<'a>;
}
