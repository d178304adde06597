//! `windlass race`: several continuations of a session from one point, at the same time, each on a
//! trial of its own. One of them may be applied.
//!
//! The limit on money is divided evenly before anything starts, so that all of them together cannot
//! exceed it.

mod continuation;
mod race_report;
mod variant;

use std::ffi::OsString;
use std::io::{IsTerminal as _, Write as _};

use windlass_assembly::session::fork_with_files::{
    ForkArguments, ForkFiles, find_prompt, fork_with_files, read_spending,
};
use windlass_assembly::session::session_lookup::find_session_here;
use windlass_assembly::session::trials::open_workspace;
use windlass_driver::rewind::OverwriteChoice;
use windlass_driver::snapshot::SharedWorkspace;
use windlass_host::command_error::CommandError;
use windlass_host::environment::EnvLookup;
use windlass_host::exit::Exit;
use windlass_host::signals::{SignalListener, await_unless_signalled};
use windlass_host::standard_streams::{StandardOutput, write_error_line};
use windlass_journal::ListedSession;
use windlass_vocabulary::MicroUsd;

use self::continuation::{Continuation, ContinuationEnd};
use self::race_report::{RaceReport, RaceRow};
use self::variant::{RaceVariant, list_variants};
use crate::apply::accept_trial;
use crate::dry_run::begin_trial;
use crate::trial_process::end_trial;

/// What to race.
#[derive(Clone, Debug)]
pub struct RaceOptions {
    /// The newest of this directory, if `None`.
    pub session: Option<String>,
    /// Before this prompt or call; as it is now, or before the last prompt if none is given.
    pub at: Option<String>,
    pub models: Vec<String>,
    pub efforts: Vec<String>,
    pub prompts: Vec<String>,
    /// For all of them together.
    pub budget: Option<MicroUsd>,
    /// The number of the one to apply.
    pub choice: Option<usize>,
    pub json: bool,
    /// More arguments for each run.
    pub arguments: Vec<OsString>,
}

pub async fn run(options: RaceOptions, lookup: &impl EnvLookup) -> Result<Exit, CommandError> {
    let listed = find_session_here(options.session.as_deref(), lookup)?;
    let start = StartingPoint::find(&options, &listed)?;
    let variants = list_variants(&options, &start.prompt)?;
    if options.choice.is_some_and(|number| number == 0 || number > variants.len()) {
        return Err(CommandError::usage(format!("--apply: choose 1 to {}", variants.len())));
    }
    let project = listed.summary.project.clone().ok_or_else(|| {
        CommandError::failure("the session does not say in which directory it works")
    })?;
    let shared = open_workspace(project.as_ref(), lookup)?;
    let mut continuations = Vec::new();
    for variant in variants {
        match prepare(&options, &listed, &start, variant, &shared, lookup) {
            Ok(prepared) => continuations.push(prepared),
            Err(error) => {
                continuations.into_iter().for_each(Continuation::discard);
                return Err(error);
            }
        }
    }
    if let Some(budget) = options.budget {
        let share = MicroUsd(budget.0 / continuations.len().max(1) as u64);
        continuations.iter_mut().for_each(|one| one.budget = Some(one.spent_before + share));
    }
    let ended = match run_all(&mut continuations, &options.arguments, lookup).await? {
        Ok(ended) => ended,
        Err(exit) => {
            continuations.into_iter().for_each(Continuation::discard);
            return Ok(exit);
        }
    };
    let mut rows = Vec::new();
    for (mut continuation, end) in continuations.into_iter().zip(ended) {
        end_trial(&mut continuation.trial, &shared)?;
        let preview = continuation.trial.preview(&shared);
        let preview = preview.map_err(|error| CommandError::failure(error.to_string()))?;
        rows.push(RaceRow { continuation, end, preview });
    }
    finish(&options, RaceReport { parent: listed.summary.id, rows }, &shared)
}

/// Where all of them begin, and with what.
struct StartingPoint {
    at: Option<String>,
    prompt: String,
}

impl StartingPoint {
    fn find(options: &RaceOptions, listed: &ListedSession) -> Result<Self, CommandError> {
        match options.prompts.is_empty() {
            false => Ok(Self { at: options.at.clone(), prompt: String::new() }),
            true => {
                let (number, prompt) = find_prompt(listed, options.at.as_deref())?;
                Ok(Self { at: Some(number), prompt })
            }
        }
    }
}

