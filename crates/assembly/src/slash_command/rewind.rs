//! `/rewind [PROMPT] [files|conversation|both] [dry-run]`: back to an earlier prompt of this session.

use super::{SlashCommand, SlashCommandAvailability, SlashCommandParser, SlashCommandSpec};
use windlass_driver::rewind::{OverwriteChoice, RewindOptions, RewindScope};
use windlass_host::command_error::CommandError;

pub(super) const COMMAND: SlashCommandSpec = SlashCommandSpec {
    name: "rewind",
    aliases: &[],
    argument_hint: "[NUMBER] [files|conversation|both] [dry-run]",
    description: "Rewind conversation, files or both to an earlier prompt",
    availability: SlashCommandAvailability::Everywhere,
    parser: SlashCommandParser::WithArguments(|rest| {
        Ok(SlashCommand::Rewind(parse_rewind_arguments(rest)?))
    }),
};

/// What a session is taken back to; `windlass rewind` makes the same of its flags.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RewindArguments {
    /// A prompt's number or id; `None` lists the prompts.
    pub to: Option<String>,
    pub scope: RewindScope,
    pub options: RewindOptions,
}

fn parse_rewind_arguments(words: &str) -> Result<RewindArguments, CommandError> {
    let mut wanted = RewindArguments {
        to: None,
        scope: RewindScope { conversation: true, files: true },
        options: RewindOptions::default(),
    };
    for word in words.split_whitespace() {
        match word.trim_start_matches("--") {
            "conversation" => wanted.scope.files = false,
            "files" => wanted.scope.conversation = false,
            "both" => {}
            "dry-run" => wanted.options.dry_run = true,
            "overwrite" => wanted.options.overwrite = OverwriteChoice::All,
            "skip-changed" => wanted.options.overwrite = OverwriteChoice::Skip,
            other if wanted.to.is_none() => wanted.to = Some(other.to_owned()),
            _ => {
                return Err(CommandError::usage(
                    "/rewind takes a prompt's number or name or a call's id, and conversation, files, both, \
                     dry-run, overwrite or skip-changed",
                ));
            }
        }
    }
    Ok(wanted)
}
