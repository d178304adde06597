//! Each result in the transcript is what that very call came to: the words of its own tool if that
//! ended, or what a hook made of them, and a failure if it did not. No two texts are kept on disk under one name.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use windlass_engine::{Effect, Event, HookSubject};
use windlass_vocabulary::{
    Message, Notice, Ticket, ToolCallId, ToolOutcome, ToolResult, ToolResultPart,
};

use super::StepView;

#[derive(Debug, Default)]
pub(super) struct ToolResultChecker {
    calls: BTreeMap<Ticket, ToolCallId>,
    ended: BTreeMap<ToolCallId, ToolOutcome>,
    /// Hooks that review results.
    reviews: BTreeMap<Ticket, ToolCallId>,
    spilled: BTreeSet<Arc<str>>,
}

impl ToolResultChecker {
    pub(super) fn check(&mut self, view: &StepView<'_>) -> Result<(), String> {
        if let Event::ToolEnded { ticket, outcome } = view.event
            && !view.is_stale
            && let Some(call) = self.calls.get(ticket)
        {
            self.ended.insert(call.clone(), outcome.clone());
        }
        if let Event::HookEnded { ticket, report } = view.event
            && !view.is_stale
            && let Some(text) = &report.output
            && let Some(call) = self.reviews.get(ticket)
            && let Some(outcome) = self.ended.get_mut(call)
        {
            outcome.content = vec![ToolResultPart::Text(text.clone())];
        }
        for effect in view.effects {
            match effect {
                Effect::RunHook {
                    ticket: Some(ticket),
                    subject: HookSubject::Outcome(call, _),
                    ..
                } => {
                    self.reviews.insert(*ticket, call.id.clone());
                }
                Effect::StartTool { ticket, granted, .. } => {
                    self.calls.insert(*ticket, granted.get().id.clone());
                }
                Effect::Tell(Notice::MessageAdded(message)) => self.check_written(message)?,
                Effect::Spill { name, .. } if !self.spilled.insert(name.clone()) => {
                    return Err(format!("two texts are kept as {name}"));
                }
                Effect::CallModel(_)
                | Effect::CancelModel { .. }
                | Effect::CancelTool { .. }
                | Effect::AskPermission { .. }
                | Effect::RunHook { .. }
                | Effect::Summarize { .. }
                | Effect::Spill { .. }
                | Effect::Keep { .. }
                | Effect::Prefetch { .. }
                | Effect::SetTimer { .. }
                | Effect::Tell(_)
                | Effect::Finish(_) => {}
            }
        }
        Ok(())
    }

    fn check_written(&self, message: &Message) -> Result<(), String> {
        for result in message.tool_results() {
            let is_right = match self.ended.get(&result.call) {
                Some(outcome) => {
                    result.is_error == outcome.is_error
                        && result.content.len() == outcome.content.len()
                        && texts(&outcome.content).all(|text| has_text(result, text))
                }
                None => result.is_error,
            };
            if !is_right {
                return Err(format!("{} got the wrong result: {result:?}", result.call));
            }
        }
        Ok(())
    }
}

fn has_text(result: &ToolResult, text: &str) -> bool {
    texts(&result.content).any(|words| words.contains(text))
}

fn texts(parts: &[ToolResultPart]) -> impl Iterator<Item = &str> {
    parts.iter().filter_map(ToolResultPart::as_text)
}
