//! Commands about the terminal itself: `/exit`, `/theme`, `/vim`.

use super::{
    SlashCommand, SlashCommandAvailability, SlashCommandParser, SlashCommandSpec, TerminalAction,
};

pub(super) const EXIT: SlashCommandSpec = SlashCommandSpec {
    name: "exit",
    aliases: &["quit"],
    argument_hint: "",
    description: "end the session; Ctrl-D does too",
    availability: SlashCommandAvailability::Terminal,
    parser: SlashCommandParser::NoArguments(|| SlashCommand::TerminalAction(TerminalAction::Quit)),
};

pub(super) const THEME: SlashCommandSpec = SlashCommandSpec {
    name: "theme",
    aliases: &[],
    argument_hint: "[NAME]",
    description: "change the colours",
    availability: SlashCommandAvailability::Terminal,
    parser: SlashCommandParser::WithArguments(|rest| {
        Ok(SlashCommand::TerminalAction(TerminalAction::Theme(
            (!rest.is_empty()).then(|| rest.to_owned()),
        )))
    }),
};

pub(super) const VIM: SlashCommandSpec = SlashCommandSpec {
    name: "vim",
    aliases: &[],
    argument_hint: "",
    description: "keys as in vim, or no longer",
    availability: SlashCommandAvailability::Terminal,
    parser: SlashCommandParser::NoArguments(|| {
        SlashCommand::TerminalAction(TerminalAction::ToggleVim)
    }),
};
