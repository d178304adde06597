//! Mistakes on the command line that clap found, as one line.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use windlass_host::command_error::CommandError;

use crate::args::foreign_flags;
use crate::words;

/// Puts what clap found wrong into one line: the cause, then its advice.
pub(crate) fn clap_to_command_error(error: &clap::Error) -> CommandError {
    if let (ErrorKind::UnknownArgument, Some(ContextValue::String(flag))) =
        (error.kind(), error.get(ContextKind::InvalidArg))
        && let Some(why) = foreign_flags::explain_foreign_flag(flag)
    {
        return CommandError::usage(words::describe_unsupported_flag(flag, why));
    }
    let text = error.to_string();
    let lines = text
        .lines()
        .map(str::trim)
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"))
        .filter(|line| !line.is_empty())
        .map(|line| line.trim_start_matches("error: ").trim_start_matches("tip: "));
    let mut sentence = String::new();
    for line in lines {
        // The arguments that are missing stand on lines of their own.
        let gap = if sentence.ends_with(':') || line.starts_with('<') { " " } else { "; " };
        sentence.push_str(if sentence.is_empty() { "" } else { gap });
        sentence.push_str(line);
    }
    CommandError::usage(words::describe_misuse(&sentence, &name_help_page(&text)))
}

/// The command whose usage clap printed.
fn name_help_page(text: &str) -> String {
    let usage = text.lines().find_map(|line| line.trim().strip_prefix("Usage: "));
    let names = usage.unwrap_or("windlass").split_whitespace();
    let names = names.take_while(|word| !word.starts_with(['<', '[', '-']));
    names.collect::<Vec<_>>().join(" ")
}
