//! `windlass race`: runs several continuations of a session from one point concurrently, each on
//! its own trial. One of them may be applied.
//!
//! A budget is shared: each continuation may spend what the others leave, and together they cannot
//! exceed it.

mod continuation;
mod race_budget;
mod race_report;
mod variant;

use std::ffi::OsString;
use std::io::{IsTerminal as _, Write as _};

use tokio::sync::watch;
use windlass_assembly::session::fork_with_files::{
    ForkArguments, ForkFiles, ForkedSession, find_prompt, fork_with_files,
};
use windlass_assembly::session::session_lookup::find_session_here;
use windlass_assembly::session::trials::{TrialSession, build_access, open_workspace};
use windlass_driver::rewind::OverwriteChoice;
use windlass_driver::snapshot::SharedWorkspace;
use windlass_driver::trial::Trial;
use windlass_host::command_error::CommandError;
use windlass_host::environment::EnvLookup;
use windlass_host::exit::Exit;
use windlass_host::random;
use windlass_host::signals::{SignalListener, await_unless_signalled};
use windlass_host::standard_streams::{StandardOutput, write_error_line};
use windlass_journal::ListedSession;
use windlass_vocabulary::MicroUsd;

use self::continuation::{Continuation, ContinuationEnd};
use self::race_budget::RaceBudget;
use self::race_report::{RaceReport, RaceRow};
use self::variant::{RaceVariant, list_variants};
use crate::apply::accept_trial;
use crate::dry_run::find_config;
use crate::preview_report::write_contents;
use crate::trial_process::end_trial;

#[derive(Clone, Debug)]
pub struct RaceOptions {
    /// `None` for the newest session of this directory.
    pub session: Option<String>,
    /// Starts before this prompt or call. `None` starts at the end of the session or, without new
    /// prompts, before the last prompt.
    pub at: Option<String>,
    pub models: Vec<String>,
    pub efforts: Vec<String>,
    pub prompts: Vec<String>,
    /// The budget of all continuations together.
    pub budget: Option<MicroUsd>,
    /// The number of the continuation to apply.
    pub choice: Option<usize>,
    pub json: bool,
    /// Additional arguments for each run.
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
        match prepare(&listed, &start, variant, &shared, lookup) {
            Ok(prepared) => continuations.push(prepared),
            Err(error) => {
                continuations.into_iter().for_each(Continuation::discard);
                return Err(error);
            }
        }
    }
    if let Err(error) = share_budget(&options, &mut continuations) {
        continuations.into_iter().for_each(Continuation::discard);
        return Err(error);
    }
    let ended = match run_all(&continuations, &options.arguments).await? {
        Ok(ended) => ended,
        Err(exit) => {
            continuations.into_iter().for_each(Continuation::discard);
            return Ok(exit);
        }
    };
    let mut rows = Vec::new();
    for (mut continuation, end) in continuations.into_iter().zip(ended) {
        end_trial(&mut continuation.trial, &shared)?;
        continuation.leave_copy(lookup)?;
        let preview = continuation.trial.preview(&shared);
        let preview = preview.map_err(|error| CommandError::failure(error.to_string()))?;
        rows.push(RaceRow { continuation, end, preview });
    }
    finish(&options, RaceReport { parent: listed.summary.id, rows }, &shared)
}

/// Begins a trial on an overlay with the snapshot's files or, where overlays are unsupported, in a
/// copy.
fn begin_trial(
    shared: &SharedWorkspace,
    snapshot: Option<&str>,
    lookup: &impl EnvLookup,
) -> Result<Trial, CommandError> {
    let config = find_config(lookup)?;
    let name = format!("race-{}", random::generate_name());
    let lost = |why: String| {
        CommandError::failure(format!("the files of that moment are not available: {why}"))
    };
    match Trial::begin(shared, &config, &name) {
        Ok(trial) => match snapshot.map_or(Ok(()), |snapshot| trial.go_to(shared, snapshot)) {
            Ok(()) => Ok(trial),
            Err(why) => {
                trial.discard();
                Err(lost(why))
            }
        },
        Err(why) => {
            write_error_line(&format!(
                "race: {why}; each runs in a copy without ignored folders, and is not confined to it"
            ));
            Trial::begin_in_copy(shared, &config, &name, snapshot).map_err(lost)
        }
    }
}

fn share_budget(
    options: &RaceOptions,
    continuations: &mut [Continuation],
) -> Result<(), CommandError> {
    let first = continuations.first().map(|one| one.trial.folder().with_extension("budget"));
    if let (Some(limit), Some(path)) = (options.budget, first) {
        let budget = RaceBudget::create(path, limit)?;
        for continuation in continuations {
            continuation.draw_on(&budget)?;
        }
    }
    Ok(())
}

/// Where all continuations start, and the prompt to repeat.
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
    listed: &ListedSession,
    start: &StartingPoint,
    variant: RaceVariant,
    shared: &SharedWorkspace,
    lookup: &impl EnvLookup,
) -> Result<Continuation, CommandError> {
    let arguments = ForkArguments { at: start.at.clone(), files: ForkFiles::Shared };
    let forked = fork_with_files(listed, &arguments, lookup)?;
    let mut trial = begin_trial(shared, forked.snapshot.as_deref(), lookup)?;
    if let Err(why) = trial.set_session(&forked.id) {
        trial.discard();
        return Err(CommandError::failure(why));
    }
    let access = TrialSession::of_fork(&forked, lookup)
        .and_then(|session| build_access(&session, &trial, shared, lookup));
    let access = match access {
        Ok(access) => access,
        Err(error) => {
            trial.discard();
            return Err(error);
        }
    };
    let ForkedSession { id: session, directory, journal, .. } = forked;
    Ok(Continuation { session, directory, trial, variant, access, journal, share: None })
}

/// Runs all continuations concurrently. The inner error is the exit code of a signal that stopped
/// them.
async fn run_all(
    continuations: &[Continuation],
    arguments: &[OsString],
) -> Result<Result<Vec<ContinuationEnd>, Exit>, CommandError> {
    let mut signals = SignalListener::listen()?;
    let mut tasks = tokio::task::JoinSet::new();
    let (stop, stopped) = watch::channel(false);
    for (place, continuation) in continuations.iter().enumerate() {
        let child = continuation.spawn(arguments)?;
        let close = continuation.build_closing();
        let label = format!("{} {}", place + 1, continuation.variant.label());
        let stopped = stopped.clone();
        tasks.spawn(async move {
            let end = continuation::follow(child, label, stopped).await;
            // Reads a journal. On failure, the unspent share is not returned.
            let _ = tokio::task::spawn_blocking(close).await;
            (place, end)
        });
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
                // Each process ends its commands, and is killed if it takes too long.
                stop.send_replace(true);
                while tasks.join_next().await.is_some() {}
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
        let _ = write_contents(&report.render());
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
