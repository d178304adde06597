//! Executes one granted call and returns its outcome.
//!
//! A panic, an unknown name and a tool that ignores cancellation all end in an outcome that the
//! model can read. The tool's future is dropped at the end, with everything it started.

use std::time::Duration;

use tokio::sync::mpsc;
use windlass_engine::Event;
use windlass_permission::PermissionGrant;
use windlass_tool::{ToolCallContext, ToolRegistry};
use windlass_vocabulary::{Ticket, ToolCall, ToolOutcome};

use crate::panic_guard::catch_panic;

pub(crate) async fn execute(
    registry: &ToolRegistry,
    ticket: Ticket,
    granted: PermissionGrant<ToolCall>,
    call_context: ToolCallContext,
    mut progress: mpsc::Receiver<String>,
    events: &mpsc::Sender<Event>,
) -> ToolOutcome {
    let mut run = Box::pin(run_tool(registry, granted, call_context));
    loop {
        tokio::select! {
            biased;
            outcome = &mut run => return outcome,
            Some(text) = progress.recv() => {
                let _ = events.send(Event::ToolProgressed { ticket, text }).await;
            }
        }
    }
}

async fn run_tool(
    registry: &ToolRegistry,
    granted: PermissionGrant<ToolCall>,
    call_context: ToolCallContext,
) -> ToolOutcome {
    let name = granted.get().name.clone();
    let Some(tool) = registry.get(name.as_str()) else {
        return ToolOutcome::failure(format!("There is no tool `{name}` any more."));
    };
    let cancel = call_context.cancel.clone();
    let overdue = async {
        cancel.cancelled().await;
        tokio::time::sleep(CANCEL_GRACE).await;
    };
    tokio::select! {
        biased;
        ended = catch_panic(async { tool.run(granted, call_context).await }) => ended.unwrap_or_else(|words| {
            ToolOutcome::failure(format!(
                "The tool `{name}` broke down ({words}). What it did before that is not known."
            ))
        }),
        () = overdue => ToolOutcome::failure(format!(
            "The tool `{name}` was asked to stop, did not, and was dropped. What it did before \
             that is not known."
        )),
    }
}

/// How long a cancelled tool may take to end by itself.
const CANCEL_GRACE: Duration = Duration::from_millis(2_800);
