//! What the program says to people, in one place, so that it can be read top to bottom: the command line,
//! `bound` and `doctor` here, the other subcommands in `subcommands.rs`. The help has its texts in
//! `text/help` and beside the flags.

mod subcommands;

pub(crate) use subcommands::*;

use std::path::Path;
use std::time::Duration;

use windlass_settings::{SettingsFileState, TrustState};

// The command line.

pub(crate) const NO_EXPORT_FILE: &str =
    "name the file to write: --html, --markdown, --json or --trace FILE";
pub(crate) const NO_PROMPT: &str = "there is no prompt; ask with -p \"your task\"";
pub(crate) const STREAM_NEEDS_STREAM: &str =
    "--input-format stream-json needs --output-format stream-json; add it";

pub(crate) fn describe_no_terminal(prompt: &str) -> String {
    format!("this is not a terminal; ask with -p: windlass -p \"{prompt}\"")
}

pub(crate) fn describe_misuse(what: &str, page: &str) -> String {
    format!("{what}; see {page} --help")
}

pub(crate) fn describe_unknown_flag(flag: &str, near: Option<&str>, page: &str) -> String {
    match near {
        Some(near) => {
            format!("there is no flag `{flag}`; did you mean `{near}`? See {page} --help")
        }
        None => format!("there is no flag `{flag}`; see {page} --help"),
    }
}

pub(crate) fn describe_unsupported_flag(flag: &str, why: &str) -> String {
    format!("{flag} is not supported: {why}")
}

pub(crate) fn describe_unknown_subcommand(word: &str, near: &str) -> String {
    format!("there is no command `{word}`; did you mean `windlass {near}`?")
}

pub(crate) fn describe_foreign_subcommand(word: &str, advice: &str) -> String {
    format!("there is no command `{word}`; {advice}")
}

// `windlass bound`.

pub(crate) const BOUND_TURNS: &str = "tool turns";
pub(crate) const BOUND_CALLS: &str = "model calls";
pub(crate) const BOUND_CALLS_PER_TURN: &str = "  in one tool turn";
pub(crate) const BOUND_CALLS_BILLED: &str = "  that are billed";
pub(crate) const BOUND_MONEY: &str = "money";
pub(crate) const BOUND_NO_PRICE: &str = "unknown: a model has no price here";
pub(crate) const BOUND_FREE: &str = "nothing: the model is free";
pub(crate) const BOUND_USUAL: &str = "a typical task costs";
pub(crate) const BOUND_WORST: &str = "the worst case";
pub(crate) const BOUND_LIMIT: &str = "never more than";

pub(crate) fn introduce_bound(models: &str, turns: &str, retries: u8) -> String {
    format!(
        "The most that can happen after one prompt, whatever the model, the tools and the network \
         do.\nModel: {models}. At most {turns} turns and {retries} retries of a failed request.\n\n"
    )
}

pub(crate) fn describe_usual_task(cost: &str, calls: u64, first: &str, last: &str) -> String {
    format!("about {cost} ({calls} calls, {first} to {last} tokens, mostly from the cache)")
}

pub(crate) fn describe_worst_case(cost: &str) -> String {
    format!("{cost} (every answer as long as it can be, nothing cached)")
}

pub(crate) fn describe_budget(cost: &str) -> String {
    format!("{cost}, the limit you set")
}

pub(crate) const BOUND_EXPLANATION: &str = "\
Calls include retries, summaries and resumed answers. Each lowers a counter that only a new prompt
refills, so a run always ends. --max-turns and --max-retries make it shorter.
";
pub(crate) const NO_BUDGET_ADVICE: &str = "\
No limit on money is set. --max-budget-usd 5 sets one; it is checked before each request, so no more
than that is spent. Without it, an answer that breaks off and is asked for again may be billed on top.
";
pub(crate) const NO_PRICE_ADVICE: &str = "\
Give the price with --price to see what it costs, or to set --max-budget-usd.
";

