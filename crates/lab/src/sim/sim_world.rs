//! The world on virtual time: effects go in, events come out, later and in random order.
//!
//! Knows nothing of the rules. What is right is said in `checker/`.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use windlass_engine::context::estimate;
use windlass_engine::{Effect, Event, Settings, State};
use windlass_vocabulary::{ContentBlock, HookReport, ModelRequest, Notice, Ticket};

use super::fault::{self, Faults};
use super::seeded_random::SeededRandom;
use super::sim_task::{SimTask, SimTaskKey, SimTasks, is_final_event, task_key};
use super::simulated_model::{self, Billing, ModelHabits};
use super::{simulated_tool, simulated_user};

#[derive(Debug)]
pub struct SimWorld {
    pub now: u64,
    pub faults: Faults,
    pub tasks: SimTasks,
    habits: ModelHabits,
    /// Without faults: the model only writes text, and hooks approve.
    is_quiet: bool,
    random: SeededRandom,
    scheduled: BinaryHeap<Reverse<ScheduledEvent>>,
    order: u64,
    name_count: u64,
}

#[derive(Debug)]
struct ScheduledEvent {
    at: u64,
    order: u64,
    event: Event,
    is_copy: bool,
}

#[derive(Debug)]
pub struct DeliveredEvent {
    pub event: Event,
    /// It answers nothing that is out, so nothing may come of it.
    pub is_stale: bool,
    pub is_billed_only: bool,
}

impl SimWorld {
    #[must_use]
    pub fn new(mut random: SeededRandom, faults: Faults) -> Self {
        let most = random.choose([1, 3, 3, 12]);
        let messages = random.draw_between(1, most);
        let mut world = Self {
            now: 0,
            faults,
            tasks: SimTasks::default(),
            habits: ModelHabits::draw(&mut random),
            is_quiet: false,
            random,
            scheduled: BinaryHeap::new(),
            order: 0,
            name_count: 0,
        };
        for _ in 0..messages {
            let after = world.random.draw_below(2_000 * messages);
            world.schedule_message(after);
        }
        world
    }

    /// The next thing that happens; `None` when nothing is on its way.
    pub fn next_event(&mut self) -> Option<DeliveredEvent> {
        loop {
            let Reverse(ScheduledEvent { at, event, is_copy, .. }) = self.scheduled.pop()?;
            let key = task_key(&event);
            let is_live = self.tasks.is_awaited(&event);
            if !is_live && !self.random.draw_percent(self.faults.late) {
                continue;
            }
            // A copy of something that is still awaited would be a second real answer.
            if is_copy && is_live && key.is_some() && !is_harmless(&event) {
                continue;
            }
            self.now = self.now.max(at);
            self.inject_faults(&event);
            let is_billed_only = key.is_some_and(|key| self.tasks.is_billed_after_cancel(key));
            self.tasks.mark_delivered(&event);
            return Some(DeliveredEvent { event, is_stale: !is_live, is_billed_only });
        }
    }

    fn inject_faults(&mut self, event: &Event) {
        if self.random.draw_percent(self.faults.doubled) && task_key(event).is_some() {
            let after = self.random.draw_below(2_000);
            self.schedule_event(after, event.clone(), true);
        }
        if self.random.draw_permille(self.faults.foreign) {
            let event = self.draw_foreign_event();
            self.schedule_event(0, event, false);
        }
        if self.random.draw_permille(self.faults.interrupted) {
            let why = simulated_user::draw_interrupt(&mut self.random);
            let after = self.random.draw_below(100);
            self.schedule_event(after, Event::Interrupted(why), false);
            if self.random.draw_percent(50) {
                self.schedule_message(after + 1);
            }
        }
        if self.random.draw_permille(4) && self.faults != Faults::NONE {
            let focus = self.random.draw_percent(50).then(|| "the anchor".to_owned());
            let after = self.random.draw_below(200);
            self.schedule_event(after, Event::CompactionAsked { focus }, false);
        }
        if self.random.draw_permille(3) && self.faults != Faults::NONE {
            let after = self.random.draw_below(200);
            self.schedule_message(after);
        }
    }

    fn draw_foreign_event(&mut self) -> Event {
        let live: Vec<Ticket> = self
            .tasks
            .iter()
            .filter_map(|(key, _)| match key {
                SimTaskKey::Ticket(ticket) => Some(ticket),
                SimTaskKey::Attempt(_) => None,
            })
            .collect();
        match self.random.pick(&live) {
            Some(ticket) if self.random.draw_percent(70) => {
                fault::draw_crossed_event(&mut self.random, *ticket)
            }
            _ => fault::draw_foreign_event(&mut self.random),
        }
    }

