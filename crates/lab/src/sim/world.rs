//! The world on virtual time: effects go in, events come out, later and in random order.
//!
//! Knows nothing of the rules. What is right is said in `checker/`.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use windlass_engine::context::estimate;
use windlass_engine::{Effect, Event, Settings, State};
use windlass_vocabulary::{Block, HookReport, ModelRequest, Notice, Ticket};

use super::errand::{Errand, Errands, Key, is_last, key_of};
use super::fault::{self, Faults};
use super::model::{self, Billing, Habits};
use super::random::Random;
use super::{tool, user};

/// The world.
#[derive(Debug)]
pub struct World {
    /// Virtual milliseconds since the session began.
    pub now: u64,
    /// What goes wrong at the moment.
    pub faults: Faults,
    /// What is out.
    pub errands: Errands,
    /// What the model and the tools are like.
    habits: Habits,
    /// Everybody is kind and brief: the model only speaks, hooks agree.
    is_quiet: bool,
    random: Random,
    waiting: BinaryHeap<Reverse<Coming>>,
    order: u64,
    names: u64,
}

/// An event on its way.
#[derive(Debug)]
struct Coming {
    at: u64,
    order: u64,
    event: Event,
    is_copy: bool,
}

/// An event that happens now.
#[derive(Debug)]
pub struct Happening {
    /// The event.
    pub event: Event,
    /// It answers nothing that is out, so nothing may come of it.
    pub is_dead: bool,
    /// Nothing but the account may change by it.
    pub is_booked: bool,
}

impl World {
    /// A world in a storm.
    #[must_use]
    pub fn new(mut random: Random, faults: Faults) -> Self {
        let most = random.one_of([1, 3, 3, 12]);
        let messages = random.between(1, most);
        let mut world = Self {
            now: 0,
            faults,
            errands: Errands::default(),
            habits: Habits::draw(&mut random),
            is_quiet: false,
            random,
            waiting: BinaryHeap::new(),
            order: 0,
            names: 0,
        };
        for _ in 0..messages {
            let after = world.random.below(2_000 * messages);
            world.submit(after);
        }
        world
    }

    /// The next thing that happens; `None` when nothing is on its way.
    pub fn happen(&mut self) -> Option<Happening> {
        loop {
            let Reverse(Coming { at, event, is_copy, .. }) = self.waiting.pop()?;
            let key = key_of(&event);
            let is_live = self.errands.is_awaited(&event);
            if !is_live && !self.random.percent(self.faults.late) {
                continue;
            }
            // A copy of something that is still awaited would be a second real answer.
            if is_copy && is_live && key.is_some() && !is_harmless(&event) {
                continue;
            }
            self.now = self.now.max(at);
            self.disturb(&event);
            let is_booked = key.is_some_and(|key| self.errands.is_booked_late(key));
            self.errands.delivered(&event);
            return Some(Happening { event, is_dead: !is_live, is_booked });
        }
    }

    /// What goes wrong beside an event.
    fn disturb(&mut self, event: &Event) {
        if self.random.percent(self.faults.doubled) && key_of(event).is_some() {
            let after = self.random.below(2_000);
            self.push(after, event.clone(), true);
        }
        if self.random.permille(self.faults.foreign) {
            let event = self.foreign();
            self.push(0, event, false);
        }
        if self.random.permille(self.faults.interrupted) {
            let why = user::interrupt(&mut self.random);
            let after = self.random.below(100);
            self.push(after, Event::Interrupted(why), false);
            if self.random.percent(50) {
                self.submit(after + 1);
            }
        }
        if self.random.permille(4) && self.faults != Faults::NONE {
            let focus = self.random.percent(50).then(|| "the anchor".to_owned());
            let after = self.random.below(200);
            self.push(after, Event::CompactionAsked { focus }, false);
        }
        if self.random.permille(3) && self.faults != Faults::NONE {
            let after = self.random.below(200);
            self.submit(after);
        }
    }

    fn foreign(&mut self) -> Event {
        let live: Vec<Ticket> = self
            .errands
            .iter()
            .filter_map(|(key, _)| match key {
                Key::Ticket(ticket) => Some(ticket),
                Key::Attempt(_) => None,
            })
            .collect();
        match self.random.pick(&live) {
            Some(ticket) if self.random.percent(70) => fault::crossed(&mut self.random, *ticket),
            _ => fault::foreign(&mut self.random),
        }
    }

