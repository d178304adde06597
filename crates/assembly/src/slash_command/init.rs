//! `/init`: asks the model to look at the project and write down what a newcomer must know.

use windlass_driver::PromptSubmission;

use super::{SlashCommand, SlashCommandAvailability, SlashCommandParser, SlashCommandSpec};

pub(super) const COMMAND: SlashCommandSpec = SlashCommandSpec {
    name: "init",
    aliases: &[],
    argument_hint: "",
    description: "Look at the project and write AGENTS.md",
    availability: SlashCommandAvailability::Everywhere,
    parser: SlashCommandParser::NoArguments(|| {
        SlashCommand::SubmitPrompt(PromptSubmission::from(INIT_PROMPT))
    }),
};

const INIT_PROMPT: &str = include_str!("../text/init.md").trim_ascii_end();
