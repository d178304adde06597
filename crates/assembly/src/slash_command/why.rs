//! `/why`: how the last decisions came about.

use super::{SlashCommand, SlashCommandAvailability, SlashCommandParser, SlashCommandSpec};

pub(super) const COMMAND: SlashCommandSpec = SlashCommandSpec {
    name: "why",
    aliases: &[],
    argument_hint: "",
    description: "Explain why the last run went as it did",
    availability: SlashCommandAvailability::Everywhere,
    parser: SlashCommandParser::NoArguments(|| SlashCommand::Why),
};