    /// Performs one effect.
    pub fn perform(&mut self, effect: &Effect, told: Told, state: &State, settings: &Settings) {
        let random = &mut self.random;
        let is_lost = random.percent(self.faults.lost);
        match effect {
            Effect::CallModel(request) => {
                let billing = Billing {
                    input_max: estimate::worst_case(told.input_estimate),
                    is_honest: settings.budget_max.is_some(),
                };
                let names = &mut self.names;
                let manners = (&self.faults, &self.habits);
                let answer = match self.is_quiet {
                    true => model::brief(request.attempt),
                    false => model::answer(random, manners, request, billing, names),
                };
                let mut after = 0;
                for (pause, event) in answer {
                    after += pause;
                    self.push(after, event, false);
                }
            }
            Effect::Summarize { ticket, request } if !is_lost => {
                let billing = Billing {
                    input_max: estimate::worst_case(predicted(request, state)),
                    is_honest: settings.budget_max.is_some(),
                };
                let names = &mut self.names;
                let (result, usage) = model::summary(random, &self.faults, request, billing, names);
                let after = random.below(3_000);
                self.push(after, Event::SummaryEnded { ticket: *ticket, result, usage }, false);
            }
            Effect::StartTool { ticket, allowance, .. } if !is_lost => {
                if random.percent(20) {
                    let (ticket, text) = (*ticket, "working".to_owned());
                    self.push(1, Event::ToolProgressed { ticket, text }, false);
                }
                let random = &mut self.random;
                let outcome = tool::outcome(random, &self.habits, *allowance);
                let after = random.below(500);
                self.push(after, Event::ToolEnded { ticket: *ticket, outcome }, false);
            }
            Effect::AskPermission { ticket, .. } if !is_lost => {
                let after = random.below(2_000);
                let answer = match self.is_quiet {
                    true => user::yes(*ticket),
                    false => user::answer(random, *ticket),
                };
                self.push(after, answer, false);
            }
            // Somebody comes back to a call that was put off, or says something else first.
            Effect::Finish(ending) if ending.deferred.is_some() && random.percent(60) => {
                let after = random.below(500);
                self.push(after, Event::Resumed, false);
            }
            Effect::RunHook { ticket: Some(ticket), point, .. } if !is_lost => {
                let after = random.below(300);
                let report = match self.is_quiet {
                    true => HookReport::default(),
                    false => tool::report(random, *point),
                };
                self.push(after, Event::HookEnded { ticket: *ticket, report }, false);
            }
            Effect::SetTimer { ticket, after } if !is_lost => {
                self.push(after.0, Event::TimerFired { ticket: *ticket }, false);
            }
            Effect::Prefetch { kind, .. } if !is_lost => {
                let after = random.below(1_000);
                let text = "found beside the call".to_owned();
                self.push(after, Event::AttachmentArrived { kind: *kind, text }, false);
            }
            _ => {}
        }
    }

    /// The storm is over: nothing goes wrong from now on, and what was lost is answered after all.
    pub fn calm(&mut self) {
        self.faults = Faults::NONE;
        let settling = self.waiting.iter().filter(|Reverse(one)| {
            !one.is_copy && is_last(&one.event) && self.errands.is_awaited(&one.event)
        });
        let coming: Vec<Key> = settling.filter_map(|Reverse(one)| key_of(&one.event)).collect();
        let lost: Vec<(Key, Errand)> =
            self.errands.iter().filter(|(key, _)| !coming.contains(key)).collect();
        for (key, errand) in lost {
            if let Some(event) = self.belated(key, errand) {
                self.push(1, event, false);
            }
        }
    }

    /// One more message, to a world in which everybody is kind and brief.
    pub fn probe(&mut self) {
        self.is_quiet = true;
        let content = vec![Block::Text("one more thing".to_owned())];
        self.push(1, Event::UserSubmitted { content, pinned: false }, false);
    }

    fn belated(&mut self, key: Key, errand: Errand) -> Option<Event> {
        self.names += 1;
        let random = &mut self.random;
        Some(match (key, errand) {
            (Key::Attempt(attempt), _) => model::silence(attempt, self.names),
            (Key::Ticket(ticket), Errand::Tool(allowance)) => {
                Event::ToolEnded { ticket, outcome: tool::outcome(random, &self.habits, allowance) }
            }
            (Key::Ticket(ticket), Errand::Question) => user::answer(random, ticket),
            (Key::Ticket(ticket), Errand::Hook(point, _)) => {
                Event::HookEnded { ticket, report: tool::report(random, point) }
            }
            (Key::Ticket(ticket), Errand::Timer) => Event::TimerFired { ticket },
            (Key::Ticket(ticket), Errand::Summary(_)) => Event::SummaryEnded {
                ticket,
                result: Ok("A late summary.".to_owned()),
                usage: windlass_vocabulary::Usage::default(),
            },
            (Key::Ticket(_), Errand::Label | Errand::Model) => return None,
        })
    }

    fn submit(&mut self, after: u64) {
        self.names += 1;
        let message = user::message(&mut self.random, self.names);
        self.push(after, message, false);
    }

    fn push(&mut self, after: u64, event: Event, is_copy: bool) {
        self.order += 1;
        let at = self.now.saturating_add(after);
        self.waiting.push(Reverse(Coming { at, order: self.order, event, is_copy }));
    }
}

/// What was told in the same step before an effect, which the world needs to perform it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Told {
    /// Estimated input of the request that goes out.
    pub input_estimate: u64,
}

impl Told {
    /// Takes in an effect.
    pub fn learn(&mut self, effect: &Effect) {
        if let Effect::Tell(Notice::RequestStarted { input_estimate, .. }) = effect {
            self.input_estimate = input_estimate.0;
        }
    }
}

/// The engine's own prediction of a summary's input, made the same way.
fn predicted(request: &ModelRequest, state: &State) -> u64 {
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
        _ => false,
    }
}

impl PartialEq for Coming {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.order) == (other.at, other.order)
    }
}

impl Eq for Coming {}

impl PartialOrd for Coming {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Coming {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.order).cmp(&(other.at, other.order))
    }
}
