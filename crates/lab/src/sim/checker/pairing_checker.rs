//! Every request is one a provider would take: it begins with the user's side, and each call has
//! exactly one result, in the next message, in the order of the calls. When no answer is under way
//! the same holds for the transcript, but for a deferred call.

use std::sync::Arc;

use windlass_engine::Effect;
use windlass_vocabulary::{Message, Messages, RequestSource, Role};

use super::StepView;

pub(super) fn check(view: &StepView<'_>) -> Result<(), String> {
    for effect in view.effects {
        if let Effect::CallModel(request) = effect {
            check_sent(&request.messages)?;
        } else if let Effect::Summarize { request, .. } = effect
            && request.source == RequestSource::Compaction
        {
            check_sent(&request.messages)?;
        } else if let Effect::Finish(ending) = effect {
            // A run may begin in the same step, but it has no calls yet.
            let left = find_open_calls(view.state.transcript.messages())?;
            let deferred = ending.deferred.as_ref().map(|call| call.id.as_str());
            if !left.iter().copied().eq(deferred) {
                return Err(format!("{left:?} are open at the end, {deferred:?} was deferred"));
            }
        }
    }
    Ok(())
}

fn check_sent(messages: &Messages) -> Result<(), String> {
    match messages.get(0) {
        Some(first) if first.role == Role::User => check_pairs(messages.iter()),
        Some(first) => Err(format!("a request begins with an answer, {}", first.id)),
        None => Err("a request without messages".to_owned()),
    }
}

fn check_pairs<'a>(messages: impl Iterator<Item = &'a Arc<Message>>) -> Result<(), String> {
    match find_open_calls(messages)? {
        open if open.is_empty() => Ok(()),
        open => Err(format!("{open:?} are never answered")),
    }
}

/// The calls of the last message; all others are paired.
fn find_open_calls<'a>(
    messages: impl Iterator<Item = &'a Arc<Message>>,
) -> Result<Vec<&'a str>, String> {
    let mut open: Vec<&str> = Vec::new();
    for message in messages {
        let results: Vec<&str> =
            message.tool_results().map(|result| result.call.as_str()).collect();
        if results != open {
            let id = message.id;
            return Err(format!("{id} answers {results:?} where {open:?} are open"));
        }
        open = message.tool_calls().map(|call| call.id.as_str()).collect();
        if !open.is_empty() && message.role != Role::Assistant {
            return Err(format!("{} calls tools and is not an answer", message.id));
        }
    }
    Ok(open)
}
