//! Histories for the four normalisation steps: messages in, what the provider would get out.

use std::sync::Arc;

use windlass_dialect::normalize::normalize;
use windlass_dialect::projection::{AnswerPart, Turn, UserPart};
use windlass_vocabulary::{
    AgentId, AttemptId, Message, MessageId, Messages, ModelRequest, Origin, Role, Source, Tokens,
};

use super::happening::Happening;
use super::render::{Shown, quoted};
use super::setup::Setup;

/// The messages a scenario has put together.
pub(crate) struct History<'a> {
    setup: &'a Setup,
    messages: Messages,
}

impl<'a> History<'a> {
    pub(crate) fn new(setup: &'a Setup) -> Self {
        Self { setup, messages: Messages::default() }
    }

    /// Takes in a message or normalises all so far; `None` if it is neither.
    pub(crate) fn take(&mut self, happening: &Happening) -> Option<Vec<Shown>> {
        match happening {
            Happening::Message { origin, model, content } => {
                self.messages.push(Arc::new(Message {
                    id: MessageId(self.messages.len() as u64),
                    role: if *origin == Origin::Model { Role::Assistant } else { Role::User },
                    origin: *origin,
                    content: content.clone(),
                    model: model.clone(),
                    pinned: false,
                }));
                Some(Vec::new())
            }
            Happening::Normalize => Some(self.normalized()),
            _ => None,
        }
    }

    fn normalized(&self) -> Vec<Shown> {
        let request = ModelRequest {
            attempt: AttemptId(1),
            model: self.setup.settings.model.name.clone(),
            system: Vec::new(),
            tools: self.setup.settings.tools.clone(),
            messages: self.messages.clone(),
            output_max: Tokens(1_000),
            thinking: self.setup.settings.thinking,
            effort: self.setup.settings.effort,
            source: Source::Main,
            agent: AgentId::from("main"),
            clear_results: None,
            without_reasoning: self.setup.without_reasoning,
        };
        let (projection, notes) = normalize(&request, &self.setup.law);
        let sent = Shown {
            head: "sent".to_owned(),
            body: projection.turns().flat_map(|turn| self::turn(&turn)).collect(),
            is_body_optional: false,
        };
        let line = |head: String| Shown { head, body: Vec::new(), is_body_optional: false };
        let notes = notes.into_lines().into_iter().map(|note| line(format!("note {note}")));
        let breaches = self.setup.law.breaches(&projection);
        let breaches = breaches.into_iter().map(|breach| line(format!("breach {breach}")));
        [sent].into_iter().chain(notes).chain(breaches).collect()
    }
}

fn turn(turn: &Turn<'_, '_>) -> Vec<String> {
    match turn {
        Turn::User { calls, parts } => {
            let results = calls.iter().map(|call| {
                let failed = if call.result().is_error() { " failed" } else { "" };
                let words: Vec<String> = call.result().parts().iter().map(part).collect();
                format!("user: result {}{failed} {}", call.id(), words.join(" "))
            });
            let parts = parts.iter().map(|one| format!("user: {}", part(one)));
            results.chain(parts).collect()
        }
        Turn::Answer(exchange) => exchange
            .answer()
            .iter()
            .map(|part| match part {
                AnswerPart::Text(text) => format!("assistant: {}", quoted(text)),
                AnswerPart::Thinking(thinking, _) => {
                    format!("assistant: think {}", quoted(&thinking.text))
                }
                AnswerPart::Provider(block, _) => {
                    format!("assistant: provider {} {}", block.kind, block.json)
                }
                AnswerPart::Call(call) => {
                    format!("assistant: call {} {} {}", call.id(), call.name(), call.input())
                }
            })
            .collect(),
    }
}

fn part(part: &UserPart<'_>) -> String {
    match part {
        UserPart::Text(text) => quoted(text),
        UserPart::Media(media) => format!("image {}", media.name),
    }
}
