//! Runs other people's programs where the kernel holds them to the policy.
//!
//! A [`Plan`] says what one command may touch. [`Sandbox::probe`] finds out, once, what this machine
//! can hold it with: bubblewrap, or Landlock where that is missing or forbidden. Then
//! [`Sandbox::command`] prepares a command, [`Launch::spawn`] starts it the caller's way, and
//! [`Launch::settle`] makes sure that nothing of it is left.
//!
//! Whether a command may run at all is decided elsewhere. Nothing here asks anybody, and nothing
//! falls back to running without a sandbox: what cannot be held does not start.

#![cfg_attr(
    not(target_os = "linux"),
    allow(dead_code, reason = "what holds and explains is there before it is used")
)]

mod failure;
#[cfg(target_os = "linux")]
mod linux;
mod names;
#[cfg(not(target_os = "linux"))]
mod other;
mod plan;
pub mod proxy;
mod refusal;
pub mod seatbelt;
pub mod secrets;
mod wanted;

use std::ffi::OsString;

pub use failure::{Cause, Reason};
#[cfg(target_os = "linux")]
pub use linux::{Launch, Sandbox, Settled, TakenBack};
#[cfg(not(target_os = "linux"))]
pub use other::{Launch, Sandbox, Settled, TakenBack};
pub use plan::{Limits, Network, Plan};
pub use proxy::{Allowed, Gate, Hosts, Proxy};
pub use refusal::{Refused, Unavailable};
pub use wanted::{Backend, Entry, Wanted};

/// What a hidden subcommand of the binary calls with the arguments after its own name, as the very
/// first thing it does. The result is the exit code of the process; usually it becomes the command
/// and does not return.
#[must_use]
pub fn enter(arguments: &[OsString]) -> i32 {
    #[cfg(target_os = "linux")]
    return linux::enter::enter(arguments);
    #[cfg(not(target_os = "linux"))]
    return other::enter(arguments);
}
