//! `/cost`: what this session cost so far.

use super::{SlashCommand, SlashCommandAvailability, SlashCommandParser, SlashCommandSpec};

pub(super) const COMMAND: SlashCommandSpec = SlashCommandSpec {
    name: "cost",
    aliases: &[],
    argument_hint: "",
    description: "Show what this session cost",
    availability: SlashCommandAvailability::Everywhere,
    parser: SlashCommandParser::NoArguments(|| SlashCommand::Cost),
};