fn prepare(
    options: &RaceOptions,
    listed: &ListedSession,
    start: &StartingPoint,
    variant: RaceVariant,
    shared: &SharedWorkspace,
    lookup: &impl EnvLookup,
) -> Result<Continuation, CommandError> {
    let arguments = ForkArguments { at: start.at.clone(), files: ForkFiles::Shared };
    let forked = fork_with_files(listed, &arguments, lookup)?;
    let spent_before = match options.budget {
        Some(_) => read_spending(&forked.journal)?,
        None => MicroUsd(0),
    };
    let mut trial = begin_trial(shared, "race", lookup)?;
    let set_up = trial.set_session(&forked.id).and_then(|()| match &forked.snapshot {
        Some(snapshot) => trial.go_to(shared, snapshot),
        None => Ok(()),
    });
    if let Err(why) = set_up {
        trial.discard();
        return Err(CommandError::failure(format!(
            "the files of that moment cannot be had: {why}"
        )));
    }
    let directory = forked.directory;
    Ok(Continuation { session: forked.id, directory, trial, variant, spent_before, budget: None })
}

/// Runs them side by side. The inner error is a signal that ended them.
async fn run_all(
    continuations: &mut [Continuation],
    arguments: &[OsString],
    lookup: &impl EnvLookup,
) -> Result<Result<Vec<ContinuationEnd>, Exit>, CommandError> {
    let mut signals = SignalListener::listen()?;
    let mut tasks = tokio::task::JoinSet::new();
    for (place, continuation) in continuations.iter().enumerate() {
        let child = continuation.spawn(arguments, lookup)?;
        let label = format!("{} {}", place + 1, continuation.variant.label());
        tasks.spawn(async move { (place, continuation::follow(child, label).await) });
    }
    let mut ended: Vec<Option<ContinuationEnd>> = continuations.iter().map(|_| None).collect();
    loop {
        match await_unless_signalled(&mut signals, tasks.join_next()).await {
            Ok(None) => break,
            Ok(Some(joined)) => {
                let (place, end) =
                    joined.map_err(|error| CommandError::failure(error.to_string()))?;
                if let Some(slot) = ended.get_mut(place) {
                    *slot = Some(end);
                }
            }
            Err(signal) => {
                // Dropped, each child is killed; a command of it ends with the process it belongs to.
                tasks.shutdown().await;
                write_error_line("race: stopped, nothing is applied");
                return Ok(Err(signal.exit()));
            }
        }
    }
    Ok(Ok(ended.into_iter().map(Option::unwrap_or_default).collect()))
}

fn finish(
    options: &RaceOptions,
    report: RaceReport,
    shared: &SharedWorkspace,
) -> Result<Exit, CommandError> {
    if !options.json {
        let _ = StandardOutput::Stdout.write_all(report.render().as_bytes());
    }
    let is_terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    let choice = match options.choice {
        Some(number) => Some(number),
        None if is_terminal && !options.json => ask_number(report.rows.len()),
        None => None,
    };
    let mut applied = Ok(String::new());
    if let Some(row) = choice.and_then(|number| report.rows.get(number - 1)) {
        applied = accept_trial(&row.continuation.trial, shared, &OverwriteChoice::Refuse);
    }
    if options.json {
        let object = report.to_json(choice.filter(|_| applied.is_ok()));
        let _ = StandardOutput::Stdout.write_all(format!("{object}\n").as_bytes());
    }
    let text = applied?;
    match choice {
        Some(number) => {
            for (place, row) in report.rows.into_iter().enumerate() {
                match place + 1 == number {
                    true => write_error_line(&format!(
                        "{}Continue: windlass -r {}",
                        text, row.continuation.session
                    )),
                    false => row.continuation.discard(),
                }
            }
        }
        None => write_error_line("race: nothing is applied; apply one: windlass apply SESSION"),
    }
    Ok(Exit::SUCCESS)
}

fn ask_number(count: usize) -> Option<usize> {
    eprint!("Apply which? [1-{count}, Enter for none] ");
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).ok()?;
    answer.trim().parse().ok().filter(|number| (1..=count).contains(number))
}
