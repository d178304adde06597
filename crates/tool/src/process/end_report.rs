//! Messages for the model about a process that did not start or failed.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use super::supervisor::ProcessEndCause;

/// Why the shell could not be started.
pub(crate) fn explain_spawn_failure(error: &io::Error, shell: &Path) -> String {
    let advice = match error.raw_os_error().map(rustix::io::Errno::from_raw_os_error) {
        Some(rustix::io::Errno::TOOBIG) => {
            " The command is too long: write it to a file and run that."
        }
        Some(rustix::io::Errno::MFILE | rustix::io::Errno::NFILE) => {
            " Too many files are open: run fewer calls at a time."
        }
        Some(rustix::io::Errno::AGAIN) => " Too many processes are running: run fewer at a time.",
        _ => "",
    };
    format!("The shell {} could not be started: {error}.{advice}", shell.display())
}

pub(crate) fn render_end_cause(
    cause: ProcessEndCause,
    limit: Duration,
    spill_max: u64,
) -> Option<String> {
    match cause {
        ProcessEndCause::Exited => None,
        ProcessEndCause::Deadline => {
            Some(format!("Timed out after {} ms and was stopped.", limit.as_millis()))
        }
        ProcessEndCause::Cancelled => Some("Interrupted before it ended.".to_owned()),
        ProcessEndCause::TooManyProcesses => {
            Some("Stopped: it started too many processes.".to_owned())
        }
        ProcessEndCause::TooMuchOutput => {
            Some(format!("Stopped: it wrote more than {spill_max} bytes, the most that is kept."))
        }
    }
}

pub(crate) fn render_exit_status(status: Option<ExitStatus>) -> Option<String> {
    let Some(status) = status else {
        return Some("It could not be killed; its exit was not seen.".to_owned());
    };
    match (status.code(), status.signal()) {
        (Some(0), _) => None,
        (Some(code), _) => match code.checked_sub(128).and_then(signal_name) {
            Some(name) => Some(format!("Exit code {code} (as after {name})")),
            None => Some(format!("Exit code {code}")),
        },
        (None, Some(signal)) => Some(match signal_name(signal) {
            Some(name) => format!("Killed by {name} (signal {signal})"),
            None => format!("Killed by signal {signal}"),
        }),
        (None, None) => Some("Ended without an exit code".to_owned()),
    }
}

fn signal_name(signal: i32) -> Option<&'static str> {
    let name = match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        5 => "SIGTRAP",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        10 => "SIGUSR1",
        11 => "SIGSEGV",
        12 => "SIGUSR2",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        24 => "SIGXCPU",
        25 => "SIGXFSZ",
        31 => "SIGSYS",
        _ => return None,
    };
    Some(name)
}
