//! `/resume [SESSION]`: earlier sessions of this directory, or how to go on with one.

use super::{SlashCommand, SlashCommandAvailability, SlashCommandParser, SlashCommandSpec};

pub(super) const COMMAND: SlashCommandSpec = SlashCommandSpec {
    name: "resume",
    aliases: &[],
    argument_hint: "[SESSION]",
    description: "Resume an earlier session",
    availability: SlashCommandAvailability::Everywhere,
    parser: SlashCommandParser::WithArguments(|rest| {
        Ok(SlashCommand::Resume((!rest.is_empty()).then(|| rest.to_owned())))
    }),
};
