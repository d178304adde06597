//! Runs other people's programs where the kernel holds them to the policy.
//!
//! A [`SandboxPlan`] says what one command may touch. [`Sandbox::probe`] finds out, once, what this machine
//! can hold it with: bubblewrap, or Landlock where that is missing or forbidden. Then
//! [`Sandbox::prepare_command`] prepares a command, [`SandboxLaunch::spawn`] starts it the caller's way, and
//! [`SandboxLaunch::clean_up`] makes sure that nothing of it is left.
//!
//! Whether a command may run at all is decided elsewhere. Nothing here prompts the user, and nothing
//! falls back to running without a sandbox: what cannot be held does not start.

#![cfg_attr(
    not(target_os = "linux"),
    allow(dead_code, reason = "what holds and explains is there before it is used")
)]

mod bound_child;
mod cell_plan;
mod error;
mod failure;
mod held_program_plan;
#[cfg(target_os = "linux")]
mod linux;
mod plan;
mod probe_options;
mod protected_names;
pub mod proxy;
pub mod seatbelt;
pub mod secrets;
mod trial_mount;
#[cfg(not(target_os = "linux"))]
mod unsupported;

use std::ffi::OsString;

pub use cell_plan::{CellPlan, SYSTEM_SECRETS, list_other_homes};
pub use error::{SandboxPlanRefusal, SandboxUnavailable};
pub use failure::{SandboxFailure, SandboxFailureCause, explain_cell_failure};
pub use held_program_plan::HeldProgramPlan;
#[cfg(target_os = "linux")]
pub use linux::cell::{Cell, PreparedCell};
#[cfg(target_os = "linux")]
pub use linux::{RevertedProtectedFile, Sandbox, SandboxCleanup, SandboxLaunch};
pub use plan::{SandboxLimits, SandboxNetwork, SandboxPlan};
pub use probe_options::{EntryProgram, SandboxBackend, SandboxProbeOptions};
pub use proxy::{AllowedHost, Proxy, ProxyHostRules, ProxyThread};
pub use trial_mount::TrialMount;
#[cfg(not(target_os = "linux"))]
pub use unsupported::{
    Cell, PreparedCell, RevertedProtectedFile, Sandbox, SandboxCleanup, SandboxLaunch,
};

/// What a hidden subcommand of the binary calls with the arguments after its own name, as the very
/// first thing it does. The result is the exit code of the process; usually it becomes the command
/// and does not return.
#[must_use]
pub fn enter(arguments: &[OsString]) -> i32 {
    #[cfg(target_os = "linux")]
    return linux::enter::enter(arguments);
    #[cfg(not(target_os = "linux"))]
    return unsupported::enter(arguments);
}
