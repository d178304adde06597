//! `--dry-run`: the whole run works on a trial. Its changes are shown at the end; they are applied
//! by `--apply`, by answering yes, or later by `windlass apply`.

use std::ffi::OsString;
use std::io::IsTerminal as _;

use windlass_assembly::directories::working_directory;
use windlass_assembly::options::SessionOptions;
use windlass_assembly::session::trials::{
    TrialSession, build_access, open_workspace, trial_config,
};
use windlass_driver::rewind::OverwriteChoice;
use windlass_driver::snapshot::SharedWorkspace;
use windlass_driver::trial::{Trial, TrialConfig};
use windlass_host::child_command;
use windlass_host::command_error::CommandError;
use windlass_host::environment::EnvLookup;
use windlass_host::exit::Exit;
use windlass_host::random;
use windlass_host::signals::SignalListener;
use windlass_host::standard_streams::write_error_line;

use crate::apply::{accept_trial, ask_yes};
use crate::preview_report::{render_preview, summarize_preview, write_contents};
use crate::trial_process::{build_command, end_trial, trial_name};

#[derive(Clone, Debug)]
pub struct DryRunOptions {
    /// Which session to run.
    pub session: SessionOptions,
    /// Stdout is text for a user, so the diff is printed there.
    pub prints_text: bool,
    /// Apply the changes if the run succeeds.
    pub applies: bool,
}

/// Runs `windlass` with these arguments on a trial of the working directory.
pub async fn run(
    options: DryRunOptions,
    arguments: Vec<OsString>,
    lookup: &impl EnvLookup,
) -> Result<Exit, CommandError> {
    let directory = working_directory()?;
    let shared = open_workspace(&directory, lookup)?;
    let session = TrialSession::select(&options.session, &directory, lookup)?;
    let mut trial = begin_trial(&shared, lookup)?;
    let command = build_access(&session, &trial, &shared, lookup)
        .and_then(|access| build_command(&trial, &directory, arguments, &access));
    let ended = match command {
        Ok(command) => {
            let mut signals = SignalListener::listen()?;
            let command = tokio::process::Command::from(command);
            child_command::run(command, &mut signals, std::future::pending()).await
        }
        Err(error) => Err(error),
    };
    let exit = match ended {
        Ok(exit) => exit,
        Err(error) => {
            trial.discard();
            return Err(error);
        }
    };
    end_trial(&mut trial, &shared)?;
    show_and_apply(&options, trial, &shared, exit)
}

/// Begins a trial of this working directory.
fn begin_trial(shared: &SharedWorkspace, lookup: &impl EnvLookup) -> Result<Trial, CommandError> {
    let config = find_config(lookup)?;
    let name = format!("run-{}", random::generate_name());
    Trial::begin(shared, &config, &name).map_err(|why| {
        CommandError::failure(format!(
            "no dry run here: {why}; `windlass doctor` says what is missing, and \
             `windlass fork --workspace` works on a copy instead"
        ))
    })
}

pub(crate) fn find_config(lookup: &impl EnvLookup) -> Result<TrialConfig, CommandError> {
    trial_config(lookup)
        .ok_or_else(|| CommandError::failure("there is no place for trials: HOME is not set"))
}

fn show_and_apply(
    options: &DryRunOptions,
    trial: Trial,
    shared: &SharedWorkspace,
    exit: Exit,
) -> Result<Exit, CommandError> {
    let preview =
        trial.preview(shared).map_err(|error| CommandError::failure(error.to_string()))?;
    let summary = summarize_preview(&preview);
    if preview.is_empty() {
        trial.discard();
        write_error_line(&format!("dry run: {summary}"));
        return Ok(exit);
    }
    if options.prints_text {
        let text = format!("\nDry run, nothing is applied yet:\n{}", render_preview(&preview));
        // Fails if the reader has closed the pipe; the trial is kept.
        let _ = write_contents(&text);
    }
    let is_terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    let is_wanted = match (options.applies, is_terminal) {
        (true, _) => exit == Exit::SUCCESS,
        (false, true) => ask_yes("Apply these changes?"),
        (false, false) => false,
    };
    let name = trial_name(&trial);
    if !is_wanted {
        write_error_line(&format!("dry run: {summary}; apply: windlass apply {name}"));
        return Ok(exit);
    }
    let text = accept_trial(&trial, shared, &OverwriteChoice::Refuse)?;
    write_error_line(text.trim_end());
    Ok(exit)
}

/// Removes the flags of a dry run, which leaves the arguments for the run itself.
pub fn remove_flags(arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut is_over = false;
    let is_ours = |word: &OsString| word == "--dry-run" || word == "--apply";
    let kept = arguments.into_iter().filter(|word| {
        is_over |= word == "--";
        is_over || !is_ours(word)
    });
    kept.collect()
}

/// Whether trials work on this machine, for `windlass doctor`; otherwise returns the reason.
pub fn check_support(lookup: &impl EnvLookup) -> Result<(), String> {
    Trial::check_support(&trial_config(lookup).ok_or("HOME is not set")?)
}
