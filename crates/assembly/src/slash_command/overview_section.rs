//! Commands that show settings, and may change them. The text comes from `SessionOverview`.

use super::{
    SlashCommandAvailability, SlashCommandParser, SlashCommandSpec, TerminalAction, terminal_action,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OverviewSection {
    Agents,
    Help,
    Hooks,
    Memory,
    Model,
    Permissions,
    McpServers,
}

impl OverviewSection {
    pub fn command_name(self) -> &'static str {
        self.to_command_spec().name
    }

    /// The command that asks about it.
    pub(super) const fn to_command_spec(self) -> SlashCommandSpec {
        let (name, about) = match self {
            Self::Agents => ("agents", "List agents, or create one"),
            Self::Help => ("help", "All commands and keys"),
            Self::Hooks => ("hooks", "List hooks, and turn them on or off"),
            Self::McpServers => ("mcp", "MCP server status"),
            Self::Memory => ("memory", "Show and edit memory files"),
            Self::Model => ("model", "Show or change the model"),
            Self::Permissions => ("permissions", "Show and change permission rules"),
        };
        let (hint, meaning) = match self {
            Self::Help => ("", SlashCommandParser::Show(self)),
            Self::Agents => (
                "[new|edit NAME]",
                SlashCommandParser::ShowOrAct(self, terminal_action::parse_agent_action),
            ),
            Self::Hooks => (
                "[on|off NUMBER]",
                SlashCommandParser::ShowOrAct(self, terminal_action::parse_hook_action),
            ),
            Self::McpServers => (
                "[NAME]",
                SlashCommandParser::ShowOrAct(self, |rest| {
                    Ok(terminal_action::parse_server_action(rest))
                }),
            ),
            Self::Memory => (
                "[edit FILE]",
                SlashCommandParser::ShowOrAct(self, terminal_action::parse_memory_action),
            ),
            Self::Model => (
                "[NAME]",
                SlashCommandParser::ShowOrAct(self, |rest| {
                    Ok(TerminalAction::Model(rest.to_owned()))
                }),
            ),
            Self::Permissions => (
                "[check COMMAND]",
                SlashCommandParser::ShowOrAct(self, terminal_action::parse_rule_action),
            ),
        };
        SlashCommandSpec {
            name,
            aliases: &[],
            argument_hint: hint,
            description: about,
            availability: SlashCommandAvailability::Everywhere,
            parser: meaning,
        }
    }
}
