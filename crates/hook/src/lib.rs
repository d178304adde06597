//! Users' hooks: other people's programs, asked at the moments of a session at which they may speak.
//!
//! `config` reads which hook runs when, `matcher` says whether one is meant, `command`, `http`,
//! `callback` and `counsel` ask it, `wire` and `answer` read what it said, `verdict` makes one verdict of several.
//! [`HookSet::chosen`] and [`Chosen::run`] are the doors.
//!
//! What follows from a verdict is not decided here, and whether a changed input may run is decided
//! by permission, after all hooks have spoken.

mod answer;
mod aside;
mod callback;
mod command;
mod config;
mod counsel;
mod event;
mod ground;
mod hook;
mod http;
mod long;
mod matcher;
mod run;
mod set;
mod verdict;
mod wire;

pub use answer::{Answer, Said};
pub use aside::Aside;
pub use callback::{Callback, Calling};
pub use config::Source;
pub use counsel::{Counsel, Weighed, Weighing};
pub use event::HookEvent;
pub use ground::{Ground, Occasion, Waker, Watcher};
pub use hook::OnFailure;
pub use set::{Chosen, HookSet, Listed, Switches};
pub use verdict::Joint;
pub use wire::{Elicited, RequestAnswer};
