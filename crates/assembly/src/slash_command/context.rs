//! `/context`: what fills the window of this session.

use super::{SlashCommand, SlashCommandAvailability, SlashCommandParser, SlashCommandSpec};

pub(super) const COMMAND: SlashCommandSpec = SlashCommandSpec {
    name: "context",
    aliases: &[],
    argument_hint: "",
    description: "Show what fills the context window",
    availability: SlashCommandAvailability::Everywhere,
    parser: SlashCommandParser::NoArguments(|| SlashCommand::Context),
};
