//! Which errands are out, as the world knows it: from effects and events alone, without a look into
//! the engine. An event that answers none of these is dead.

use std::collections::{BTreeMap, BTreeSet};

use super::setting::NESTED;
use windlass_engine::{Effect, Event};
use windlass_vocabulary::{AttemptId, HookPoint, MicroUsd, Notice, Source, Ticket};

/// What an event answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// A request of the loop.
    Attempt(AttemptId),
    /// Any other errand.
    Ticket(Ticket),
}

/// An errand that is out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Errand {
    /// A request of the loop.
    Model,
    /// A running tool with what it may spend.
    Tool(Option<MicroUsd>),
    /// A question.
    Question,
    /// Hooks, and for those before a tool the attempt whose call they look at.
    Hook(HookPoint, Option<AttemptId>),
    /// A timer.
    Timer,
    /// A summary, and the attempt behind it.
    Summary(AttemptId),
    /// A label; nobody cancels those.
    Label,
}

/// Every errand that is out.
#[derive(Clone, Debug, Default)]
pub struct Errands {
    live: BTreeMap<Key, Errand>,
    booked_late: BTreeSet<Key>,
    attempt: Option<AttemptId>,
}

impl Errands {
    /// What is out.
    pub fn iter(&self) -> impl Iterator<Item = (Key, Errand)> + '_ {
        self.live.iter().map(|(key, errand)| (*key, *errand))
    }

    /// Is this an answer to something that is out, and of the right kind?
    #[must_use]
    pub fn is_awaited(&self, event: &Event) -> bool {
        let Some(key) = key_of(event) else {
            return true;
        };
        self.live.get(&key).is_some_and(|errand| {
            matches!(
                (event, errand),
                (Event::ModelStarted { .. }, Errand::Model)
                    | (Event::ModelDelta { .. }, Errand::Model)
                    | (Event::ModelEnded { .. }, Errand::Model)
                    | (Event::ModelFailed { .. }, Errand::Model)
                    | (Event::ToolProgressed { .. }, Errand::Tool(_))
                    | (Event::ToolEnded { .. }, Errand::Tool(_))
                    | (Event::PermissionAnswered { .. }, Errand::Question)
                    | (Event::HookEnded { .. }, Errand::Hook(..))
                    | (Event::SummaryEnded { .. }, Errand::Summary(_) | Errand::Label)
                    | (Event::TimerFired { .. }, Errand::Timer)
            )
        })
    }

    /// May this one be paid for even after it is dead? Nobody says when a label is given up, and
    /// a nested session that was called off has spent what it has spent.
    #[must_use]
    pub fn is_booked_late(&self, key: Key) -> bool {
        self.booked_late.contains(&key)
    }

    /// Takes in that an event was delivered.
    pub fn delivered(&mut self, event: &Event) {
        if !self.is_awaited(event) {
            return;
        }
        if let (Some(key), true) = (key_of(event), is_last(event)) {
            self.live.remove(&key);
        }
    }

    /// Takes in one effect. Says what is left hanging when a run ends.
    pub fn ordered(&mut self, effect: &Effect) -> Result<(), String> {
        match effect {
            Effect::CallModel(request) => {
                self.attempt = Some(request.attempt);
                self.live.insert(Key::Attempt(request.attempt), Errand::Model);
            }
            Effect::CancelModel { attempt } => {
                self.live.remove(&Key::Attempt(*attempt));
                self.live.retain(|_, errand| *errand != Errand::Summary(*attempt));
            }
            Effect::StartTool { ticket, granted, allowance } => {
                if granted.get().name.as_str() == NESTED {
                    self.booked_late.insert(Key::Ticket(*ticket));
                }
                self.live.insert(Key::Ticket(*ticket), Errand::Tool(*allowance));
            }
            Effect::CancelTool { ticket } => {
                self.live.remove(&Key::Ticket(*ticket));
            }
            Effect::AskPermission { ticket, .. } => {
                self.live.insert(Key::Ticket(*ticket), Errand::Question);
            }
            Effect::RunHook { ticket: Some(ticket), point, .. } => {
                let attempt = self.attempt.filter(|_| *point == HookPoint::PreToolUse);
                self.live.insert(Key::Ticket(*ticket), Errand::Hook(*point, attempt));
            }
            Effect::Summarize { ticket, request } => {
                let key = Key::Ticket(*ticket);
                let errand = match request.source {
                    Source::ToolLabel | Source::Chore(_) => {
                        self.booked_late.insert(key);
                        Errand::Label
                    }
                    _ => Errand::Summary(request.attempt),
                };
                self.live.insert(key, errand);
            }
            Effect::SetTimer { ticket, .. } => {
                self.live.insert(Key::Ticket(*ticket), Errand::Timer);
            }
            Effect::Tell(Notice::PermissionWithdrawn(ticket)) => {
                self.live.remove(&Key::Ticket(*ticket));
            }
            Effect::Tell(Notice::Retracted { attempt, .. }) => self.live.retain(
                |_, errand| !matches!(errand, Errand::Hook(_, Some(owner)) if owner == attempt),
            ),
            Effect::Finish(_) => return self.finished(),
            _ => {}
        }
        Ok(())
    }

    /// A run ended: nothing may run on behind its back. Hooks and timers cannot be called off, and
    /// what they say is dead from now on.
    fn finished(&mut self) -> Result<(), String> {
        let left = self.live.iter().find(|(_, errand)| {
            matches!(
                errand,
                Errand::Model | Errand::Tool(_) | Errand::Question | Errand::Summary(_)
            )
        });
        if let Some((key, errand)) = left {
            return Err(format!("the run ended and left {errand:?} {key:?} behind"));
        }
        self.live.retain(|_, errand| *errand == Errand::Label);
        Ok(())
    }
}

/// What an event answers; `None` for events nobody asked for.
#[must_use]
pub fn key_of(event: &Event) -> Option<Key> {
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
        Event::ModelStarted { attempt }
        | Event::ModelDelta { attempt, .. }
        | Event::ModelEnded { attempt, .. }
        | Event::ModelFailed { attempt, .. } => Some(Key::Attempt(*attempt)),
        Event::ToolProgressed { ticket, .. }
        | Event::ToolEnded { ticket, .. }
        | Event::PermissionAnswered { ticket, .. }
        | Event::HookEnded { ticket, .. }
        | Event::SummaryEnded { ticket, .. }
        | Event::TimerFired { ticket } => Some(Key::Ticket(*ticket)),
    }
}

/// Does this event settle what it answers?
#[must_use]
pub fn is_last(event: &Event) -> bool {
    !matches!(
        event,
        Event::ModelStarted { .. } | Event::ModelDelta { .. } | Event::ToolProgressed { .. }
    )
}
