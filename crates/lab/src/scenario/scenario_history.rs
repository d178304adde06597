//! Histories for the four normalisation steps: messages in, what the provider would get out.

use std::sync::Arc;

use windlass_dialect::normalize::normalize;
use windlass_dialect::normalized_conversation::{AnswerPart, UserPart, WireTurn};
use windlass_vocabulary::{
    AgentId, AttemptId, Message, MessageId, MessageOrigin, Messages, ModelRequest, RequestSource,
    Role, Tokens,
};

use super::render::{RenderedEffect, quote};
use super::scenario_event::ScenarioEvent;
use super::scenario_setup::ScenarioSetup;

pub(crate) struct ScenarioHistory<'a> {
    setup: &'a ScenarioSetup,
    messages: Messages,
}

impl<'a> ScenarioHistory<'a> {
    pub(crate) fn new(setup: &'a ScenarioSetup) -> Self {
        Self { setup, messages: Messages::default() }
    }

    /// Takes in a message or normalises all so far; `None` if it is neither.
    pub(crate) fn apply(&mut self, happening: &ScenarioEvent) -> Option<Vec<RenderedEffect>> {
        if let ScenarioEvent::Normalize = happening {
            return Some(self.render_normalized());
        }
        let ScenarioEvent::Message { origin, model, content } = happening else {
            return None;
        };
        let is_answer = *origin == MessageOrigin::Model;
        self.messages.push(Arc::new(Message {
            id: MessageId(self.messages.len() as u64),
            role: if is_answer { Role::Assistant } else { Role::User },
            origin: *origin,
            content: content.clone(),
            model: model.clone(),
            pinned: false,
        }));
        Some(Vec::new())
    }

    fn render_normalized(&self) -> Vec<RenderedEffect> {
        let request = ModelRequest {
            attempt: AttemptId(1),
            model: self.setup.settings.model.name.clone(),
            system: Vec::new(),
            tools: self.setup.settings.tools.clone(),
            messages: self.messages.clone(),
            output_max: Tokens(1_000),
            thinking: self.setup.settings.reasoning.thinking,
            effort: self.setup.settings.reasoning.effort,
            source: RequestSource::Main,
            agent: AgentId::from("main"),
            clear_results: None,
            without_reasoning: self.setup.without_reasoning,
        };
        let (projection, notes) = normalize(&request, &self.setup.provider_rules);
        let sent = RenderedEffect {
            head: "sent".to_owned(),
            body: projection.turns().flat_map(|turn| render_turn(&turn)).collect(),
            is_body_optional: false,
        };
        let line =
            |head: String| RenderedEffect { head, body: Vec::new(), is_body_optional: false };
        let notes = notes.into_lines().into_iter().map(|note| line(format!("note {note}")));
        let breaches = self.setup.provider_rules.find_violations(&projection);
        let breaches = breaches.into_iter().map(|breach| line(format!("breach {breach}")));
        [sent].into_iter().chain(notes).chain(breaches).collect()
    }
}

fn render_turn(turn: &WireTurn<'_, '_>) -> Vec<String> {
    match turn {
        WireTurn::User { calls, parts } => {
            let results = calls.iter().map(|call| {
                let failed = if call.result().is_error() { " failed" } else { "" };
                let words: Vec<String> = call.result().parts().iter().map(render_part).collect();
                format!("user: result {}{failed} {}", call.id(), words.join(" "))
            });
            let parts = parts.iter().map(|one| format!("user: {}", render_part(one)));
            results.chain(parts).collect()
        }
        WireTurn::Answer(exchange) => exchange
            .answer()
            .iter()
            .map(|part| match part {
                AnswerPart::Text(text) => format!("assistant: {}", quote(text)),
                AnswerPart::Thinking(thinking, _) => {
                    format!("assistant: think {}", quote(&thinking.text))
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

fn render_part(part: &UserPart<'_>) -> String {
    match part {
        UserPart::Text(text) => quote(text),
        UserPart::Media(media) => format!("image {}", media.name),
    }
}
