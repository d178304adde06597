//! Every sentence of this crate that people read, in one place, so that it can be read top to bottom.

use std::fmt::Display;
use std::path::Path;

use windlass_vocabulary::FailureKind;

// Failed requests and runs, and what to do about them.

pub(crate) fn describe_failure_kind(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::PromptTooLong => "the prompt is too long",
        FailureKind::MediaTooLarge => "images or documents are too large",
        FailureKind::BadImage => "an image cannot be used",
        FailureKind::Overloaded => "the model is overloaded",
        FailureKind::RateLimited => "too many requests",
        FailureKind::ServerFault => "the server failed",
        FailureKind::Transport => "the connection failed",
        FailureKind::ModelGone => "there is no such model",
        FailureKind::InvalidRequest => "the request was rejected as invalid",
        FailureKind::ForeignSignature => "reasoning of another model was refused",
        FailureKind::Unauthorised => "the key was refused",
        FailureKind::Quota => "the account's quota is used up",
        FailureKind::Refused => "refused by the provider's policy",
        FailureKind::OutputLimit => "the answer was cut at the output limit",
        FailureKind::Misconfigured => "the request cannot be made",
    }
}

pub(crate) const SERVER_UNREACHABLE: &str = "offline? the server cannot be reached";
pub(crate) const ADVICE_REFUSAL: &str = "rephrase the task, or use another --model";
pub(crate) const ADVICE_OUTPUT_LIMIT: &str = "ask for less at a time";
pub(crate) const ADVICE_NOT_COMPACTED: &str = "there may be too little to summarise yet";
pub(crate) const ADVICE_TRY_AGAIN: &str = "try again, or use another --model";
pub(crate) const ADVICE_TOO_LONG: &str = "give it less to read, or a --model with a larger window";
pub(crate) const ADVICE_IMAGE: &str = "leave the image out";
pub(crate) const ADVICE_VERBOSE: &str = "run it again with --verbose to see more";
pub(crate) const ADVICE_START_OVER: &str = "run it again to start over";
pub(crate) const ADVICE_STOP_HOOK: &str = "look at the hook, or run without it";
pub(crate) const ADVICE_HOOK_STOPPED: &str =
    "look at what it says above, and change the task or the rules";
pub(crate) const ADVICE_TURNS: &str = "raise it with --max-turns";
pub(crate) const ADVICE_BUDGET: &str = "raise it with --max-budget-usd";

// The machine.

pub(crate) const BROKE_DOWN: &str = "it broke down";

pub(crate) fn describe_bug(what: &dyn Display) -> String {
    format!("this should not happen: {what}")
}

pub(crate) fn describe_unstarted_program(program: &dyn Display, error: &dyn Display) -> String {
    format!("`{program}` cannot be started: {error}; check its name and the PATH")
}

pub(crate) fn describe_few_descriptors(least: &dyn Display, error: &dyn Display) -> String {
    format!("fewer than {least} more files may be open: {error}; raise the limit: ulimit -n 1024")
}

pub(crate) fn describe_few_threads(least: &dyn Display, error: &dyn Display) -> String {
    format!(
        "fewer than {least} more threads may be started: {error}; raise the limit: ulimit -u 1024, or \
         end some programs"
    )
}

pub(crate) fn describe_no_thread(error: &dyn Display) -> String {
    format!("no thread could be started: {error}; end some programs")
}

pub(crate) fn describe_no_signals(error: &dyn Display) -> String {
    format!("signals cannot be caught: {error}; close some programs")
}

// Environment variables.

pub(crate) fn describe_header_without_colon(number: i32, variable: &str) -> String {
    format!("line {number} of {variable} has no colon; write `Name: value`, one header a line")
}

pub(crate) fn describe_variable_without_text(name: &str) -> String {
    format!("{name} is not text; set it again, in UTF-8")
}

pub(crate) fn describe_unused_certificates(
    variable: &str,
    path: &dyn Display,
    problem: &dyn Display,
) -> String {
    format!("{variable}={path} is left out: {problem}; give a file of certificates in PEM form")
}

// Files.

pub(crate) const NAMED_PIPE: &str = "a named pipe";
pub(crate) const SOCKET: &str = "a socket";
pub(crate) const FOLDER: &str = "a folder";
pub(crate) const DEVICE: &str = "a device";
pub(crate) const SILENT_PIPE: &str = "nothing arrives from this pipe";

pub(crate) fn describe_irregular_file(what: &str) -> String {
    format!("it is {what}, not a regular file")
}

pub(crate) fn describe_long_file(bytes_max: u64) -> String {
    format!("it is longer than {bytes_max} bytes")
}

pub(crate) fn describe_broken_text(at: usize) -> String {
    format!("byte {at} is not UTF-8")
}

pub(crate) fn describe_skipped_file(path: &Path, error: &dyn Display) -> String {
    format!("windlass: {} is left out: {error}", path.display())
}

// Times.

pub(crate) const JUST_NOW: &str = "just now";

pub(crate) fn count_ago(number: u64, unit: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {unit}{plural} ago")
}
