//! Slash commands, `/name` with arguments, which are handled here and not by the model. One file
//! each.
//!
//! A prompt is a command only if its first word is the name of one, with the slash; everything else
//! goes to the model untouched, also what merely begins with a path.
//!
//! This is the only table: front ends list it, and carry out the [`SlashCommand`]s that come of it. A
//! command that needs a user at a terminal is refused here where there is none.

mod btw;
mod clear;
mod compact;
mod context;
mod cost;
mod diff;
mod init;
mod overview_section;
mod pin;
mod resume;
mod rewind;
mod terminal_action;
mod terminal_commands;
mod unknown_command;
mod why;

use windlass_driver::PromptSubmission;

pub use diff::{DiffArguments, DiffScope};
pub use overview_section::OverviewSection;
pub use rewind::RewindArguments;
pub use terminal_action::{McpServerAction, RuleAction, RuleFile, TerminalAction};
pub use unknown_command::check_command_name;
use windlass_host::command_error::CommandError;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SlashCommand {
    SubmitPrompt(PromptSubmission),
    /// Compact the conversation, with a focus.
    Compact(Option<String>),
    Context,
    Cost,
    /// Show the changes of files.
    Diff(DiffArguments),
    /// Go on with the run that was cut off.
    ContinueRun,
    /// Decide again about the deferred call.
    ResumeDeferredCall,
    /// Start a new session.
    Clear,
    /// Show earlier sessions, or how to go on with one.
    Resume(Option<String>),
    Rewind(RewindArguments),
    SideQuestion(String),
    Why,
    /// Change something; only with a user at a terminal.
    TerminalAction(TerminalAction),
    /// Show the current settings; the text is generated later.
    Show {
        section: OverviewSection,
        text: String,
    },
}

impl SlashCommand {
    /// Does it need a session in which something was said?
    pub(crate) fn needs_history(&self) -> bool {
        matches!(
            self,
            Self::Compact(_)
                | Self::Cost
                | Self::Diff(_)
                | Self::ContinueRun
                | Self::Rewind(_)
                | Self::Why
        )
    }

    /// Does it only show something?
    pub fn is_read_only(&self) -> bool {
        matches!(
            self,
            Self::Context
                | Self::Cost
                | Self::Diff(_)
                | Self::Resume(_)
                | Self::Why
                | Self::Show { .. }
        )
    }

    pub(crate) fn needs_no_model(&self) -> bool {
        self.is_read_only() || matches!(self, Self::Rewind(_))
    }
}

/// The front end that reads prompts and shows results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrontEnd {
    /// A user at a terminal.
    Terminal,
    /// A program, or a user who gave one prompt and sees one answer.
    Headless,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlashCommandAvailability {
    Everywhere,
    /// Only with a user at a terminal.
    Terminal,
}

/// A command's name, and how its arguments are parsed.
pub struct SlashCommandSpec {
    /// Without the slash.
    pub name: &'static str,
    /// What others call it.
    pub aliases: &'static [&'static str],
    pub argument_hint: &'static str,
    pub description: &'static str,
    pub availability: SlashCommandAvailability,
    parser: SlashCommandParser,
}

enum SlashCommandParser {
    /// Shows a setting; takes no arguments.
    Show(OverviewSection),
    /// Shows a setting, or performs an action on it.
    ShowOrAct(OverviewSection, fn(&str) -> Result<TerminalAction, CommandError>),
    /// Takes no arguments.
    NoArguments(fn() -> SlashCommand),
    WithArguments(fn(&str) -> Result<SlashCommand, CommandError>),
}

impl SlashCommandSpec {
    fn parse_arguments(&self, rest: &str) -> Result<SlashCommand, CommandError> {
        let alone = |command| match rest.is_empty() {
            true => Ok(command),
            false => Err(CommandError::usage(format!("/{} takes no arguments", self.name))),
        };
        let show =
            |topic: &OverviewSection| SlashCommand::Show { section: *topic, text: String::new() };
        match &self.parser {
            SlashCommandParser::Show(topic) => alone(show(topic)),
            SlashCommandParser::ShowOrAct(topic, _) if rest.is_empty() => Ok(show(topic)),
            SlashCommandParser::ShowOrAct(_, act) => act(rest).map(SlashCommand::TerminalAction),
            SlashCommandParser::NoArguments(command) => alone(command()),
            SlashCommandParser::WithArguments(command) => command(rest),
        }
    }

