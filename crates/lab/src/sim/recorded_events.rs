//! Events that a real process wrote down, held against the same checkers as simulated ones.
//!
//! Which events came too late is not written down: an event that changes nothing and asks for nothing
//! counts as one of them. Every process says with which settings it decides; the limits of the first one
//! are those that are checked.

use windlass_engine::{Event, Settings, State, Step, step};

use super::checker::{ObservedStep, StepCheckers};
use super::fingerprint_state;
use crate::manual_session::build_settings;

/// Plays the events again, in order. Returns how many there were.
///
/// # Errors
///
/// The first promise that was broken, with the number of the event.
pub fn check_recorded_events(events: impl IntoIterator<Item = Event>) -> Result<u64, String> {
    let mut settings: Settings = build_settings(200_000, 32_000);
    let mut state = State::new(&settings);
    let mut checkers = StepCheckers::new(&settings);
    let mut count = 0;
    for event in events {
        if let Event::Configured(given) = &event {
            settings = Settings::clone(given);
            if count == 0 {
                state = State::new(&settings);
                checkers = StepCheckers::new(&settings);
            }
        }
        count += 1;
        let before = state.control;
        let untouched = fingerprint_state(&state);
        let Step { state: after, effects } = step(state, event.clone(), &settings);
        state = after;
        let is_stale = effects.is_empty() && fingerprint_state(&state) == untouched;
        let look = ObservedStep {
            settings: &settings,
            before,
            event: &event,
            is_stale,
            effects: &effects,
            state: &state,
        };
        checkers.check_step(&look).map_err(|broken| format!("event {count}: {broken}"))?;
    }
    Ok(count)
}
