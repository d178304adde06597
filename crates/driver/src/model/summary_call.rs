//! Requests text that is not part of the conversation: a summary, or a label for a batch of tools.
//!
//! One model call through the same code as any other, collected instead of streamed. The engine
//! decides on fallbacks, on the use of the text, and what to do without it.

use windlass_dialect::DecodedEvent;
use windlass_engine::Event;
use windlass_vocabulary::{ContentBlock, FailureKind, ModelFailure, ModelRequest, Ticket, Usage};

use super::ModelClient;
use crate::panic_guard::catch_panic;
use crate::session_journal::durability::DurabilityGate;

/// Sends the request, and reports the text and the usage.
pub(crate) async fn summarize(
    model: &ModelClient,
    ticket: Ticket,
    request: &ModelRequest,
    gate: DurabilityGate,
) -> Event {
    let mut usage = Usage::default();
    let result =
        catch_panic(collect_text(model, request, gate, &mut usage)).await.unwrap_or_else(|words| {
            Err(ModelFailure::new(
                FailureKind::Misconfigured,
                format!("a fault inside Windlass ended the call: {words}"),
            ))
        });
    Event::SummaryEnded { ticket, result, usage }
}

async fn collect_text(
    model: &ModelClient,
    request: &ModelRequest,
    gate: DurabilityGate,
    used: &mut Usage,
) -> Result<String, ModelFailure> {
    let mut answer = model.open_stream(request, gate).await?;
    let mut text = String::new();
    loop {
        for piece in answer.next().await {
            match piece {
                DecodedEvent::Block(ContentBlock::Text(block)) => text.push_str(&block),
                DecodedEvent::Usage(usage) => *used = used.max(&usage),
                DecodedEvent::Failed(failure) => return Err(failure),
                DecodedEvent::Ended { usage, .. } => {
                    *used = used.max(&usage);
                    return Ok(text);
                }
                DecodedEvent::Started { .. }
                | DecodedEvent::Text(_)
                | DecodedEvent::Thinking(_)
                | DecodedEvent::CallStarted { .. }
                | DecodedEvent::CallInput(_)
                | DecodedEvent::Block(_)
                | DecodedEvent::Call { .. }
                | DecodedEvent::ToolResultsCleared { .. }
                | DecodedEvent::Ping
                | DecodedEvent::Raw(_) => {}
            }
        }
    }
}