    /// Why it cannot be done here, if it cannot.
    fn check_front_end(&self, command: &SlashCommand, front: FrontEnd) -> Option<CommandError> {
        let name = self.name;
        if front == FrontEnd::Terminal {
            return None;
        }
        if self.availability == SlashCommandAvailability::Terminal {
            return Some(CommandError::usage(format!(
                "/{name} works only in the terminal; run windlass without -p"
            )));
        }
        matches!(command, SlashCommand::TerminalAction(_)).then(|| {
            CommandError::usage(format!(
                "/{name} with arguments works only in the terminal; /{name} alone lists"
            ))
        })
    }
}

/// All there are, by name.
pub const SLASH_COMMANDS: &[SlashCommandSpec] = &[
    OverviewSection::Agents.to_command_spec(),
    btw::COMMAND,
    clear::COMMAND,
    compact::COMMAND,
    terminal_commands::CONFIG,
    context::COMMAND,
    terminal_commands::COPY,
    cost::COMMAND,
    diff::COMMAND,
    terminal_commands::DOCTOR,
    terminal_commands::EFFORT,
    terminal_commands::EXIT,
    terminal_commands::EXPORT,
    OverviewSection::Help.to_command_spec(),
    OverviewSection::Hooks.to_command_spec(),
    init::COMMAND,
    OverviewSection::McpServers.to_command_spec(),
    OverviewSection::Memory.to_command_spec(),
    OverviewSection::Model.to_command_spec(),
    OverviewSection::Permissions.to_command_spec(),
    pin::COMMAND,
    resume::COMMAND,
    rewind::COMMAND,
    terminal_commands::STATUS,
    terminal_commands::TASKS,
    terminal_commands::THEME,
    terminal_commands::VIM,
    why::COMMAND,
];

pub fn list_available(front: FrontEnd) -> impl Iterator<Item = &'static SlashCommandSpec> {
    let is_shown = move |one: &&SlashCommandSpec| {
        front == FrontEnd::Terminal || one.availability == SlashCommandAvailability::Everywhere
    };
    SLASH_COMMANDS.iter().filter(is_shown)
}

