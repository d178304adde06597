//! Every request is one a provider would take: it begins with the user's side, and each call has
//! exactly one result, in the next message, in the order of the calls. When no answer is under way
//! the same holds for the transcript.

use std::sync::Arc;

use windlass_engine::Effect;
use windlass_vocabulary::{Message, Messages, Role, Source};

use super::View;

pub(super) fn check(view: &View<'_>) -> Result<(), String> {
    for effect in view.effects {
        match effect {
            Effect::CallModel(request) => sent(&request.messages)?,
            Effect::Summarize { request, .. } if request.source == Source::Compaction => {
                sent(&request.messages)?;
            }
            Effect::Finish(_) => {
                // A run may begin in the same step, but it has no calls yet.
                pairs(view.state.transcript.messages())?;
            }
            _ => {}
        }
    }
    Ok(())
}

fn sent(messages: &Messages) -> Result<(), String> {
    match messages.get(0) {
        Some(first) if first.role == Role::User => pairs(messages.iter()),
        Some(first) => Err(format!("a request begins with an answer, {}", first.id)),
        None => Err("a request without messages".to_owned()),
    }
}

fn pairs<'a>(messages: impl Iterator<Item = &'a Arc<Message>>) -> Result<(), String> {
    let mut open: Vec<&str> = Vec::new();
    for message in messages {
        let results: Vec<&str> = message.results().map(|result| result.call.as_str()).collect();
        if results != open {
            let id = message.id;
            return Err(format!("{id} answers {results:?} where {open:?} are open"));
        }
        open = message.calls().map(|call| call.id.as_str()).collect();
        if !open.is_empty() && message.role != Role::Assistant {
            return Err(format!("{} calls tools and is not an answer", message.id));
        }
    }
    match open.is_empty() {
        true => Ok(()),
        false => Err(format!("{open:?} are never answered")),
    }
}
