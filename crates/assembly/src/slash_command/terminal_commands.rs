//! Commands about the terminal itself and for the user in front of it, by name.

use super::{
    RuleFile, SlashCommand, SlashCommandAvailability, SlashCommandParser, SlashCommandSpec,
    TerminalAction,
};
use windlass_host::command_error::CommandError;

pub(super) const EXIT: SlashCommandSpec = SlashCommandSpec {
    name: "exit",
    aliases: &["quit"],
    argument_hint: "",
    description: "Exit",
    availability: SlashCommandAvailability::Terminal,
    parser: SlashCommandParser::NoArguments(|| SlashCommand::TerminalAction(TerminalAction::Quit)),
};

pub(super) const THEME: SlashCommandSpec = SlashCommandSpec {
    name: "theme",
    aliases: &[],
    argument_hint: "[NAME]",
    description: "Change the colours",
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
    description: "Turn vim keys on or off",
    availability: SlashCommandAvailability::Terminal,
    parser: SlashCommandParser::NoArguments(|| {
        SlashCommand::TerminalAction(TerminalAction::ToggleVim)
    }),
};

pub(super) const CONFIG: SlashCommandSpec = SlashCommandSpec {
    name: "config",
    aliases: &["settings"],
    argument_hint: "[user|project|local]",
    description: "Open a settings file in your editor",
    availability: SlashCommandAvailability::Terminal,
    parser: SlashCommandParser::WithArguments(|rest| {
        let file =
            match rest {
                "" => None,
                name => {
                    let known = RuleFile::ALL.into_iter().find(|file| file.name() == name);
                    Some(known.ok_or_else(|| {
                        CommandError::usage("/config takes user, project or local")
                    })?)
                }
            };
        Ok(SlashCommand::TerminalAction(TerminalAction::Config(file)))
    }),
};

pub(super) const COPY: SlashCommandSpec = SlashCommandSpec {
    name: "copy",
    aliases: &[],
    argument_hint: "",
    description: "Copy the last answer to the clipboard",
    availability: SlashCommandAvailability::Terminal,
    parser: SlashCommandParser::NoArguments(|| SlashCommand::TerminalAction(TerminalAction::Copy)),
};

pub(super) const DOCTOR: SlashCommandSpec = SlashCommandSpec {
    name: "doctor",
    aliases: &[],
    argument_hint: "",
    description: "Check the installation and the settings",
    availability: SlashCommandAvailability::Terminal,
    parser: SlashCommandParser::NoArguments(|| {
        SlashCommand::TerminalAction(TerminalAction::Doctor)
    }),
};

pub(super) const EFFORT: SlashCommandSpec = SlashCommandSpec {
    name: "effort",
    aliases: &[],
    argument_hint: "[LEVEL]",
    description: "Show or change how hard the model thinks",
    availability: SlashCommandAvailability::Terminal,
    parser: SlashCommandParser::WithArguments(|rest| {
        let level = (!rest.is_empty()).then(|| rest.to_owned());
        Ok(SlashCommand::TerminalAction(TerminalAction::Effort(level)))
    }),
};

pub(super) const EXPORT: SlashCommandSpec = SlashCommandSpec {
    name: "export",
    aliases: &[],
    argument_hint: "[FILE]",
    description: "Write the conversation to a Markdown file",
    availability: SlashCommandAvailability::Terminal,
    parser: SlashCommandParser::WithArguments(|rest| {
        let file = (!rest.is_empty()).then(|| rest.to_owned());
        Ok(SlashCommand::TerminalAction(TerminalAction::Export(file)))
    }),
};

pub(super) const STATUS: SlashCommandSpec = SlashCommandSpec {
    name: "status",
    aliases: &[],
    argument_hint: "",
    description: "Show version, session, model, folder and settings",
    availability: SlashCommandAvailability::Terminal,
    parser: SlashCommandParser::NoArguments(|| {
        SlashCommand::TerminalAction(TerminalAction::Status)
    }),
};

pub(super) const TASKS: SlashCommandSpec = SlashCommandSpec {
    name: "tasks",
    aliases: &["bashes"],
    argument_hint: "[stop ID]",
    description: "List background tasks, and stop them",
    availability: SlashCommandAvailability::Terminal,
    parser: SlashCommandParser::WithArguments(|rest| match rest.split_once(' ') {
        None if rest.is_empty() => Ok(SlashCommand::TerminalAction(TerminalAction::ListTasks)),
        Some(("stop", id)) => {
            Ok(SlashCommand::TerminalAction(TerminalAction::StopTask(id.trim().to_owned())))
        }
        None | Some(_) => Err(CommandError::usage("/tasks takes nothing, or stop and an id")),
    }),
};
