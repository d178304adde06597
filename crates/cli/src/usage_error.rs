//! Mistakes on the command line that clap found, as one line.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use windlass_host::command_error::CommandError;

use crate::args::CliCommand;
use crate::args::foreign_flags::{FOREIGN_FLAGS, explain_foreign};
use crate::words;

/// Puts what clap found wrong into one line: the cause, then its advice.
pub(crate) fn clap_to_command_error(error: &clap::Error) -> CommandError {
    let text = error.to_string();
    let unknown = match error.kind() {
        ErrorKind::UnknownArgument => error.get(ContextKind::InvalidArg),
        // The second word behind a prompt is taken for a subcommand.
        ErrorKind::ArgumentConflict if text.contains("[PROMPT]") => {
            error.get(ContextKind::InvalidSubcommand)
        }
        _ => None,
    };
    if let Some(ContextValue::String(word)) = unknown {
        return CommandError::usage(describe_unknown_word(word, error, &name_help_page(&text)));
    }
    let lines = text
        .lines()
        .map(str::trim)
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"))
        .filter(|line| !line.is_empty())
        .map(|line| line.trim_start_matches("error: ").trim_start_matches("tip: "));
    let mut sentence = String::new();
    for line in lines {
        // Missing arguments are on separate lines.
        let gap = if sentence.ends_with(':') || line.starts_with('<') { " " } else { "; " };
        sentence.push_str(if sentence.is_empty() { "" } else { gap });
        sentence.push_str(line);
    }
    CommandError::usage(words::describe_misuse(&sentence, &name_help_page(&text)))
}

/// A flag that there is not, or a word behind a whole prompt.
fn describe_unknown_word(word: &str, error: &clap::Error, page: &str) -> String {
    if let Some(why) = explain_foreign(FOREIGN_FLAGS, word) {
        return words::describe_unsupported_flag(word, why);
    }
    if word.starts_with('-') {
        let near = error.get(ContextKind::SuggestedArg).map(ToString::to_string);
        return words::describe_unknown_flag(word, near.as_deref(), page);
    }
    let typed: Vec<String> = std::env::args().collect();
    let at = typed.iter().rposition(|typed| typed == word);
    let before = at.and_then(|at| typed.get(at.checked_sub(1)?)).map(String::as_str);
    let command = before.filter(|before| CliCommand::SUBCOMMAND_NAMES.contains(before));
    match (page, command) {
        ("windlass", Some(command)) => words::describe_late_command(&command),
        ("windlass", None) => {
            let prompt = join_prompt(&typed, word).unwrap_or_else(|| "…".to_owned());
            words::describe_unquoted_prompt(&word, &prompt)
        }
        (page, _) => words::describe_surplus_word(&word, &page),
    }
}

/// The words of a prompt without quotes; `None` where it is not sure which they are, or a shell would
/// read them in another way.
fn join_prompt(typed: &[String], word: &str) -> Option<String> {
    let at = typed.iter().skip(1).position(|typed| typed == word)? + 1;
    let is_word = |typed: &&String| !typed.starts_with('-');
    let before = typed.get(1..at)?.iter().rev().take_while(is_word).count();
    let lead = typed.get(..at - before)?.last()?;
    // A word after another flag may be its value.
    let is_sure = at - before == 1 || ["-p", "--print", "--"].contains(&lead.as_str());
    let words = typed.get(at - before..)?.iter().take_while(is_word);
    let prompt = words.map(String::as_str).collect::<Vec<&str>>().join(" ");
    (is_sure && !prompt.contains(['"', '$', '`', '\\', '!'])).then_some(prompt)
}

/// The command whose usage clap printed.
fn name_help_page(text: &str) -> String {
    let usage = text.lines().find_map(|line| line.trim().strip_prefix("Usage: "));
    let names = usage.unwrap_or("windlass").split_whitespace();
    let names = names.take_while(|word| !word.starts_with(['<', '[', '-']));
    names.collect::<Vec<_>>().join(" ")
}
