//! A tool starts at most once, only for a whole call of the answer under way, never for an answer
//! that was taken back, never against a rule that denies it, and only beside those it may run
//! beside. In batch mode none starts before the answer is complete.

use std::collections::{BTreeMap, BTreeSet};

use windlass_engine::{Effect, Event};
use windlass_vocabulary::{Concurrency, Delta, Notice, Ticket, ToolCallId, ToolName};

use super::StepView;

#[derive(Debug, Default)]
pub(super) struct ToolStartChecker {
    /// Names of whole calls of the answer under way, as the provider gave them.
    whole: BTreeSet<String>,
    started: BTreeSet<ToolCallId>,
    running: BTreeMap<Ticket, Concurrency>,
}

impl ToolStartChecker {
    pub(super) fn check(&mut self, view: &StepView<'_>) -> Result<(), String> {
        if let Event::ModelDelta { delta: Delta::Call { call, .. }, .. } = view.event
            && !view.is_stale
        {
            self.whole.insert(call.id.to_string());
        } else if let Event::ToolEnded { ticket, .. } = view.event {
            self.running.remove(ticket);
        }
        for effect in view.effects {
            match effect {
                Effect::CallModel(_) | Effect::Tell(Notice::Retracted { .. }) => {
                    self.whole.clear();
                }
                Effect::CancelTool { ticket } => {
                    self.running.remove(ticket);
                }
                Effect::StartTool { ticket, granted, .. } => {
                    let id = &granted.get().id;
                    if !self.is_whole(id.as_str()) {
                        return Err(format!("{id} starts, but is not a whole call of this answer"));
                    }
                    if !self.started.insert(id.clone()) {
                        return Err(format!("{id} starts a second time"));
                    }
                    check_may_start(&granted.get().name, view)?;
                    self.check_schedule(*ticket, id, view)?;
                }
                Effect::CancelModel { .. }
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

    fn is_whole(&self, id: &str) -> bool {
        self.whole.contains(id)
            || id.rsplit_once('_').is_some_and(|(name, _)| self.whole.contains(name))
    }

    fn check_schedule(
        &mut self,
        ticket: Ticket,
        id: &ToolCallId,
        view: &StepView<'_>,
    ) -> Result<(), String> {
        let queue = &view.state.queue.entries;
        let entry = queue.iter().find(|entry| entry.call.id == *id);
        let concurrency = entry.map_or(Concurrency::Shared, |entry| entry.inspection.concurrency);
        self.running.insert(ticket, concurrency);
        let exclusive = self.running.values().any(|one| *one == Concurrency::Exclusive);
        let most = usize::from(view.limits.tools_parallel_max.max(1));
        match exclusive && self.running.len() > 1 || self.running.len() > most {
            true => Err(format!("{id} starts beside {} others", self.running.len() - 1)),
            false => Ok(()),
        }
    }
}

fn check_may_start(name: &ToolName, view: &StepView<'_>) -> Result<(), String> {
    let rules = &view.state.tool_context.policy.rules;
    if rules.deny.iter().any(|rule| rule.tool == name.as_str() && rule.content.is_none()) {
        return Err(format!("{name} starts against a rule that denies it"));
    }
    let is_early =
        view.settings.switches.batch_tools && matches!(view.event, Event::ModelDelta { .. });
    match is_early {
        true => Err(format!("{name} starts before the answer is complete")),
        false => Ok(()),
    }
}
