//! `windlass apply`: shows, applies or discards the changes of a dry run.

use std::io::Write as _;

use serde_json::json;
use windlass_assembly::directories::working_directory;
use windlass_assembly::session::trials::{list_trials, open_workspace, trial_config};
use windlass_driver::rewind::OverwriteChoice;
use windlass_driver::snapshot::SharedWorkspace;
use windlass_driver::trial::{Trial, TrialError};
use windlass_host::command_error::{CommandError, to_single_line};
use windlass_host::environment::EnvLookup;

use crate::preview_report::{preview_to_json, render_preview};
use crate::trial_process::{end_trial, trial_name};

/// What to do with a kept trial.
#[derive(Clone, Debug)]
pub struct ApplyOptions {
    /// The session that ran on it, or the trial's own name; `None` for the latest of this
    /// directory.
    pub session: Option<String>,
    pub action: ApplyAction,
    /// How to treat files that others have changed since.
    pub overwrite: OverwriteChoice,
    pub json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApplyAction {
    Apply,
    Show,
    Discard,
}

pub fn run(options: &ApplyOptions, lookup: &impl EnvLookup) -> Result<String, CommandError> {
    let mut trial = find_trial(options.session.as_deref(), lookup)?;
    if trial.is_running() {
        return Err(CommandError::failure("the run on this trial has not ended"));
    }
    let name = trial_name(&trial);
    if options.action == ApplyAction::Discard {
        trial.discard();
        return Ok(match options.json {
            true => format!("{}\n", json!({"session_id": name, "discarded": true})),
            false => format!("Dropped the dry run of {name}\n"),
        });
    }
    let shared = open_workspace(trial.root(), lookup)?;
    if !trial.has_ended() {
        // Its process was killed: captures what it changed until then.
        end_trial(&mut trial, &shared)?;
    }
    let preview = trial.preview(&shared).map_err(|error| describe_error(&error))?;
    let mut object = preview_to_json(&preview);
    let mut text = render_preview(&preview);
    if options.action == ApplyAction::Apply {
        text = accept_trial(&trial, &shared, &options.overwrite)?;
    }
    if let Some(fields) = object.as_object_mut() {
        fields.insert("session_id".to_owned(), json!(name));
        fields.insert("applied".to_owned(), json!(options.action == ApplyAction::Apply));
    }
    Ok(if options.json { format!("{object}\n") } else { text })
}

fn find_trial(wanted: Option<&str>, lookup: &impl EnvLookup) -> Result<Trial, CommandError> {
    let config = trial_config(lookup).ok_or_else(|| CommandError::failure("HOME is not set"))?;
    let trials = list_trials(&config).into_iter().rev();
    let here = working_directory()?;
    let here = here.canonicalize().unwrap_or(here);
    let mut found = trials.filter(|trial| match wanted {
        None => trial.root() == here,
        Some(wanted) => trial_name(trial).starts_with(wanted),
    });
    let first = found.next();
    match (wanted, first, found.next()) {
        (Some(wanted), Some(_), Some(_)) => Err(CommandError::usage(format!(
            "several dry runs are called `{wanted}`; give more of it"
        ))),
        (_, Some(trial), _) => Ok(trial),
        (Some(wanted), None, _) => {
            Err(CommandError::usage(format!("there is no dry run of `{wanted}` to apply")))
        }
        (None, None, _) => Err(CommandError::usage(
            "there is no dry run to apply in this directory; make one with --dry-run",
        )),
    }
}

/// Applies a trial. Returns a report for the user.
pub(crate) fn accept_trial(
    trial: &Trial,
    shared: &SharedWorkspace,
    overwrite: &OverwriteChoice,
) -> Result<String, CommandError> {
    let accepted = trial.accept(shared, overwrite).map_err(|error| describe_error(&error))?;
    let mut text = match accepted.files {
        1 => "Applied: 1 file changed\n".to_owned(),
        count => format!("Applied: {count} files changed\n"),
    };
    for path in &accepted.left {
        text.push_str(&format!("Not changed: {}\n", to_single_line(&path.to_string_lossy())));
    }
    Ok(text)
}

fn describe_error(error: &TrialError) -> CommandError {
    match error {
        TrialError::ChangedByOthers(_) => CommandError::failure(format!(
            "nothing was applied: {error}; `windlass apply --show` shows it, --skip-changed applies \
             the rest, and --overwrite overwrites them"
        )),
        TrialError::NotEnded => CommandError::failure("the run on this trial has not ended"),
        TrialError::Snapshots(words) => CommandError::failure(words.clone()),
    }
}

/// Asks at the terminal. Any answer other than yes means no.
pub(crate) fn ask_yes(question: &str) -> bool {
    eprint!("{question} [y/N] ");
    let _ = std::io::stderr().flush();
    let mut answer = String::new();
    let is_read = std::io::stdin().read_line(&mut answer).is_ok();
    is_read && matches!(answer.trim(), "y" | "Y" | "yes")
}