    pub fn perform(
        &mut self,
        effect: &Effect,
        estimates: StepEstimate,
        state: &State,
        settings: &Settings,
    ) {
        let random = &mut self.random;
        let is_lost = random.draw_percent(self.faults.lost);
        match effect {
            Effect::CallModel(request) => {
                let billing = Billing {
                    input_max: estimate::worst_case(estimates.input_estimate),
                    is_honest: settings.budget.budget_max.is_some(),
                };
                let names = &mut self.name_count;
                let manners = (&self.faults, &self.habits);
                let answer = match self.is_quiet {
                    true => simulated_model::build_brief_answer(request.attempt),
                    false => simulated_model::draw_answer(random, manners, request, billing, names),
                };
                let mut after = 0;
                for (pause, event) in answer {
                    after += pause;
                    self.schedule_event(after, event, false);
                }
            }
            Effect::Summarize { ticket, request } if !is_lost => {
                let billing = Billing {
                    input_max: estimate::worst_case(estimate_summary_input(request, state)),
                    is_honest: settings.budget.budget_max.is_some(),
                };
                let names = &mut self.name_count;
                let (result, usage) =
                    simulated_model::draw_summary(random, &self.faults, request, billing, names);
                let after = random.draw_below(3_000);
                self.schedule_event(
                    after,
                    Event::SummaryEnded { ticket: *ticket, result, usage },
                    false,
                );
            }
            Effect::StartTool { ticket, allowance, .. } if !is_lost => {
                if random.draw_percent(20) {
                    let ticket = *ticket;
                    let text = "working".to_owned();
                    self.schedule_event(1, Event::ToolProgressed { ticket, text }, false);
                }
                let random = &mut self.random;
                let outcome = simulated_tool::draw_outcome(random, &self.habits, *allowance);
                let after = random.draw_below(500);
                self.schedule_event(after, Event::ToolEnded { ticket: *ticket, outcome }, false);
            }
            Effect::AskPermission { ticket, .. } if !is_lost => {
                let after = random.draw_below(2_000);
                let answer = match self.is_quiet {
                    true => simulated_user::build_allow_answer(*ticket),
                    false => simulated_user::draw_permission_answer(random, *ticket),
                };
                self.schedule_event(after, answer, false);
            }
            // The user comes back to a deferred call, or sends something else first.
            Effect::Finish(ending) if ending.deferred.is_some() && random.draw_percent(60) => {
                let after = random.draw_below(500);
                self.schedule_event(after, Event::Resumed, false);
            }
            Effect::RunHook { ticket: Some(ticket), point, .. } if !is_lost => {
                let after = random.draw_below(300);
                let report = match self.is_quiet {
                    true => HookReport::default(),
                    false => simulated_tool::draw_hook_report(random, *point),
                };
                self.schedule_event(after, Event::HookEnded { ticket: *ticket, report }, false);
            }
            Effect::SetTimer { ticket, after } if !is_lost => {
                self.schedule_event(after.0, Event::TimerFired { ticket: *ticket }, false);
            }
            Effect::Prefetch { kind, .. } if !is_lost => {
                let after = random.draw_below(1_000);
                let text = "found beside the call".to_owned();
                self.schedule_event(after, Event::AttachmentArrived { kind: *kind, text }, false);
            }
            Effect::CancelModel { .. }
            | Effect::StartTool { .. }
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

    /// The storm is over: nothing goes wrong from now on, and what was lost is answered after all.
    pub fn end_faults(&mut self) {
        self.faults = Faults::NONE;
        let settling = self.scheduled.iter().filter(|Reverse(one)| {
            !one.is_copy && is_final_event(&one.event) && self.tasks.is_awaited(&one.event)
        });
        let coming: Vec<SimTaskKey> =
            settling.filter_map(|Reverse(one)| task_key(&one.event)).collect();
        let lost: Vec<(SimTaskKey, SimTask)> =
            self.tasks.iter().filter(|(key, _)| !coming.contains(key)).collect();
        for (key, errand) in lost {
            if let Some(event) = self.answer_lost_task(key, errand) {
                self.schedule_event(1, event, false);
            }
        }
    }

    /// Submits one more message, in a world without faults.
    pub fn submit_probe(&mut self) {
        self.is_quiet = true;
        let content = vec![ContentBlock::Text("one more thing".to_owned())];
        self.schedule_event(1, Event::UserSubmitted { content, pinned: false }, false);
    }

    fn answer_lost_task(&mut self, key: SimTaskKey, errand: SimTask) -> Option<Event> {
        self.name_count += 1;
        let random = &mut self.random;
        Some(match (key, errand) {
            (SimTaskKey::Attempt(attempt), _) => {
                simulated_model::build_silence_failure(attempt, self.name_count)
            }
            (SimTaskKey::Ticket(ticket), SimTask::Tool(allowance)) => Event::ToolEnded {
                ticket,
                outcome: simulated_tool::draw_outcome(random, &self.habits, allowance),
            },
            (SimTaskKey::Ticket(ticket), SimTask::Question) => {
                simulated_user::draw_permission_answer(random, ticket)
            }
            (SimTaskKey::Ticket(ticket), SimTask::Hook(point, _)) => {
                Event::HookEnded { ticket, report: simulated_tool::draw_hook_report(random, point) }
            }
            (SimTaskKey::Ticket(ticket), SimTask::Timer) => Event::TimerFired { ticket },
            (SimTaskKey::Ticket(ticket), SimTask::Summary(_)) => Event::SummaryEnded {
                ticket,
                result: Ok("A late summary.".to_owned()),
                usage: windlass_vocabulary::Usage::default(),
            },
            (SimTaskKey::Ticket(_), SimTask::Label | SimTask::Model) => return None,
        })
    }

    fn schedule_message(&mut self, after: u64) {
        self.name_count += 1;
        let message = simulated_user::draw_message(&mut self.random, self.name_count);
        self.schedule_event(after, message, false);
    }

    fn schedule_event(&mut self, after: u64, event: Event, is_copy: bool) {
        self.order += 1;
        let at = self.now.saturating_add(after);
        self.scheduled.push(Reverse(ScheduledEvent { at, order: self.order, event, is_copy }));
    }
}

/// Data of a notice in the same step, which the world needs for the following effect.
#[derive(Clone, Copy, Debug, Default)]
pub struct StepEstimate {
    pub input_estimate: u64,
}

impl StepEstimate {
    pub fn record_effect(&mut self, effect: &Effect) {
        if let Effect::Tell(Notice::RequestStarted { input_estimate, .. }) = effect {
            self.input_estimate = input_estimate.0;
        }
    }
}

/// The engine's own prediction of a summary's input, made the same way.
fn estimate_summary_input(request: &ModelRequest, state: &State) -> u64 {
    let system: u64 = request.system.iter().map(|piece| estimate::text(piece)).sum();
    let messages: u64 = request.messages.iter().map(|message| estimate::message(message)).sum();
    state.ledger.estimate(system + estimate::tools(&request.tools) + messages).0
}

/// A piece for showing may come twice while its attempt lives: only the picture flickers.
fn is_harmless(event: &Event) -> bool {
    use windlass_vocabulary::Delta;
    match event {
        Event::ModelStarted { .. } | Event::ToolProgressed { .. } => true,
        Event::ModelDelta { delta, .. } => matches!(
            delta,
            Delta::Text(_)
                | Delta::Thinking(_)
                | Delta::CallStarted { .. }
                | Delta::CallInput(_)
                | Delta::Usage(_)
                | Delta::Cleared { .. }
                | Delta::Raw(_)
        ),
        Event::UserSubmitted { .. }
        | Event::Resumed
        | Event::QueueChanged { .. }
        | Event::Adopted { .. }
        | Event::Configured(_)
        | Event::CompactionAsked { .. }
        | Event::ChoreAsked { .. }
        | Event::Interrupted(_)
        | Event::ModelEnded { .. }
        | Event::ModelFailed { .. }
        | Event::ToolEnded { .. }
        | Event::PermissionAnswered { .. }
        | Event::HookEnded { .. }
        | Event::SummaryEnded { .. }
        | Event::AttachmentArrived { .. }
        | Event::TimerFired { .. } => false,
    }
}

impl PartialEq for ScheduledEvent {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.order) == (other.at, other.order)
    }
}

impl Eq for ScheduledEvent {}

impl PartialOrd for ScheduledEvent {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ScheduledEvent {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.order).cmp(&(other.at, other.order))
    }
}
