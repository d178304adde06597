//! The command line about work on trial: dry runs, applying them, and races.

use std::ffi::OsString;

use windlass_driver::rewind::OverwriteChoice;
use windlass_trial::apply::{ApplyAction, ApplyOptions};
use windlass_trial::race::RaceOptions;
use windlass_vocabulary::MicroUsd;

use super::EffortArg;
use super::model::parse_budget_usd;

/// Whether a run is on trial.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
#[command(next_help_heading = "Dry run")]
pub(crate) struct TrialArgs {
    /// Run on a trial copy of the directory and show what changed; nothing is applied. Linux.
    #[arg(long, conflicts_with_all = ["journal"])]
    pub(crate) dry_run: bool,
    /// With --dry-run: apply the changes if the run ends well.
    #[arg(long, requires = "dry_run")]
    pub(crate) apply: bool,
}

/// `windlass apply`.
#[derive(Debug, clap::Args)]
pub(crate) struct ApplyArgs {
    /// The session of the dry run: its id or the beginning of it. [default: the latest dry run of this
    /// directory]
    session: Option<String>,
    /// Only show the changes.
    #[arg(long, conflicts_with = "discard")]
    show: bool,
    /// Drop the changes.
    #[arg(long)]
    discard: bool,
    /// Also overwrite files that others changed since.
    #[arg(long)]
    overwrite: bool,
    /// Leave files alone that others changed since, and apply the rest.
    #[arg(long, conflicts_with = "overwrite")]
    skip_changed: bool,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

impl From<ApplyArgs> for ApplyOptions {
    fn from(args: ApplyArgs) -> Self {
        let action = match (args.show, args.discard) {
            (true, _) => ApplyAction::Show,
            (false, true) => ApplyAction::Discard,
            (false, false) => ApplyAction::Apply,
        };
        let overwrite = match (args.overwrite, args.skip_changed) {
            (true, _) => OverwriteChoice::All,
            (false, true) => OverwriteChoice::Skip,
            (false, false) => OverwriteChoice::Refuse,
        };
        Self { session: args.session, action, overwrite, json: args.json }
    }
}

/// `windlass race`.
#[derive(Debug, clap::Args)]
pub(crate) struct RaceArgs {
    /// Its id, the beginning of its id, or its name. [default: the newest of this directory]
    session: Option<String>,
    /// From before this prompt, by number or id, or before this call. [default: before the last
    /// prompt, or from now if --prompt is given]
    #[arg(long, value_name = "PROMPT|CALL")]
    at: Option<String>,
    /// Models to race.
    #[arg(long, value_name = "MODEL,MODEL", value_delimiter = ',')]
    models: Vec<String>,
    /// Efforts to race.
    #[arg(long, value_name = "EFFORT,EFFORT", value_enum, value_delimiter = ',')]
    efforts: Vec<EffortArg>,
    /// The prompt to continue with; give several to race them. [default: the prompt at that point]
    #[arg(long = "prompt", visible_alias = "prompts", value_name = "TEXT")]
    prompts: Vec<String>,
    /// Spend at most this many dollars on all of them together.
    #[arg(long, value_name = "USD", value_parser = parse_budget_usd)]
    max_budget_usd: Option<MicroUsd>,
    /// Apply the files of this one. [default: ask at a terminal, else none]
    #[arg(long, value_name = "NUMBER")]
    apply: Option<usize>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
    /// More options for each run, for example --permission-mode acceptEdits.
    #[arg(last = true, value_name = "OPTIONS")]
    arguments: Vec<OsString>,
}

impl From<RaceArgs> for RaceOptions {
    fn from(args: RaceArgs) -> Self {
        let name_effort = |effort: EffortArg| windlass_vocabulary::Effort::from(effort).name();
        Self {
            session: args.session,
            at: args.at,
            models: args.models,
            efforts: args.efforts.into_iter().map(name_effort).map(str::to_owned).collect(),
            prompts: args.prompts,
            budget: args.max_budget_usd,
            choice: args.apply,
            json: args.json,
            arguments: args.arguments,
        }
    }
}
