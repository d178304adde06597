//! The loop: where we are and what happened give where we are now and what to do.
//!
//! Under construction: the doors are final.
#![no_std]

extern crate alloc;

pub mod effect;
pub mod event;
pub mod settings;

pub use effect::{Effect, HookSubject};
pub use event::{Event, Interrupt};
pub use settings::Settings;
