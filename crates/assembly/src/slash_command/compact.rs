//! `/compact [focus]`: compacts the history now, with an optional focus for the summary.

use super::{SlashCommand, SlashCommandAvailability, SlashCommandParser, SlashCommandSpec};

pub(super) const COMMAND: SlashCommandSpec = SlashCommandSpec {
    name: "compact",
    aliases: &[],
    argument_hint: "[FOCUS]",
    description: "Summarise the conversation, with an optional focus",
    availability: SlashCommandAvailability::Everywhere,
    parser: SlashCommandParser::WithArguments(|rest| {
        Ok(SlashCommand::Compact((!rest.is_empty()).then(|| rest.to_owned())))
    }),
};
