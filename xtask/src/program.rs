//! Runs the programs that chores are done with. Each has a deadline, and its last lines are the error.

use std::path::Path;
use std::process::{Command, Output, Stdio};

/// A fat link of everything on a busy machine takes long; anything else takes seconds.
const DEADLINE_SECONDS: &str = "3600";

/// Runs a program with more variables; what it says goes to the caller's terminal.
pub(crate) fn run_with(
    folder: &Path,
    program: &str,
    words: &[&str],
    variables: &[(&str, &str)],
) -> Result<(), String> {
    let status = bounded(folder, program, words)
        .envs(variables.iter().copied())
        .status()
        .map_err(|error| format!("{program}: {error}"))?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("{program} {} ended with {status}", words.join(" "))),
    }
}

/// Runs a program and returns what it wrote to standard output.
pub(crate) fn run_text(folder: &Path, program: &str, words: &[&str]) -> Result<String, String> {
    let bytes = run_bytes(folder, program, words)?;
    String::from_utf8(bytes).map_err(|_| format!("{program} wrote no text"))
}

/// The same as bytes.
pub(crate) fn run_bytes(folder: &Path, program: &str, words: &[&str]) -> Result<Vec<u8>, String> {
    let output = run_to_end(folder, program, words)?;
    match output.status.success() {
        true => Ok(output.stdout),
        false => Err(format!("{program} {} ended with {}", words.join(" "), output.status)),
    }
}

/// Runs a program to its end, however that is.
pub(crate) fn run_to_end(folder: &Path, program: &str, words: &[&str]) -> Result<Output, String> {
    bounded(folder, program, words)
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("{program}: {error}"))
}

/// `timeout` ends the program. It stays in our group, so that whoever ends us ends it and what it started.
fn bounded(folder: &Path, program: &str, words: &[&str]) -> Command {
    let mut command = Command::new("timeout");
    command.args(["--foreground", "--kill-after=10", DEADLINE_SECONDS, program]).args(words);
    command.current_dir(folder).stdin(Stdio::null());
    // Cargo tells us of our own package. To a cargo below it would say that the surroundings of build scripts
    // changed, and half of the workspace would be built again.
    let is_of_our_package =
        |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(is_of_our_package) {
            command.env_remove(name);
        }
    }
    command
}

/// Whether a program can be found.
pub(crate) fn has(program: &str) -> bool {
    let found = Command::new("sh")
        .args(["-c", "command -v \"$1\"", "sh", program])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    found.is_ok_and(|status| status.success())
}
