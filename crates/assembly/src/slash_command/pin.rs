//! `/pin TEXT`: said to the model like any prompt, and never left out when history is made shorter.

use windlass_driver::PromptSubmission;

use super::{SlashCommand, SlashCommandAvailability, SlashCommandParser, SlashCommandSpec};
use windlass_host::command_error::CommandError;

pub(super) const COMMAND: SlashCommandSpec = SlashCommandSpec {
    name: "pin",
    aliases: &[],
    argument_hint: "TEXT",
    description: "Tell the model something that no compaction drops",
    availability: SlashCommandAvailability::Everywhere,
    parser: SlashCommandParser::WithArguments(|rest| match rest.is_empty() {
        true => {
            Err(CommandError::usage("/pin needs the text to keep: -p \"/pin never push to main\""))
        }
        false => Ok(SlashCommand::SubmitPrompt(PromptSubmission::from(rest).pin())),
    }),
};