// `windlass doctor`.

pub(crate) const DOCTOR_FILES: &str = "Settings files, later ones override\n";
pub(crate) const DOCTOR_VALUES: &str = "\nSettings in effect, and their files\n";
pub(crate) const DOCTOR_WITHOUT_EFFECT: &str = " (no effect here)";
pub(crate) const DOCTOR_TRUST: &str = "\nTrust\n";
pub(crate) const DOCTOR_BROAD_RULES: &str = "\nBroad allow rules\n";
pub(crate) const DOCTOR_SANDBOX: &str = "\nSandbox\n";
pub(crate) const DOCTOR_CELL: &str = "\nCell\n";
pub(crate) const DOCTOR_TRIAL: &str = "\nDry run\n";
pub(crate) const TRIAL_AVAILABLE: &str =
    "available: --dry-run, `Try it first` and `windlass race` work on an overlay";
pub(crate) const DOCTOR_MODEL: &str = "\nModel\n";
pub(crate) const DOCTOR_TELEMETRY: &str = "\nTelemetry\n";
pub(crate) const DOCTOR_FINE: &str = "\nNo problems found.\n";
pub(crate) const DOCTOR_PROBLEMS: &str = "\nProblems\n";
pub(crate) const NONE: &str = "none";
pub(crate) const NO_KEY_NEEDED: &str = "none needed";

pub(crate) const fn describe_file_state(state: SettingsFileState) -> &'static str {
    match state {
        SettingsFileState::Absent => "missing",
        SettingsFileState::Read => "read",
        SettingsFileState::Broken => "broken",
    }
}

pub(crate) const fn describe_trust_state(state: TrustState) -> &'static str {
    match state {
        TrustState::NotNeeded => "not needed",
        TrustState::Given => "given",
        TrustState::GivenOnce => "given for this run",
        TrustState::Never => "not given",
        TrustState::Changed => "given, but the contents have changed since",
    }
}

pub(crate) fn describe_ignored_item(key: &str, file: &str) -> String {
    format!("ignored: {key} in {file}")
}

pub(crate) fn describe_missing_key(provider: &str) -> String {
    format!("no API key for {provider}; see `windlass key --help`")
}

pub(crate) fn describe_model(model: &str, key: &str, server: &str) -> String {
    format!("  {model}; key: {key}\n  server: {server}\n")
}

pub(crate) const SERVER_NOT_ASKED: &str = "not asked (--offline)";
pub(crate) const SERVER_CANNOT_BE_ASKED: &str = "not asked: a model and its key are needed";
pub(crate) const SERVER_FAILED: &str = "does not answer; see below";

pub(crate) fn describe_server_answer(address: &str, took: Duration) -> String {
    format!("{address} answers ({} ms)", took.as_millis())
}

pub(crate) fn describe_server_problem(why: &str) -> String {
    format!("the model server: {why}")
}

pub(crate) fn describe_no_sandbox(why: &str) -> String {
    format!("not available: {why}")
}

pub(crate) fn describe_cell(cell: &str) -> String {
    format!("commands that run unasked are confined to {cell}")
}

pub(crate) fn describe_no_trial(why: &str) -> String {
    format!("not available: {why}; commands cannot be tried first here")
}

pub(crate) fn describe_no_cell(why: &str) -> String {
    format!(
        "not available: {why}. Only programs whose every option is understood run unasked, and \
         nothing confines them"
    )
}

pub(crate) fn describe_file_problem(file: &Path, why: &str) -> String {
    format!("{}: {why}", file.display())
}

pub(crate) fn describe_short_install(server: &str, limit: &str, needed: Duration) -> String {
    format!(
        "the MCP server `{server}` is installed at its first start, and MCP_TIMEOUT ends that after \
         {limit}; set it to {} or more, or unset it",
        needed.as_millis()
    )
}
