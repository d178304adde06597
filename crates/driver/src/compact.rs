//! A text that is not part of the conversation: a summary, or a label for a batch of tools.
//!
//! One model call without tools; when it fails, each other model of the chain is asked once. What
//! the text is good for, and what to do without it, is the engine's to say.

use windlass_dialect::Decoded;
use windlass_engine::{Event, Settings};
use windlass_vocabulary::{
    Block, FailureKind, ModelFacts, ModelFailure, ModelRequest, Ticket, Usage,
};

use crate::guard::caught;
use crate::model::ModelPort;

/// Asks for the text and reports what came of it, and what all tries used together.
pub(crate) async fn summarize(
    model: &ModelPort,
    settings: &Settings,
    ticket: Ticket,
    request: ModelRequest,
) -> Event {
    let mut usage = Usage::default();
    let mut result = ask(model, &request, &mut usage).await;
    for facts in others(settings, &request) {
        if result.is_ok() {
            break;
        }
        let output_max = request.output_max.min(facts.output_max);
        let request = ModelRequest { model: facts.name.clone(), output_max, ..request.clone() };
        result = ask(model, &request, &mut usage).await;
    }
    Event::SummaryEnded { ticket, result, usage }
}

/// The models of the chain that were not asked yet, in order.
fn others<'a>(
    settings: &'a Settings,
    request: &ModelRequest,
) -> impl Iterator<Item = &'a ModelFacts> {
    let asked = request.model.clone();
    let chain = std::iter::once(&settings.model).chain(&settings.fallbacks);
    chain.filter(move |facts| facts.name != asked)
}

async fn ask(
    model: &ModelPort,
    request: &ModelRequest,
    usage: &mut Usage,
) -> Result<String, ModelFailure> {
    let mut used = Usage::default();
    let result = caught(answer(model, request, &mut used)).await.unwrap_or_else(|words| {
        Err(ModelFailure::new(
            FailureKind::Misconfigured,
            format!("a fault inside Windlass ended the call: {words}"),
        ))
    });
    *usage += used;
    result
}

async fn answer(
    model: &ModelPort,
    request: &ModelRequest,
    used: &mut Usage,
) -> Result<String, ModelFailure> {
    let mut answer = model.open(request).await?;
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
