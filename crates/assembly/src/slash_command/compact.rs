//! `/compact [focus]`: history is made shorter now, with a view to what comes next.

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
