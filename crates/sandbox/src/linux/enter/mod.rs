//! The entry of the sandbox: the hidden subcommand that a launcher starts in a new process.
//!
//! Rust can restrict its own process without `unsafe`, but not a child between fork and exec. So
//! the binary starts itself again, restricts itself here, and executes the command.
//!
//! With Landlock there are three such processes: one where the caller expects its child, one in a
//! process session of its own that survives it and ends what the command leaves behind, and one
//! that executes the command. With bubblewrap there is one, if limits must be set inside or a proxy
//! must be reached.

mod bound_child;
mod creation_supervisor;
mod entry_arguments;
mod held_program;
mod mount_holder;
mod process_reaper;
mod proxy_bridge;
mod restricted_process;

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

pub(super) use bound_child::follow_parent;
pub(super) use creation_supervisor::can_supervise;
pub(crate) use entry_arguments::EntryArguments;

/// The exit code if the sandbox could not be entered; the reason is on standard error.
pub(crate) const EXIT_NOT_ENTERED: i32 = 125;

/// The prefix of all our lines on standard error.
pub(crate) const PREFIX: &str = "windlass sandbox:";

/// Performs the launcher's request. Returns the exit code, or executes the command on success.
pub(crate) fn enter(arguments: &[OsString]) -> i32 {
    // The arguments with which this entry is started again.
    let all: Vec<OsString> = std::env::args_os().skip(1).collect();
    let before = all.strip_suffix(arguments).unwrap_or_default();
    let outcome = match arguments.split_first() {
        Some((role, rest)) => match role.to_str() {
            Some("front") => EntryArguments::parse(rest)
                .and_then(|entry| process_reaper::run_parent(before, &entry)),
            Some("keep") => EntryArguments::parse(rest)
                .and_then(|entry| process_reaper::run_reaper(before, &entry)),
            Some("stage") => EntryArguments::parse(rest)
                .and_then(|entry| restricted_process::run_restricted(&entry)),
            Some("limit") => EntryArguments::parse(rest)
                .and_then(|entry| restricted_process::run_limited(&entry)),
            Some("scope") => {
                EntryArguments::parse(rest).and_then(|entry| restricted_process::run_scoped(&entry))
            }
            Some("bridge") => EntryArguments::parse(rest)
                .and_then(|entry| proxy_bridge::run_with_proxy_bridge(&entry)),
            Some("without-landlock") => EntryArguments::parse(rest)
                .and_then(|entry| restricted_process::run_without_landlock(&entry)),
            Some("cell") => held_program::run_held_program(rest),
            Some("hold") => mount_holder::hold_files(rest),
            Some("check") => restricted_process::check_landlock(),
            Some(crate::trial_mount::TRIAL_ROLE) => super::trial::run_trial(rest),
            Some(crate::bound_child::BOUND_CHILD_ROLE) => bound_child::run_bound_child(rest),
            _ => Err(format!("`{}` is no part of it", role.display())),
        },
        None => Err("called without an order; it is not for people".into()),
    };
    outcome.unwrap_or_else(|problem| {
        eprintln!("{PREFIX} {problem}");
        EXIT_NOT_ENTERED
    })
}

/// The exit code with which a shell would report a child's status.
fn exit_code(status: ExitStatus) -> i32 {
    status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(EXIT_NOT_ENTERED)
}
