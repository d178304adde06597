//! The commands of a fleet: `windlass-fleet` takes the place of this process.
//!
//! It is a separate program, because a database client and a gateway would not fit into this one.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use windlass_host::command_error::CommandError;

use crate::args::FleetSubcommand;
use crate::words;

/// Returns only when the program cannot be started.
pub(crate) fn run(command: FleetSubcommand) -> CommandError {
    let (name, words) = command.into_words();
    start(name, Command::new(find_program()).arg(name).args(words))
}

/// `windlass --store URL …`: the rest is an ordinary command, on the sessions of that store. `None` if
/// the flag does not come first.
pub(crate) fn run_on_store(mut words: impl Iterator<Item = OsString>) -> Option<CommandError> {
    let first = words.next()?.into_string().ok()?;
    let url = match first.strip_prefix("--store")? {
        "" => words.next().unwrap_or_default(),
        url => url.strip_prefix('=')?.into(),
    };
    // In the environment, because every user of the host can read the words of a process.
    let mut command = Command::new(find_program());
    command.env("WINDLASS_STORE", url).arg("local").arg("--").args(words);
    Some(start("--store", &mut command))
}

fn start(name: &str, command: &mut Command) -> CommandError {
    let error = command.exec();
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
