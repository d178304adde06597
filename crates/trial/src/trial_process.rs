//! A `windlass` process on a trial.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use windlass_assembly::session::trials::{TRIAL_VARIABLE, session_file};
use windlass_driver::snapshot::SharedWorkspace;
use windlass_driver::tool_types::{Secrets, may_hold_token};
use windlass_driver::trial::{Trial, TrialAccess};
use windlass_host::command_error::CommandError;

/// The command for `windlass` with these arguments on the trial.
pub(crate) fn build_command(
    trial: &Trial,
    directory: &Path,
    arguments: impl IntoIterator<Item = OsString>,
    access: &TrialAccess,
) -> Result<Command, CommandError> {
    let ourselves = std::env::current_exe().map_err(|error| {
        CommandError::failure(format!("the path of this program cannot be found: {error}"))
    })?;
    let mut command = Command::new(ourselves);
    command.args(arguments).env_clear().envs(std::env::vars_os());
    match trial.find_in_copy(directory) {
        Some(copy) => command.current_dir(copy),
        None => command.current_dir(directory).env(TRIAL_VARIABLE, trial.folder()),
    };
    Ok(trial.wrap_child(&command, access))
}

/// Called when all processes on the trial have ended: records its session and captures its changes.
pub(crate) fn end_trial(trial: &mut Trial, shared: &SharedWorkspace) -> Result<(), CommandError> {
    let file = session_file(trial.folder());
    if let Some(session) = read_session_id(&file) {
        trial.set_session(&session).map_err(CommandError::failure)?;
    }
    let _ = std::fs::remove_file(&file);
    trial
        .capture(shared, &known_secrets())
        .map_err(|why| CommandError::failure(format!("what the trial changed is not known: {why}")))
}

/// Untrusted, because programs on the trial can write the file: never blocks, and accepts only an
/// id.
fn read_session_id(file: &Path) -> Option<String> {
    let found = std::fs::symlink_metadata(file).ok()?;
    if !found.is_file() || found.len() > SESSION_ID_BYTES_MAX {
        return None;
    }
    let id = std::fs::read_to_string(file).ok()?;
    let is_id = id.chars().all(|one| one.is_ascii_alphanumeric() || one == '-');
    (is_id && !id.is_empty()).then_some(id)
}

const SESSION_ID_BYTES_MAX: u64 = 128;

/// Secrets in the environment: files that contain one are not stored in snapshots.
fn known_secrets() -> Secrets {
    let secrets = Secrets::default();
    for (name, value) in std::env::vars() {
        if may_hold_token(&name) {
            secrets.add(&value);
        }
    }
    secrets
}

/// The name for `windlass apply`.
pub(crate) fn trial_name(trial: &Trial) -> String {
    let folder = trial.folder().file_name().map(|name| name.to_string_lossy().into_owned());
    trial.session().map(str::to_owned).or(folder).unwrap_or_default()
}
