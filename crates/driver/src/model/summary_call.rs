//! Requests text that is not part of the conversation: a summary, or a label for a batch of tools.
//!
//! One model call through the same code as any other, collected instead of streamed. The engine
//! decides on fallbacks, on the use of the text, and what to do without it.

use windlass_engine::Event;
use windlass_vocabulary::{ModelFailure, ModelRequest, Ticket};

use super::ModelClient;
use super::collected_answer::CollectedAnswer;
use crate::panic_guard::catch_call_panic;
use crate::session_journal::durability::DurabilityGate;

/// Sends the request, and reports the text and the usage.
pub(crate) async fn summarize(
    model: &ModelClient,
    ticket: Ticket,
    request: &ModelRequest,
    gate: DurabilityGate,
) -> Event {
    let mut collected = CollectedAnswer::default();
    let call = collect_text(model, request, gate, &mut collected);
    let result = catch_call_panic(call).await.and_then(|result| result);
    Event::SummaryEnded { ticket, result, usage: collected.usage }
}

async fn collect_text(
    model: &ModelClient,
    request: &ModelRequest,
    gate: DurabilityGate,
    collected: &mut CollectedAnswer,
) -> Result<String, ModelFailure> {
    let mut answer = model.open_stream(request, gate).await?;
    loop {
        for event in answer.next().await {
            if collected.add(&event)? {
                return Ok(std::mem::take(&mut collected.text));
            }
        }
    }
}
