//! `/rewind [PROMPT] [files|conversation|both] [dry-run]`: back to an earlier prompt of this session.

use super::{SlashCommand, SlashCommandAvailability, SlashCommandParser, SlashCommandSpec};
use crate::report::rewind::parse_rewind_arguments;

pub(super) const COMMAND: SlashCommandSpec = SlashCommandSpec {
    name: "rewind",
    aliases: &[],
    argument_hint: "[number] [files|conversation|both] [dry-run]",
    description: "go back to before an earlier prompt; without a number, list them",
    availability: SlashCommandAvailability::Everywhere,
    parser: SlashCommandParser::WithArguments(|rest| {
        Ok(SlashCommand::Rewind(parse_rewind_arguments(rest)?))
    }),
};
