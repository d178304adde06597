//! Seeded worlds on virtual time around the real engine: safety first, then liveness.
//!
//! A seed draws settings, a storm of faults and everything that happens. While the storm lasts the
//! checkers look at every step; then nothing goes wrong any more and the session must come to rest.
//! The same seed always plays the same session, so a seed is a bug report.

pub mod checker;
pub mod fault;
pub mod random_settings;
pub mod recorded_events;
pub mod seeded_random;
pub mod sim_coverage;
pub mod sim_task;
pub mod sim_world;
pub mod simulated_model;
pub mod simulated_tool;
pub mod simulated_user;
pub mod trace;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};

use windlass_engine::control::Phase;
use windlass_engine::{Effect, Event, Settings, State, step};
use windlass_vocabulary::Terminal;

use checker::{ObservedStep, StepCheckers};
use fault::Faults;
use seeded_random::SeededRandom;
use sim_coverage::SimCoverage;
use sim_world::{SimWorld, StepEstimate};
use trace::{Fingerprint, TracedStep};

/// More events than any session of this size may need.
const EVENTS_MAX: u64 = 20_000;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SimOutcome {
    pub events: u64,
    pub runs: u64,
    pub coverage: SimCoverage,
    /// Of everything the engine did, if it was asked for.
    pub fingerprint: Fingerprint,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SimWatch {
    pub trace: bool,
    pub fingerprint: bool,
}

/// Plays one seed.
///
/// # Errors
///
/// Which promise was broken, and how.
pub fn play_seed(seed: u64, watch: SimWatch) -> Result<SimOutcome, String> {
    let caught = catch_unwind(AssertUnwindSafe(|| run_session(seed, watch)));
    caught.unwrap_or_else(|panic| {
        let words = panic.downcast_ref::<String>().cloned();
        let words = words.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
        Err(format!("broke down: {}", words.unwrap_or_default()))
    })
}

fn run_session(seed: u64, watch: SimWatch) -> Result<SimOutcome, String> {
    let mut random = SeededRandom::new(seed);
    let settings = random_settings::draw_settings(&mut random);
    let faults = Faults::draw(&mut random);
    let longest = random.choose([50, 400, 2_000]);
    let faulty_events = random.draw_between(0, longest);
    let mut session = SimSession {
        state: State::new(&settings),
        checkers: StepCheckers::new(&settings),
        world: SimWorld::new(random, faults),
        outcome: SimOutcome::default(),
        answers: 0,
        watch,
    };
    if watch.trace {
        println!(
            "{settings:#?}\n{faults:?}\nthe storm lasts {faulty_events} events\n{}",
            trace::TRACE_HEADER
        );
    }
    session.run_until_rest(&settings, faulty_events)?;
    session.world.end_faults();
    session.run_until_rest(&settings, u64::MAX)?;
    session.check_at_rest()?;
    session.answers = 0;
    session.world.submit_probe();
    session.run_until_rest(&settings, u64::MAX)?;
    session.check_at_rest()?;
    session.check_usable(&settings)?;
    Ok(session.outcome)
}

struct SimSession {
    state: State,
    checkers: StepCheckers,
    world: SimWorld,
    outcome: SimOutcome,
    answers: u64,
    watch: SimWatch,
}

impl SimSession {
    /// Runs until nothing is pending, or for this many events.
    fn run_until_rest(&mut self, settings: &Settings, events: u64) -> Result<(), String> {
        while self.outcome.events < events && self.advance(settings)? {
            if self.outcome.events > EVENTS_MAX {
                return Err(format!("{EVENTS_MAX} events and still no rest"));
            }
        }
        Ok(())
    }

    fn check_at_rest(&self) -> Result<(), String> {
        let phase = self.state.control.phase;
        match phase.is_running() {
            true => Err(format!("nothing is on its way and the loop waits in {phase:?}")),
            false => Ok(()),
        }
    }

    /// After any history, one more message must be answered, unless there is no money for it, or it
    /// does not fit and nothing may be shortened.
    fn check_usable(&self, settings: &Settings) -> Result<(), String> {
        let limits = settings.limits();
        let may_block = !limits.reactive_compact || limits.refill.refills_max == 0;
        let phase = self.state.control.phase;
        let is_out_of_money =
            phase == Phase::Ended(Terminal::MaxBudgetUsd) && settings.budget.budget_max.is_some();
        let is_blocked = phase == Phase::Ended(Terminal::BlockingLimit) && may_block;
        if self.answers > 0 || is_out_of_money || is_blocked {
            return Ok(());
        }
        Err(format!("after one more message, the session only reached {phase:?}"))
    }

    /// Lets one thing happen. False if nothing is on its way.
    fn advance(&mut self, settings: &Settings) -> Result<bool, String> {
        let Some(delivered) = self.world.next_event() else {
            return Ok(false);
        };
        let sim_world::DeliveredEvent { event, is_stale, is_billed_only } = delivered;
        self.outcome.events += 1;
        let before = self.state.control;
        self.answers += u64::from(!is_stale && matches!(event, Event::ModelEnded { .. }));
        let untouched = (is_stale && !is_billed_only).then(|| fingerprint_state(&self.state));
        let state = std::mem::replace(&mut self.state, State::new(settings));
        let step = step(state, event.clone(), settings);
        self.state = step.state;
        let effects = step.effects;
        if self.watch.trace {
            let after = TracedStep { state: &self.state, effects: &effects };
            let line =
                trace::render_line(self.world.now, self.outcome.events, &event, is_stale, &after);
            println!("{line}");
        }
        self.outcome.coverage.record_step(before.phase, &event, &effects);
        if self.watch.fingerprint {
            self.outcome.fingerprint.update(&effects);
        }
        let is_touched = untouched.is_some_and(|print| print != fingerprint_state(&self.state));
        if is_touched || is_stale && !effects.is_empty() {
            return Err(format!("a stale event changed something: {event:?}"));
        }
        let look = ObservedStep {
            settings,
            before,
            event: &event,
            is_stale,
            effects: &effects,
            state: &self.state,
        };
        self.checkers.check_step(&look)?;
        for effect in &effects {
            self.world.tasks.record_effect(effect)?;
            self.outcome.runs += u64::from(matches!(effect, Effect::Finish(_)));
        }
        // Performed only when all of them are known: what one of them calls off never happens.
        let mut estimates = StepEstimate::default();
        for effect in &effects {
            estimates.record_effect(effect);
            self.world.perform(effect, estimates, &self.state, settings);
        }
        Ok(true)
    }
}

fn fingerprint_state(state: &State) -> Fingerprint {
    let mut print = Fingerprint::default();
    print.update(state);
    print
}

#[derive(Debug, Default)]
pub struct SimReport {
    pub seeds: u64,
    pub events: u64,
    pub runs: u64,
    pub coverage: SimCoverage,
    pub broken: Vec<(u64, String)>,
}

/// After this many failing seeds, more are not informative.
const BROKEN_MAX: usize = 20;

/// Plays seeds from `first` on, on every core, each `again`th of them twice to see that it is the
/// same both times.
#[must_use]
pub fn play_seeds(first: u64, seeds: u64, again: u64) -> SimReport {
    let next = AtomicU64::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut total = SimReport::default();
    std::thread::scope(|scope| {
        let crews: Vec<_> = (0..threads)
            .map(|_| scope.spawn(|| play_seeds_on_thread(&next, first, seeds, again)))
            .collect();
        for crew in crews {
            let Ok(part) = crew.join() else {
                continue;
            };
            total.seeds += part.seeds;
            total.events += part.events;
            total.runs += part.runs;
            total.coverage.merge(&part.coverage);
            total.broken.extend(part.broken);
        }
    });
    total.broken.sort();
    total
}

fn play_seeds_on_thread(next: &AtomicU64, first: u64, seeds: u64, again: u64) -> SimReport {
    let mut fleet = SimReport::default();
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= seeds {
            return fleet;
        }
        let seed = first.wrapping_add(number);
        let is_twice = again > 0 && number.is_multiple_of(again);
        match play_once_or_twice(seed, is_twice) {
            Ok(played) => {
                fleet.seeds += 1;
                fleet.events += played.events;
                fleet.runs += played.runs;
                fleet.coverage.merge(&played.coverage);
            }
            Err(words) => {
                fleet.broken.push((seed, words));
                if fleet.broken.len() >= BROKEN_MAX {
                    next.store(seeds, Ordering::Relaxed);
                }
            }
        }
    }
}

fn play_once_or_twice(seed: u64, is_twice: bool) -> Result<SimOutcome, String> {
    let watch = SimWatch { fingerprint: is_twice, ..SimWatch::default() };
    let played = play_seed(seed, watch)?;
    if is_twice && play_seed(seed, watch)? != played {
        return Err("two runs with the same seed differ".to_owned());
    }
    Ok(played)
}
