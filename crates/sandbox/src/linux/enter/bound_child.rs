//! Binds this process to its parent, and executes a command.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};

/// Arguments: the id of the parent, then the command.
pub(super) fn run_bound_child(arguments: &[OsString]) -> Result<i32, String> {
    let [parent, program, rest @ ..] = arguments else { return Err("no command".to_owned()) };
    let parent = parent.to_str().and_then(|number| number.parse().ok());
    follow_parent(parent.ok_or("the parent is no number")?)?;
    let error = Command::new(program).args(rest).exec();
    Err(format!("{} cannot be started: {error}", program.display()))
}

/// Requests a signal when the thread ends that started this process.
pub(in crate::linux) fn follow_parent(parent: i32) -> Result<(), String> {
    set_parent_process_death_signal(Some(Signal::TERM))
        .map_err(|error| format!("the parent cannot be watched: {error}"))?;
    // The parent may have ended before.
    match getppid().map(Pid::as_raw_pid) == Some(parent) {
        true => Ok(()),
        false => Err("the process that started this one is gone".to_owned()),
    }
}
