//! Which errands are out, as the world knows it: from effects and events alone, without a look into
//! the engine. An event that answers none of these is stale.

use std::collections::{BTreeMap, BTreeSet};

use super::random_settings::NESTED_SESSION_TOOL;
use windlass_engine::{Effect, Event};
use windlass_vocabulary::{AttemptId, HookPoint, MicroUsd, Notice, RequestSource, Ticket};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SimTaskKey {
    Attempt(AttemptId),
    Ticket(Ticket),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SimTask {
    Model,
    Tool(Option<MicroUsd>),
    Question,
    /// Hooks, and for those before a tool the attempt whose call they look at.
    Hook(HookPoint, Option<AttemptId>),
    Timer,
    Summary(AttemptId),
    Label,
}

#[derive(Clone, Debug, Default)]
pub struct SimTasks {
    live: BTreeMap<SimTaskKey, SimTask>,
    billed_after_cancel: BTreeSet<SimTaskKey>,
    attempt: Option<AttemptId>,
}

impl SimTasks {
    pub fn iter(&self) -> impl Iterator<Item = (SimTaskKey, SimTask)> + '_ {
        self.live.iter().map(|(key, errand)| (*key, *errand))
    }

    /// Is this an answer to something that is out, and of the right kind?
    #[must_use]
    pub fn is_awaited(&self, event: &Event) -> bool {
        let Some(key) = task_key(event) else {
            return true;
        };
        self.live.get(&key).is_some_and(|errand| {
            matches!(
                (event, errand),
                (Event::ModelStarted { .. }, SimTask::Model)
                    | (Event::ModelDelta { .. }, SimTask::Model)
                    | (Event::ModelEnded { .. }, SimTask::Model)
                    | (Event::ModelFailed { .. }, SimTask::Model)
                    | (Event::ToolProgressed { .. }, SimTask::Tool(_))
                    | (Event::ToolEnded { .. }, SimTask::Tool(_))
                    | (Event::PermissionAnswered { .. }, SimTask::Question)
                    | (Event::HookEnded { .. }, SimTask::Hook(..))
                    | (Event::SummaryEnded { .. }, SimTask::Summary(_) | SimTask::Label)
                    | (Event::TimerFired { .. }, SimTask::Timer)
            )
        })
    }

    /// May this one have a cost even after it was cancelled? The end of a cancelled label is not
    /// reported, and a cancelled nested session has spent what it has spent.
    #[must_use]
    pub fn is_billed_after_cancel(&self, key: SimTaskKey) -> bool {
        self.billed_after_cancel.contains(&key)
    }

    pub fn mark_delivered(&mut self, event: &Event) {
        if !self.is_awaited(event) {
            return;
        }
        if let (Some(key), true) = (task_key(event), is_final_event(event)) {
            self.live.remove(&key);
        }
    }

    /// Takes in one effect. Says what is left hanging when a run ends.
    pub fn record_effect(&mut self, effect: &Effect) -> Result<(), String> {
        match effect {
            Effect::CallModel(request) => {
                self.attempt = Some(request.attempt);
                self.live.insert(SimTaskKey::Attempt(request.attempt), SimTask::Model);
            }
            Effect::CancelModel { attempt } => {
                self.live.remove(&SimTaskKey::Attempt(*attempt));
                self.live.retain(|_, errand| *errand != SimTask::Summary(*attempt));
            }
            Effect::StartTool { ticket, granted, allowance } => {
                if granted.get().name.as_str() == NESTED_SESSION_TOOL {
                    self.billed_after_cancel.insert(SimTaskKey::Ticket(*ticket));
                }
                self.live.insert(SimTaskKey::Ticket(*ticket), SimTask::Tool(*allowance));
            }
            Effect::CancelTool { ticket } => {
                self.live.remove(&SimTaskKey::Ticket(*ticket));
            }
            Effect::AskPermission { ticket, .. } => {
                self.live.insert(SimTaskKey::Ticket(*ticket), SimTask::Question);
            }
            Effect::RunHook { ticket: Some(ticket), point, .. } => {
                let attempt = self.attempt.filter(|_| *point == HookPoint::PreToolUse);
                self.live.insert(SimTaskKey::Ticket(*ticket), SimTask::Hook(*point, attempt));
            }
            Effect::Summarize { ticket, request } => {
                let key = SimTaskKey::Ticket(*ticket);
                let errand = match request.source {
                    RequestSource::ToolLabel | RequestSource::Chore(_) => {
                        self.billed_after_cancel.insert(key);
                        SimTask::Label
                    }
                    RequestSource::Main | RequestSource::Compaction | RequestSource::Aside => {
                        SimTask::Summary(request.attempt)
                    }
                };
                self.live.insert(key, errand);
            }
            Effect::SetTimer { ticket, .. } => {
                self.live.insert(SimTaskKey::Ticket(*ticket), SimTask::Timer);
            }
            Effect::Tell(Notice::PermissionWithdrawn(ticket)) => {
                self.live.remove(&SimTaskKey::Ticket(*ticket));
            }
            Effect::Tell(Notice::Retracted { attempt, .. }) => self.live.retain(
                |_, errand| !matches!(errand, SimTask::Hook(_, Some(owner)) if owner == attempt),
            ),
            Effect::Finish(_) => return self.finish_run(),
            Effect::RunHook { .. }
            | Effect::Spill { .. }
            | Effect::Keep { .. }
            | Effect::Prefetch { .. }
            | Effect::Tell(_) => {}
        }
        Ok(())
    }

    /// A run ended: nothing may run on behind its back. Hooks and timers cannot be called off, and
    /// what they say is stale from now on.
    fn finish_run(&mut self) -> Result<(), String> {
        let left = self.live.iter().find(|(_, errand)| {
            matches!(
                errand,
                SimTask::Model | SimTask::Tool(_) | SimTask::Question | SimTask::Summary(_)
            )
        });
        if let Some((key, errand)) = left {
            return Err(format!("the run ended and left {errand:?} {key:?} behind"));
        }
        self.live.retain(|_, errand| *errand == SimTask::Label);
        Ok(())
    }
}

/// The task that an event answers; `None` for unsolicited events.
#[must_use]
pub fn task_key(event: &Event) -> Option<SimTaskKey> {
    match event {
        Event::UserSubmitted { .. }
        | Event::Resumed
        | Event::QueueChanged { .. }
        | Event::Adopted { .. }
        | Event::Configured(_)
        | Event::CompactionAsked { .. }
        | Event::ChoreAsked { .. }
        | Event::Interrupted(_)
        | Event::AttachmentArrived { .. } => None,
        Event::ModelStarted { attempt, .. }
        | Event::ModelDelta { attempt, .. }
        | Event::ModelEnded { attempt, .. }
        | Event::ModelFailed { attempt, .. } => Some(SimTaskKey::Attempt(*attempt)),
        Event::ToolProgressed { ticket, .. }
        | Event::ToolEnded { ticket, .. }
        | Event::PermissionAnswered { ticket, .. }
        | Event::HookEnded { ticket, .. }
        | Event::SummaryEnded { ticket, .. }
        | Event::TimerFired { ticket } => Some(SimTaskKey::Ticket(*ticket)),
    }
}

/// Does this event settle what it answers?
#[must_use]
pub fn is_final_event(event: &Event) -> bool {
    !matches!(
        event,
        Event::ModelStarted { .. } | Event::ModelDelta { .. } | Event::ToolProgressed { .. }
    )
}
