//! A text that is not part of the conversation: a summary, or a label for a batch of tools.
//!
//! One model call through the same code as any other, collected instead of streamed. Whom to ask
//! next when it fails, what the text is good for and what to do without it is the engine's to say.

use windlass_dialect::Decoded;
use windlass_engine::Event;
use windlass_vocabulary::{Block, FailureKind, ModelFailure, ModelRequest, Ticket, Usage};

use crate::guard::caught;
use crate::keeper::Gate;
use crate::model::ModelPort;

/// Asks for the text and reports what came of it and what it used.
pub(crate) async fn summarize(
    model: &ModelPort,
    ticket: Ticket,
    request: &ModelRequest,
    gate: Gate,
) -> Event {
    let mut usage = Usage::default();
    let result = caught(answer(model, request, gate, &mut usage)).await.unwrap_or_else(|words| {
        Err(ModelFailure::new(
            FailureKind::Misconfigured,
            format!("a fault inside Windlass ended the call: {words}"),
        ))
    });
    Event::SummaryEnded { ticket, result, usage }
}

async fn answer(
    model: &ModelPort,
    request: &ModelRequest,
    gate: Gate,
    used: &mut Usage,
) -> Result<String, ModelFailure> {
    let mut answer = model.open(request, gate).await?;
    let mut text = String::new();
    loop {
        for piece in answer.next().await {
            match piece {
                Decoded::Block(Block::Text(block)) => text.push_str(&block),
                Decoded::Usage(usage) => *used = used.max(&usage),
                Decoded::Failed(failure) => return Err(failure),
                Decoded::Ended { usage, .. } => {
                    *used = used.max(&usage);
                    return Ok(text);
                }
                _ => {}
            }
        }
    }
}
