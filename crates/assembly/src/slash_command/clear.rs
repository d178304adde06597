//! `/clear`: starts a new session with an empty conversation.

use super::{SlashCommand, SlashCommandAvailability, SlashCommandParser, SlashCommandSpec};

pub(super) const COMMAND: SlashCommandSpec = SlashCommandSpec {
    name: "clear",
    aliases: &["new", "reset"],
    argument_hint: "",
    description: "Start a new session; the old one is kept",
    availability: SlashCommandAvailability::Everywhere,
    parser: SlashCommandParser::NoArguments(|| SlashCommand::Clear),
};
