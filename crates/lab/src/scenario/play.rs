//! A session under way in a scenario: happenings become events, effects become lines.

use windlass_engine::{Effect, Event, State, step};
use windlass_vocabulary::{HookPoint, Notice, Ticket, ToolCallId, Usage};

use super::happening::Happening;
use super::names::Names;
use super::render::{self, Shown};
use super::setup::Setup;

/// A session under way.
pub(crate) struct Play<'a> {
    setup: &'a Setup,
    state: Option<State>,
    names: Names,
    last: Vec<Event>,
}

impl<'a> Play<'a> {
    pub(crate) fn new(setup: &'a Setup) -> Self {
        Self {
            setup,
            state: Some(State::new(&setup.settings)),
            names: Names::default(),
            last: Vec::new(),
        }
    }

    /// Lets it happen; says what came of it.
    pub(crate) fn take(&mut self, happening: &Happening) -> Result<Vec<Shown>, String> {
        let events = match happening {
            Happening::Again => self.last.clone(),
            happening => self.events(happening)?,
        };
        self.last.clone_from(&events);
        let mut shown = Vec::new();
        for event in events {
            let state = self.state.take().ok_or("the session broke down before")?;
            let step = step(state, event, &self.setup.settings);
            let mut transition = None;
            for effect in &step.effects {
                self.names.learn(effect);
                shown.extend(render::effect(effect, &self.names, self.setup));
                match effect {
                    Effect::Tell(Notice::Continued { transition: now, .. }) => {
                        transition = Some(*now);
                    }
                    Effect::Finish(_) => transition = None,
                    _ => {}
                }
            }
            let recorded = step.state.control.transition;
            if transition.is_some() && recorded != transition {
                return Err(format!("told {transition:?} but recorded {recorded:?}"));
            }
            self.state = Some(step.state);
        }
        Ok(shown)
    }

    fn events(&self, happening: &Happening) -> Result<Vec<Event>, String> {
        let one = match happening.clone() {
            Happening::User { content, pinned } => Event::UserSubmitted { content, pinned },
            Happening::Compact(focus) => Event::CompactionAsked { focus },
            Happening::Interrupt(why) => Event::Interrupted(why),
            Happening::Model { request, deltas } => {
                let attempt = nth(&self.names.requests, request, "request")?;
                let started = Event::ModelStarted { attempt };
                let deltas = deltas.into_iter().map(|delta| Event::ModelDelta { attempt, delta });
                return Ok([started].into_iter().chain(deltas).collect());
            }
            Happening::ModelEnds { request, stop, usage } => {
                let attempt = nth(&self.names.requests, request, "request")?;
                Event::ModelEnded { attempt, stop, usage }
            }
            Happening::ModelFails { request, failure } => {
                let attempt = nth(&self.names.requests, request, "request")?;
                Event::ModelFailed { attempt, failure }
            }
            Happening::ToolSays(call, text) => {
                let ticket = about(&self.names.running, &call, "is running")?;
                Event::ToolProgressed { ticket, text }
            }
            Happening::ToolEnds(call, outcome) => {
                let ticket = about(&self.names.running, &call, "is running")?;
                Event::ToolEnded { ticket, outcome }
            }
            Happening::Answered(call, answer, inspection) => {
                let ticket = about(&self.names.questions, &call, "is asked about")?;
                Event::PermissionAnswered { ticket, answer, inspection }
            }
            Happening::Hook(point, call, report) => {
                let ticket = self.hook(point, call.as_ref())?;
                Event::HookEnded { ticket, report }
            }
            Happening::Summary { number, result } => {
                let (ticket, _) = nth(&self.names.summaries, number, "summary")?;
                Event::SummaryEnded { ticket, result, usage: Usage::default() }
            }
            Happening::Label(result) => {
                let (ticket, _) = nth(&self.names.labels, None, "label")?;
                Event::SummaryEnded { ticket, result, usage: Usage::default() }
            }
            Happening::Timer(number) => {
                Event::TimerFired { ticket: nth(&self.names.timers, number, "timer")? }
            }
            Happening::Resume => Event::Resumed,
            Happening::Attachment(kind, text) => Event::AttachmentArrived { kind, text },
            Happening::Again | Happening::Message { .. } | Happening::Normalize => {
                return Err("this cannot happen in a session".to_owned());
            }
        };
        Ok(vec![one])
    }

    fn hook(&self, point: HookPoint, call: Option<&ToolCallId>) -> Result<Ticket, String> {
        match (point, call) {
            (HookPoint::PreToolUse, Some(call)) => {
                about(&self.names.before, call, "has a hook before it")
            }
            (_, Some(call)) => about(&self.names.after, call, "has a hook after it"),
            (_, None) => nth(&self.names.stop_hooks, None, "stop hook"),
        }
    }
}

/// The one with this number, or the last one.
fn nth<T: Copy>(all: &[T], number: Option<usize>, what: &str) -> Result<T, String> {
    let one = match number {
        Some(index) => all.get(index),
        None => all.last(),
    };
    one.copied().ok_or_else(|| format!("there was no such {what}"))
}

fn about(
    tickets: &std::collections::BTreeMap<ToolCallId, Ticket>,
    call: &ToolCallId,
    what: &str,
) -> Result<Ticket, String> {
    tickets.get(call).copied().ok_or_else(|| format!("no call {call} {what}"))
}
