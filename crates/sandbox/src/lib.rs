//! Runs untrusted programs in a sandbox in which the kernel enforces the policy.
//!
//! A [`SandboxPlan`] says what one command may access. [`Sandbox::probe`] determines once what this
//! machine supports: bubblewrap, or Landlock if that is missing or forbidden. Then
//! [`Sandbox::prepare_command`] prepares a command, [`SandboxLaunch::spawn`] starts it in the
//! caller's way, and [`SandboxLaunch::clean_up`] makes sure that nothing of it is left.
//!
//! Whether a command may run is decided elsewhere. Nothing here prompts the user, and nothing falls
//! back to running without a sandbox: what cannot be confined does not start.

#![cfg_attr(
    not(target_os = "linux"),
    allow(dead_code, reason = "what holds and explains is there before it is used")
)]

mod bound_child;
mod cell_plan;
mod error;
mod failure;
mod git_config_text;
mod held_program_plan;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(any(target_os = "macos", test))]
#[cfg_attr(
    not(target_os = "macos"),
    allow(dead_code, unreachable_pub, reason = "tested where it is not used")
)]
mod macos;
mod plan;
mod probe_options;
mod protected_names;
pub mod proxy;
pub mod seatbelt;
pub mod secrets;
mod trial_mount;
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
mod unsupported;
mod visible_home;

use std::ffi::OsString;

pub use cell_plan::{CellPlan, list_other_homes};
pub use error::{SandboxPlanRefusal, SandboxUnavailable};
pub use failure::{SandboxFailure, SandboxFailureCause, explain_cell_failure};
pub use held_program_plan::HeldProgramPlan;
#[cfg(target_os = "linux")]
pub use linux::cell::{Cell, PreparedCell};
#[cfg(target_os = "linux")]
pub use linux::{RevertedProtectedFile, Sandbox, SandboxCleanup, SandboxLaunch};
#[cfg(target_os = "macos")]
pub use macos::{
    Cell, PreparedCell, RevertedProtectedFile, Sandbox, SandboxCleanup, SandboxLaunch,
};
pub use plan::{SandboxLimits, SandboxNetwork, SandboxPlan};
pub use probe_options::{EntryProgram, SandboxBackend, SandboxProbeOptions};
pub use proxy::{AllowedHost, Proxy, ProxyHostRules, ProxyThread};
pub use secrets::SYSTEM_SECRETS;
pub use trial_mount::TrialMount;
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
pub use unsupported::{
    Cell, PreparedCell, RevertedProtectedFile, Sandbox, SandboxCleanup, SandboxLaunch,
};
pub use visible_home::VisibleHome;

/// The entry point of the binary's hidden subcommand, which must call this first with the arguments
/// after its name. Returns the exit code; usually it executes the command and does not return.
#[must_use]
pub fn enter(arguments: &[OsString]) -> i32 {
    #[cfg(target_os = "linux")]
    return linux::enter::enter(arguments);
    #[cfg(target_os = "macos")]
    return macos::enter(arguments);
    #[cfg(not(any(target_os = "linux", target_os = "macos")))]
    return unsupported::enter(arguments);
}
