//! `windlass completions`: a script for a shell. The script asks `windlass __complete`, so that it always
//! knows the flags of this version, and sessions, models and agents as they are now.

mod completion_values;

use clap::{Arg, Command, CommandFactory};

use crate::args::{CliArgs, ShellArg};
use completion_values::list_values;
use windlass_host::environment::EnvLookup;

pub(crate) fn render_script(shell: ShellArg) -> &'static str {
    match shell {
        ShellArg::Bash => include_str!("../../text/completions/bash.sh"),
        ShellArg::Zsh => include_str!("../../text/completions/zsh.sh"),
        ShellArg::Fish => include_str!("../../text/completions/fish.fish"),
    }
}

/// One line for each word that can complete the last one: the word, a tab, its meaning.
pub(crate) fn complete(words: &[String], lookup: &impl EnvLookup) -> String {
    let mut root = CliArgs::command();
    root.build();
    let (current, before) =
        words.split_last().map_or(("", &[][..]), |(last, rest)| (last.as_str(), rest));
    let place = find_place(&root, before);
    // `--model=x` is one word in most shells; bash hands over three.
    let (given, current) = match current.split_once('=') {
        Some(("", value)) => ("", value),
        Some((_, value)) if current.starts_with("--") => {
            (current.strip_suffix(value).unwrap_or_default(), value)
        }
        _ => ("", current),
    };
    let option = find_option(place.command, given.trim_end_matches('=')).or(place.option);
    let mut found = match option {
        _ if current.starts_with('-') => list_flags(place.command),
        Some(option) => list_values(option, lookup),
        None => {
            let mut found = list_subcommands(place.command);
            let operand = place.command.get_positionals().nth(place.operands);
            found.extend(operand.into_iter().flat_map(|operand| list_values(operand, lookup)));
            found
        }
    };
    found.retain(|candidate| candidate.word.starts_with(current) && is_plain(&candidate.word));
    found.iter().map(|candidate| format!("{given}{}", candidate.to_line())).collect()
}

/// A shell inserts the word as it is, and a project may have named it: what a shell would take for more than
/// a word is left out.
fn is_plain(word: &str) -> bool {
    word.chars().all(|one| one.is_ascii_alphanumeric() || "._/:@=+-".contains(one))
}

struct CompletionCandidate {
    word: String,
    meaning: String,
}

impl CompletionCandidate {
    fn new(word: impl Into<String>, meaning: impl Into<String>) -> Self {
        Self { word: word.into(), meaning: meaning.into() }
    }

    fn to_line(&self) -> String {
        let first_line = self.meaning.lines().next().unwrap_or_default();
        match first_line {
            "" => format!("{}\n", self.word),
            meaning => format!("{}\t{meaning}\n", self.word),
        }
    }
}

/// The position of the word to complete.
struct CompletionPlace<'a> {
    command: &'a Command,
    /// The option whose value it is.
    option: Option<&'a Arg>,
    /// How many operands come before it.
    operands: usize,
}

fn find_place<'a>(root: &'a Command, before: &[String]) -> CompletionPlace<'a> {
    let mut place = CompletionPlace { command: root, option: None, operands: 0 };
    for word in before {
        if word.starts_with('-') {
            let takes_next = |option: &&Arg| option.get_action().takes_values();
            place.option = find_option(place.command, word).filter(takes_next);
        } else if word == "=" || place.option.take().is_some() {
            // The value of an option, or the word before it.
        } else if let Some(command) = place.command.find_subcommand(word) {
            place = CompletionPlace { command, option: None, operands: 0 };
        } else {
            place.operands += 1;
        }
    }
    place
}

fn find_option<'a>(command: &'a Command, word: &str) -> Option<&'a Arg> {
    command.get_arguments().find(|option| match word.strip_prefix("--") {
        Some(name) => option.get_long() == Some(name),
        None => word.strip_prefix('-').is_some_and(|letter| {
            option.get_short().is_some_and(|short| letter == short.to_string())
        }),
    })
}

fn list_flags(command: &Command) -> Vec<CompletionCandidate> {
    let options = command.get_arguments().filter(|option| !option.is_hide_set());
    let candidate = |option: &Arg| {
        let meaning = option.get_help().map(ToString::to_string).unwrap_or_default();
        Some(CompletionCandidate::new(format!("--{}", option.get_long()?), meaning))
    };
    options.filter_map(candidate).collect()
}

fn list_subcommands(command: &Command) -> Vec<CompletionCandidate> {
    let commands = command.get_subcommands().filter(|command| !command.is_hide_set());
    let candidate = |command: &Command| {
        let meaning = command.get_about().map(ToString::to_string).unwrap_or_default();
        CompletionCandidate::new(command.get_name(), meaning)
    };
    commands.map(candidate).collect()
}
