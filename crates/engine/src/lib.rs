//! The loop: where we are and what happened give where we are now and what to do.
//!
//! One door, [`step`]: a state and an event go in, the next state and a list of effects come out.
//! No clock, no files, no threads, no randomness, no hash maps: `no_std` makes each of them a
//! compile error. Same settings and events give the same states and effects, byte for byte.
//!
//! The whole loop on one page:
//!
//! 1. A message is submitted (`phase/submitting.rs`).
//! 2. The projection is prepared through context levels 1 to 4 (`phase/preparing.rs`, `context/`).
//! 3. `decide.rs` says: compact first (`phase/compacting.rs`), refuse, or call.
//! 4. The model answers (`phase/streaming.rs`); whole tool calls begin their life at once
//!    (`tool/life.rs`) and start when the schedule allows (`tool/schedule.rs`).
//! 5. A failed call waits, shrinks, switches, is repaired or stops, as its kind demands.
//! 6. With calls: wait for all results (`phase/running_tools.rs`), take in what arrived beside
//!    them (`phase/attaching.rs`), and go round: `transition/next_turn.rs`.
//!    A call that a hook defers ends the run instead (`tool/deferral.rs`), and the next run begins
//!    with it.
//! 7. Without: stop hooks (`phase/stopping.rs`), token budget, and one of `terminal/`.
//!
//! Reading order: [`event`], [`effect`], [`state`], [`control`], [`signal`], [`decide`], then
//! `step.rs` and the folders. Why it always ends: [`bound`].
#![no_std]

extern crate alloc;

mod act;
pub mod bound;
mod budget;
pub mod cache;
pub mod chore;
pub mod context;
pub mod control;
pub mod decide;
mod digest;
pub mod effect;
pub mod event;
mod facts;
mod fallback;
mod gauge;
pub mod ledger;
mod phase;
mod request;
mod retry;
pub mod revival;
pub mod settings;
pub mod signal;
mod stale;
pub mod state;
mod step;
mod terminal;
mod text;
pub mod tool;
pub mod transcript;
mod transition;
mod withhold;

pub use control::Control;
pub use effect::{Effect, HookSubject};
pub use event::{Event, Interrupt};
pub use settings::{Limits, Settings};
pub use state::State;
pub use step::{Step, step};
