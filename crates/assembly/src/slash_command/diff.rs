//! `/diff [all|NUMBER|CALL] [stat]`: what this session did to files, the last turn by default.

use super::{SlashCommand, SlashCommandAvailability, SlashCommandParser, SlashCommandSpec};
use windlass_host::command_error::CommandError;

pub(super) const COMMAND: SlashCommandSpec = SlashCommandSpec {
    name: "diff",
    aliases: &[],
    argument_hint: "[all|NUMBER|CALL] [stat]",
    description: "Show what the last turn did to files, commands included",
    availability: SlashCommandAvailability::Everywhere,
    parser: SlashCommandParser::WithArguments(|rest| {
        Ok(SlashCommand::Diff(parse_diff_arguments(rest)?))
    }),
};

/// Of what the differences are shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffArguments {
    pub scope: DiffScope,
    /// Only which files, and how many lines.
    pub is_summary: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiffScope {
    /// Everything since the session began.
    Session,
    /// The turn of the last prompt.
    LastTurn,
    /// The turn of the prompt with this number, from 1.
    Turn(usize),
    /// The call with this id or id prefix, together with those of the same batch.
    Call(String),
}

fn parse_diff_arguments(words: &str) -> Result<DiffArguments, CommandError> {
    let mut wanted = DiffArguments { scope: DiffScope::LastTurn, is_summary: false };
    for word in words.split_whitespace() {
        match word.trim_start_matches("--") {
            "stat" => wanted.is_summary = true,
            "all" => wanted.scope = DiffScope::Session,
            "last" => wanted.scope = DiffScope::LastTurn,
            other if wanted.scope == DiffScope::LastTurn => {
                wanted.scope = match other.parse() {
                    Ok(number) => DiffScope::Turn(number),
                    Err(_) => DiffScope::Call(other.to_owned()),
                };
            }
            _ => {
                return Err(CommandError::usage(
                    "/diff takes all, a prompt's number or a call's id, and stat",
                ));
            }
        }
    }
    Ok(wanted)
}
