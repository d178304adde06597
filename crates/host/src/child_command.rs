//! A child process that runs while we serve it a model, with its exit code as ours.
//!
//! It keeps our terminal and our process group, or it could not read from the terminal. So Ctrl-C
//! reaches it directly, and only signals sent to us alone are forwarded.

use std::ffi::OsString;
use std::future::Future;
use std::io::IsTerminal;
use std::process::ExitStatus;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, Command};

use crate::command_error::CommandError;
use crate::exit::Exit;
use crate::signals::await_unless_signalled;
use crate::signals::{ExitSignal, SignalListener};
use crate::words;

pub fn build_command(words: &[OsString]) -> Option<Command> {
    let (program, arguments) = words.split_first()?;
    let mut command = Command::new(program);
    command.args(arguments).kill_on_drop(true);
    Some(command)
}

/// Runs the command to its end, and polls `beside` meanwhile.
pub async fn run(
    mut command: Command,
    signals: &mut SignalListener,
    companion: impl Future<Output = ()>,
) -> Result<Exit, CommandError> {
    let mut child = command.spawn().map_err(|error| {
        let program = command.as_std().get_program().to_string_lossy().into_owned();
        CommandError::new(
            Exit::NO_SUCH_COMMAND,
            words::describe_unstarted_program(&program, &error),
        )
    })?;
    let companion = async {
        companion.await;
        std::future::pending::<()>().await;
    };
    let status = tokio::select! {
        status = wait_for_exit(&mut child, signals) => status,
        () = companion => None,
    };
    Ok(status.map_or(Exit::FAILURE, Exit::from_exit_status))
}

/// Forwards signals. A command that ignores termination is killed after `TERMINATE_GRACE`.
async fn wait_for_exit(child: &mut Child, signals: &mut SignalListener) -> Option<ExitStatus> {
    loop {
        match await_unless_signalled(signals, child.wait()).await {
            Ok(status) => return status.ok(),
            // The terminal has sent it to the command as well, which decides how to react.
            Err(ExitSignal::Interrupt) if std::io::stdin().is_terminal() => {}
            Err(ExitSignal::Interrupt) => send_signal(child, Signal::INT),
            Err(ExitSignal::Terminate | ExitSignal::HangUp) => return terminate(child).await,
        }
    }
}

/// Asks a command to end, and kills it when it does not within `TERMINATE_GRACE`.
pub async fn terminate(child: &mut Child) -> Option<ExitStatus> {
    send_signal(child, Signal::TERM);
    match tokio::time::timeout(TERMINATE_GRACE, child.wait()).await {
        Ok(status) => status.ok(),
        Err(_) => {
            let _ = child.kill().await;
            child.wait().await.ok()
        }
    }
}

fn send_signal(child: &Child, signal: Signal) {
    let id = child.id().and_then(|id| i32::try_from(id).ok());
    if let Some(pid) = id.and_then(Pid::from_raw) {
        // The child has not been waited for, so its pid cannot have been reused.
        let _ = kill_process(pid, signal);
    }
}

const TERMINATE_GRACE: Duration = Duration::from_secs(5);
