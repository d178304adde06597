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

use windlass_engine::{Effect, Settings, State, step};

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
        Err(format!("the engine broke down: {}", words.unwrap_or_default()))
    })
}

fn session(seed: u64, watch: Watch) -> Result<Played, String> {
    let mut random = Random::new(seed);
    let settings = setting::draw(&mut random);
    let faults = Faults::draw(&mut random);
    let storm = random.between(0, 400);
    let mut session = Session {
        state: State::new(&settings),
        checkers: Checkers::new(&settings),
        world: World::new(random, faults),
        played: Played::default(),
        watch,
    };
    if watch.trace {
        println!("{settings:#?}\n{faults:?}\nthe storm lasts {storm} events\n{}", trace::HEADER);
    }
    let mut is_calm = false;
    loop {
        if !is_calm && session.played.events >= storm {
            session.world.calm();
            is_calm = true;
        }
        if session.played.events > EVENTS_MAX {
            return Err(format!("{EVENTS_MAX} events and still no rest"));
        }
        if session.advance(&settings)? {
            continue;
        }
        if is_calm {
            break;
        }
        session.world.calm();
        is_calm = true;
    }
    let phase = session.state.control.phase;
    match phase.is_running() {
        true => Err(format!("nothing is on its way and the loop waits in {phase:?}")),
        false => Ok(session.played),
    }
}

struct Session {
    state: State,
    checkers: Checkers,
    world: World,
    played: Played,
    watch: Watch,
}

impl Session {
    /// Lets one thing happen. False if nothing is on its way.
    fn advance(&mut self, settings: &Settings) -> Result<bool, String> {
        let Some(happening) = self.world.happen() else {
            return Ok(false);
        };
        let world::Happening { event, is_dead, is_booked } = happening;
        self.played.events += 1;
        let before = self.state.control;
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
    /// The first seed, by number, that broke a promise.
    pub broken: Option<(u64, String)>,
}

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
            total.broken = match (total.broken.take(), part.broken) {
                (Some(one), Some(other)) => Some(if one.0 < other.0 { one } else { other }),
                (one, other) => one.or(other),
            };
        }
    });
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
                fleet.broken = Some((seed, words));
                next.store(seeds, Ordering::Relaxed);
                return fleet;
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
