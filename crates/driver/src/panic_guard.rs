//! Catches panics of tools and hooks, so that they do not end a session.
//!
//! A task that panics must still report its end, or the engine would wait forever.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::task::Poll;

use windlass_vocabulary::{FailureKind, ModelFailure};

/// Runs the future, and converts a panic to an error with its message.
pub(crate) async fn catch_panic<F: Future>(future: F) -> Result<F::Output, String> {
    let mut future = pin!(future);
    std::future::poll_fn(move |context| {
        // The future is not used again after a panic: it is dropped together with this one.
        let poll = || Pin::as_mut(&mut future).poll(context);
        match catch_unwind(AssertUnwindSafe(poll)) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(value)) => Poll::Ready(Ok(value)),
            Err(panic) => Poll::Ready(Err(panic_message(&*panic))),
        }
    })
    .await
}

/// Runs a model call, and converts a panic to its failure.
pub(crate) async fn catch_call_panic<F: Future>(call: F) -> Result<F::Output, ModelFailure> {
    catch_panic(call).await.map_err(|words| {
        let message = format!("a fault inside Windlass ended the call: {words}");
        ModelFailure::new(FailureKind::Misconfigured, message)
    })
}

pub(crate) fn catch_panic_sync<T>(call: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|panic| panic_message(&*panic))
}

pub(crate) fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic without a message").to_owned()
}
