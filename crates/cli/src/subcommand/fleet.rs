//! The commands of a fleet: `windlass-fleet` takes the place of this process.
//!
//! It is a program of its own, because a database client and a gateway would not fit into this one.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use windlass_host::command_error::CommandError;

use crate::args::FleetSubcommand;
use crate::words;

/// Returns only when the program cannot be started.
pub(crate) fn run(command: FleetSubcommand) -> CommandError {
    let (name, words) = command.into_words();
    let error = Command::new(find_program()).arg(name).args(words).exec();
    if error.kind() == std::io::ErrorKind::NotFound {
        return CommandError::failure(words::describe_missing_program(&name, &PROGRAM));
    }
    CommandError::failure(words::describe_unstarted_program(&PROGRAM, &error))
}

/// Beside this program, or wherever the PATH leads.
fn find_program() -> PathBuf {
    let own = std::env::current_exe().ok();
    let beside = own.as_deref().and_then(Path::parent).map(|folder| folder.join(PROGRAM));
    beside.filter(|path| path.is_file()).unwrap_or_else(|| PathBuf::from(PROGRAM))
}

const PROGRAM: &str = "windlass-fleet";
