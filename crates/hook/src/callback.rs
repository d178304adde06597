//! A hook that lives in the embedding program, or in the client at the other end of a pipe.

use std::fmt;
use std::pin::Pin;

use serde_json::Value;

pub type HookCallbackFuture<'a> = Pin<Box<dyn Future<Output = Result<Value, String>> + Send + 'a>>;

/// Calls back the program that registered the hook.
///
/// The answer is the same JSON a program would write; an empty object means no opinion. The deadline
/// is kept by the caller: a call that takes too long is dropped.
pub trait HookCallback: fmt::Debug + Send + Sync {
    /// Calls the callback of this id with the JSON a program would read.
    fn call<'a>(
        &'a self,
        callback_id: &'a str,
        input: &'a Value,
        tool_use_id: Option<&'a str>,
    ) -> HookCallbackFuture<'a>;
}
