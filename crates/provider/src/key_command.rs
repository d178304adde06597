//! Gets a key from a program of the user's, such as a password manager.
//!
//! Its output is a secret, which is returned and never shown. Its error messages are shown.

use std::time::Duration;

use crate::config::provider::KeyProgram;
use crate::external_program;
use crate::external_program::ProgramOutput;

/// Runs it, and returns the first line of its output.
pub(super) fn run_key_command(command: &KeyProgram) -> Result<String, String> {
    let Some((program, arguments)) = command.words.split_first() else {
        return Err("it names no program".to_owned());
    };
    command.written.check().map_err(|why| format!("it {why}"))?;
    let ProgramOutput { status, stdout: printed, stderr_line: complaint } =
        external_program::run_program(program, arguments, None, WAIT_MAX)
            .map_err(|failure| failure.to_string())?;
    if !status.success() {
        return Err(match complaint.as_str() {
            "" => format!("it ends with {status}"),
            words => format!("it ends with {status} and says: {words}"),
        });
    }
    let text = String::from_utf8(printed).map_err(|_| "it prints no text".to_owned())?;
    match text.lines().map(str::trim).find(|line| !line.is_empty()) {
        Some(key) => Ok(key.to_owned()),
        None => Err("it prints nothing".to_owned()),
    }
}

/// The user may have to unlock something first.
const WAIT_MAX: Duration = Duration::from_secs(25);
