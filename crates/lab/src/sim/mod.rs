//! Seeded worlds on virtual time around the real engine: safety first, then liveness.
//!
//! A seed draws settings, a storm of faults and everything that happens. While the storm lasts the
//! checkers look at every step; then nothing goes wrong any more and the session must come to rest.
//! The same seed always plays the same session, so a seed is a bug report.

pub mod checker;
pub mod errand;
pub mod fault;
pub mod model;
pub mod random;
pub mod reach;
pub mod setting;
pub mod tool;
pub mod trace;
pub mod user;
pub mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};

use windlass_engine::control::Phase;
use windlass_engine::{Effect, Event, Settings, State, step};
use windlass_vocabulary::Terminal;

use checker::{Checkers, Look};
use fault::Faults;
use random::Random;
use reach::Reach;
use trace::{After, Fingerprint};
use world::{Told, World};

/// More events than any session of this size may need.
const EVENTS_MAX: u64 = 20_000;

/// What one session came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Played {
    /// Events delivered.
    pub events: u64,
    /// Runs that ended.
    pub runs: u64,
    /// What was reached.
    pub reach: Reach,
    /// Of everything the engine did, if it was asked for.
    pub fingerprint: Fingerprint,
}

/// How a session is watched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Watch {
    /// Print a line per event.
    pub trace: bool,
    /// Take the fingerprint of everything the engine does.
    pub fingerprint: bool,
}

/// Plays one seed.
///
/// # Errors
///
/// Which promise was broken, and how.
pub fn play(seed: u64, watch: Watch) -> Result<Played, String> {
    let caught = catch_unwind(AssertUnwindSafe(|| session(seed, watch)));
    caught.unwrap_or_else(|panic| {
        let words = panic.downcast_ref::<String>().cloned();
        let words = words.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
        Err(format!("broke down: {}", words.unwrap_or_default()))
    })
}

fn session(seed: u64, watch: Watch) -> Result<Played, String> {
    let mut random = Random::new(seed);
    let settings = setting::draw(&mut random);
    let faults = Faults::draw(&mut random);
    let longest = random.one_of([50, 400, 2_000]);
    let storm = random.between(0, longest);
    let mut session = Session {
        state: State::new(&settings),
        checkers: Checkers::new(&settings),
        world: World::new(random, faults),
        played: Played::default(),
        answers: 0,
        watch,
    };
    if watch.trace {
        println!("{settings:#?}\n{faults:?}\nthe storm lasts {storm} events\n{}", trace::HEADER);
    }
    session.until_rest(&settings, storm)?;
    session.world.calm();
    session.until_rest(&settings, u64::MAX)?;
    session.is_at_rest()?;
    session.answers = 0;
    session.world.probe();
    session.until_rest(&settings, u64::MAX)?;
    session.is_at_rest()?;
    session.is_usable(&settings)?;
    Ok(session.played)
}

struct Session {
    state: State,
    checkers: Checkers,
    world: World,
    played: Played,
    /// Answers that came to their end.
    answers: u64,
    watch: Watch,
}

impl Session {
    /// Goes on until nothing is on its way, or so many events have happened.
    fn until_rest(&mut self, settings: &Settings, events: u64) -> Result<(), String> {
        while self.played.events < events && self.advance(settings)? {
            if self.played.events > EVENTS_MAX {
                return Err(format!("{EVENTS_MAX} events and still no rest"));
            }
        }
        Ok(())
    }

    fn is_at_rest(&self) -> Result<(), String> {
        let phase = self.state.control.phase;
        match phase.is_running() {
            true => Err(format!("nothing is on its way and the loop waits in {phase:?}")),
            false => Ok(()),
        }
    }

    /// Whatever happened before, one more message is answered, unless there is no money for it, or
    /// it does not fit and nothing may shrink what came before.
    fn is_usable(&self, settings: &Settings) -> Result<(), String> {
        let limits = settings.limits();
        let may_block = !limits.reactive_compact || limits.refills_max == 0;
        match self.state.control.phase {
            _ if self.answers > 0 => Ok(()),
            Phase::Ended(Terminal::MaxBudgetUsd) if settings.budget_max.is_some() => Ok(()),
            Phase::Ended(Terminal::BlockingLimit) if may_block => Ok(()),
            phase => Err(format!("one more message, and all it came to is {phase:?}")),
        }
    }

