//! `/btw QUESTION`: answers a question outside of the conversation.

use super::{SlashCommand, SlashCommandAvailability, SlashCommandParser, SlashCommandSpec};
use windlass_host::command_error::CommandError;

pub(super) const COMMAND: SlashCommandSpec = SlashCommandSpec {
    name: "btw",
    aliases: &[],
    argument_hint: "QUESTION",
    description: "Ask a side question; it stays out of the conversation",
    availability: SlashCommandAvailability::Everywhere,
    parser: SlashCommandParser::WithArguments(|rest| match rest.is_empty() {
        true => Err(CommandError::usage("/btw needs a question: /btw why two crates?")),
        false => Ok(SlashCommand::SideQuestion(rest.to_owned())),
    }),
};
