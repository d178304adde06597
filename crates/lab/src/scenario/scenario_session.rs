//! A session under way in a scenario: happenings become events, effects become lines.

use windlass_engine::{Effect, Event, State, step};
use windlass_vocabulary::{HookPoint, Notice, Ticket, ToolCallId, Usage};

use super::render::{self, RenderedEffect};
use super::scenario_event::ScenarioEvent;
use super::scenario_setup::ScenarioSetup;
use super::ticket_names::TicketNames;

pub(crate) struct ScenarioSession<'a> {
    setup: &'a ScenarioSetup,
    state: Option<State>,
    names: TicketNames,
    last_events: Vec<Event>,
}

impl<'a> ScenarioSession<'a> {
    pub(crate) fn new(setup: &'a ScenarioSetup) -> Self {
        Self {
            setup,
            state: Some(State::new(&setup.settings)),
            names: TicketNames::default(),
            last_events: Vec::new(),
        }
    }

    pub(crate) fn apply(
        &mut self,
        happening: &ScenarioEvent,
    ) -> Result<Vec<RenderedEffect>, String> {
        let events = if let ScenarioEvent::RepeatLast = happening {
            self.last_events.clone()
        } else {
            self.to_events(happening)?
        };
        self.last_events.clone_from(&events);
        let mut shown = Vec::new();
        for event in events {
            let state = self.state.take().ok_or("the session broke down before")?;
            let step = step(state, event, &self.setup.settings);
            let mut transition = None;
            for effect in &step.effects {
                self.names.record_effect(effect);
                shown.extend(render::render_effect(effect, &self.names, self.setup));
                if let Effect::Tell(Notice::Continued { transition: now, .. }) = effect {
                    transition = Some(*now);
                } else if let Effect::Finish(_) = effect {
                    transition = None;
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

    fn to_events(&self, happening: &ScenarioEvent) -> Result<Vec<Event>, String> {
        let one = match happening.clone() {
            ScenarioEvent::User { content, pinned } => Event::UserSubmitted { content, pinned },
            ScenarioEvent::Compact(focus) => Event::CompactionAsked { focus },
            ScenarioEvent::Interrupt(why) => Event::Interrupted(why),
            ScenarioEvent::Model { request, deltas } => {
                let attempt = nth_or_last(&self.names.requests, request, "request")?;
                let started = Event::ModelStarted { attempt, ids: None };
                let deltas = deltas.into_iter().map(|delta| Event::ModelDelta { attempt, delta });
                return Ok([started].into_iter().chain(deltas).collect());
            }
            ScenarioEvent::ModelEnds { request, stop, usage } => {
                let attempt = nth_or_last(&self.names.requests, request, "request")?;
                Event::ModelEnded { attempt, stop, usage }
            }
            ScenarioEvent::ModelFails { request, failure } => {
                let attempt = nth_or_last(&self.names.requests, request, "request")?;
                Event::ModelFailed { attempt, failure }
            }
            ScenarioEvent::ToolSays(call, text) => {
                let ticket = find_ticket(&self.names.running_tools, &call, "is running")?;
                Event::ToolProgressed { ticket, text }
            }
            ScenarioEvent::ToolEnds(call, outcome) => {
                let ticket = find_ticket(&self.names.running_tools, &call, "is running")?;
                Event::ToolEnded { ticket, outcome }
            }
            ScenarioEvent::Answered(call, answer, inspection) => {
                let ticket = find_ticket(&self.names.questions, &call, "is asked about")?;
                Event::PermissionAnswered { ticket, answer, inspection }
            }
            ScenarioEvent::Hook(point, call, report) => {
                let ticket = self.find_hook_ticket(point, call.as_ref())?;
                Event::HookEnded { ticket, report }
            }
            ScenarioEvent::Summary { number, result } => {
                let (ticket, _) = nth_or_last(&self.names.summaries, number, "summary")?;
                Event::SummaryEnded { ticket, result, usage: Usage::default() }
            }
            ScenarioEvent::Label(result) => {
                let (ticket, _) = nth_or_last(&self.names.labels, None, "label")?;
                Event::SummaryEnded { ticket, result, usage: Usage::default() }
            }
            ScenarioEvent::Timer(number) => {
                Event::TimerFired { ticket: nth_or_last(&self.names.timers, number, "timer")? }
            }
            ScenarioEvent::Resume => Event::Resumed,
            ScenarioEvent::Attachment(kind, text) => Event::AttachmentArrived { kind, text },
            ScenarioEvent::RepeatLast
            | ScenarioEvent::Message { .. }
            | ScenarioEvent::Normalize => {
                return Err("this cannot happen in a session".to_owned());
            }
        };
        Ok(vec![one])
    }

    fn find_hook_ticket(
        &self,
        point: HookPoint,
        call: Option<&ToolCallId>,
    ) -> Result<Ticket, String> {
        match (point, call) {
            (HookPoint::PreToolUse, Some(call)) => {
                find_ticket(&self.names.pre_tool_hooks, call, "has a hook before it")
            }
            (_, Some(call)) => {
                find_ticket(&self.names.post_tool_hooks, call, "has a hook after it")
            }
            (_, None) => nth_or_last(&self.names.stop_hooks, None, "stop hook"),
        }
    }
}

/// The one with this number, or the last one.
fn nth_or_last<T: Copy>(all: &[T], number: Option<usize>, what: &str) -> Result<T, String> {
    let one = match number {
        Some(index) => all.get(index),
        None => all.last(),
    };
    one.copied().ok_or_else(|| format!("there was no such {what}"))
}

fn find_ticket(
    tickets: &std::collections::BTreeMap<ToolCallId, Ticket>,
    call: &ToolCallId,
    what: &str,
) -> Result<Ticket, String> {
    tickets.get(call).copied().ok_or_else(|| format!("no call {call} {what}"))
}