    /// Lets one thing happen. False if nothing is on its way.
    fn advance(&mut self, settings: &Settings) -> Result<bool, String> {
        let Some(happening) = self.world.happen() else {
            return Ok(false);
        };
        let world::Happening { event, is_dead, is_booked } = happening;
        self.played.events += 1;
        let before = self.state.control;
        self.answers += u64::from(!is_dead && matches!(event, Event::ModelEnded { .. }));
        let untouched = (is_dead && !is_booked).then(|| print_of(&self.state));
        let state = std::mem::replace(&mut self.state, State::new(settings));
        let step = step(state, event.clone(), settings);
        self.state = step.state;
        let effects = step.effects;
        if self.watch.trace {
            let after = After { state: &self.state, effects: &effects };
            let line = trace::line(self.world.now, self.played.events, &event, is_dead, &after);
            println!("{line}");
        }
        self.played.reach.take(before.phase, &event, &effects);
        if self.watch.fingerprint {
            self.played.fingerprint.take(&effects);
        }
        let is_touched = untouched.is_some_and(|print| print != print_of(&self.state));
        if is_touched || is_dead && !effects.is_empty() {
            return Err(format!("a dead event changed something: {event:?}"));
        }
        let look = Look {
            settings,
            before,
            event: &event,
            is_dead,
            effects: &effects,
            state: &self.state,
        };
        self.checkers.look(&look)?;
        for effect in &effects {
            self.world.errands.ordered(effect)?;
            self.played.runs += u64::from(matches!(effect, Effect::Finish(_)));
        }
        // Performed only when all of them are known: what one of them calls off never happens.
        let mut told = Told::default();
        for effect in &effects {
            told.learn(effect);
            self.world.perform(effect, told, &self.state, settings);
        }
        Ok(true)
    }
}

fn print_of(state: &State) -> Fingerprint {
    let mut print = Fingerprint::default();
    print.take(state);
    print
}

/// What a fleet of sessions came to.
#[derive(Debug, Default)]
pub struct Fleet {
    /// Sessions played.
    pub seeds: u64,
    /// Events delivered.
    pub events: u64,
    /// Runs that ended.
    pub runs: u64,
    /// What was reached.
    pub reach: Reach,
    /// Seeds that broke a promise, the lowest first.
    pub broken: Vec<(u64, String)>,
}

/// After so many broken seeds there is nothing more to learn.
const BROKEN_MAX: usize = 20;

/// Plays seeds from `first` on, on every core, each `again`th of them twice to see that it is the
/// same both times.
#[must_use]
pub fn fleet(first: u64, seeds: u64, again: u64) -> Fleet {
    let next = AtomicU64::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut total = Fleet::default();
    std::thread::scope(|scope| {
        let crews: Vec<_> =
            (0..threads).map(|_| scope.spawn(|| crew(&next, first, seeds, again))).collect();
        for crew in crews {
            let Ok(part) = crew.join() else {
                continue;
            };
            total.seeds += part.seeds;
            total.events += part.events;
            total.runs += part.runs;
            total.reach.add(&part.reach);
            total.broken.extend(part.broken);
        }
    });
    total.broken.sort();
    total
}

fn crew(next: &AtomicU64, first: u64, seeds: u64, again: u64) -> Fleet {
    let mut fleet = Fleet::default();
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
                fleet.reach.add(&played.reach);
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

fn play_once_or_twice(seed: u64, is_twice: bool) -> Result<Played, String> {
    let watch = Watch { fingerprint: is_twice, ..Watch::default() };
    let played = play(seed, watch)?;
    if is_twice && play(seed, watch)? != played {
        return Err("played twice, it is not the same".to_owned());
    }
    Ok(played)
}