pub fn parse_prompt(prompt: String, front: FrontEnd) -> Result<SlashCommand, CommandError> {
    let text = prompt.trim_start();
    let (first, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let is_named = |one: &&SlashCommandSpec| {
        let name = first.strip_prefix('/');
        name.is_some_and(|name| name == one.name || one.aliases.contains(&name))
    };
    let Some(spec) = SLASH_COMMANDS.iter().find(is_named) else {
        return Ok(SlashCommand::SubmitPrompt(PromptSubmission::from(prompt)));
    };
    let command = spec.parse_arguments(rest.trim())?;
    spec.check_front_end(&command, front).map_or(Ok(command), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_people_expect_is_there_once_and_in_order() {
        let expected = [
            "agents",
            "btw",
            "clear",
            "compact",
            "config",
            "context",
            "copy",
            "cost",
            "diff",
            "doctor",
            "effort",
            "exit",
            "export",
            "help",
            "hooks",
            "init",
            "mcp",
            "memory",
            "model",
            "permissions",
            "pin",
            "resume",
            "rewind",
            "status",
            "tasks",
            "theme",
            "vim",
            "why",
        ];
        let names: Vec<&str> =
            list_available(FrontEnd::Terminal).map(|command| command.name).collect();
        assert_eq!(names, expected);
        let others = SLASH_COMMANDS.iter().flat_map(|command| command.aliases);
        assert!(others.clone().all(|other| !names.contains(other)));
        let headless: Vec<&str> =
            list_available(FrontEnd::Headless).map(|command| command.name).collect();
        assert!(!headless.contains(&"theme") && headless.contains(&"why"));
        assert!(SLASH_COMMANDS.iter().all(|command| !command.description.is_empty()));
    }

    #[test]
    fn only_the_name_of_a_command_is_one() {
        let say = |text: &str| SlashCommand::SubmitPrompt(PromptSubmission::from(text));
        let cases = [
            ("/compact", SlashCommand::Compact(None)),
            ("  /compact  the tests ", SlashCommand::Compact(Some("the tests".to_owned()))),
            ("/context", SlashCommand::Context),
            ("/cost\n", SlashCommand::Cost),
            ("/clear", SlashCommand::Clear),
            ("/new", SlashCommand::Clear),
            ("/resume", SlashCommand::Resume(None)),
            ("/resume 1234", SlashCommand::Resume(Some("1234".to_owned()))),
            (
                "/pin never push",
                SlashCommand::SubmitPrompt(PromptSubmission::from("never push").pin()),
            ),
            ("/etc/hosts says what?", say("/etc/hosts says what?")),
            ("/compactor", say("/compactor")),
            ("/contexts of it", say("/contexts of it")),
            ("compact", say("compact")),
            ("/ compact", say("/ compact")),
            ("", say("")),
        ];
        for (prompt, meant) in cases {
            assert_eq!(
                parse_prompt(prompt.to_owned(), FrontEnd::Headless).unwrap(),
                meant,
                "{prompt}"
            );
        }
        for wrong in ["/context now", "/pin", "/cost all", "/clear it", "/help me"] {
            assert!(parse_prompt(wrong.to_owned(), FrontEnd::Terminal).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_changes_something_is_for_a_person_in_front() {
        let rules = |act| SlashCommand::TerminalAction(TerminalAction::Rules(act));
        let local = RuleFile::Local;
        let allow = windlass_settings::RuleList::Allow;
        let rule = || "Bash(git log)".to_owned();
        for (prompt, meant) in [
            ("/quit", SlashCommand::TerminalAction(TerminalAction::Quit)),
            ("/theme", SlashCommand::TerminalAction(TerminalAction::Theme(None))),
            ("/model opus", SlashCommand::TerminalAction(TerminalAction::Model("opus".to_owned()))),
            ("/hooks off 2", SlashCommand::TerminalAction(TerminalAction::Hook(2, false))),
            (
                "/mcp disk",
                SlashCommand::TerminalAction(TerminalAction::McpServer(
                    McpServerAction::Open,
                    "disk".to_owned(),
                )),
            ),
            (
                "/mcp off disk",
                SlashCommand::TerminalAction(TerminalAction::McpServer(
                    McpServerAction::Off,
                    "disk".to_owned(),
                )),
            ),
            (
                "/mcp off",
                SlashCommand::TerminalAction(TerminalAction::McpServer(
                    McpServerAction::Open,
                    "off".to_owned(),
                )),
            ),
            ("/agents new", SlashCommand::TerminalAction(TerminalAction::NewAgent(None))),
            ("/permissions add", rules(RuleAction::ChooseFile)),
            ("/permissions add local allow", rules(RuleAction::EnterRule(local, allow))),
            (
                "/permissions add local allow Bash(git log)",
                rules(RuleAction::Add(local, allow, rule())),
            ),
            (
                "/permissions remove local allow Bash(git log)",
                rules(RuleAction::ConfirmRemove(local, allow, rule())),
            ),
            ("/permissions check rm -r x", rules(RuleAction::Check("rm -r x".to_owned()))),
        ] {
            assert_eq!(
                parse_prompt(prompt.to_owned(), FrontEnd::Terminal).unwrap(),
                meant,
                "{prompt}"
            );
            assert!(parse_prompt(prompt.to_owned(), FrontEnd::Headless).is_err(), "{prompt}");
        }
        for wrong in ["/permissions allow Bash", "/permissions add managed allow Bash", "/hooks 1"]
        {
            assert!(parse_prompt(wrong.to_owned(), FrontEnd::Terminal).is_err(), "{wrong}");
        }
    }
}
