//! Lists a person goes through: what is in force, and what may be done about it. Each row stands for a
//! command of the one table, so everything a list does can be typed too. What changes a file asks
//! first, with no as the first answer.

mod agents;
mod hooks;
mod mcp_servers;
mod memory;
mod models;
mod permissions;

use crate::{Picker, PickerItem, PromptAction as Meant};

use super::appearance;
use super::prompt_handler::PromptHandler;
use windlass_assembly::slash_command::{OverviewSection, TerminalAction};
use windlass_host::command_error::CommandError;

pub(super) use hooks::LastHookRuns;

impl PromptHandler {
    /// What is in force, to look at and to change.
    pub(super) async fn open_screen(&self, topic: OverviewSection) -> Result<Meant, CommandError> {
        match topic {
            OverviewSection::Help => Ok(Meant::ShowFirstFitting(
                super::help_text::render_help(&self.command_hints()).to_vec(),
            )),
            OverviewSection::Permissions => self.open_rule_picker(),
            OverviewSection::Hooks => Ok(Meant::OpenPicker(self.build_hook_picker().await)),
            OverviewSection::McpServers => Ok(Meant::OpenPicker(self.build_mcp_server_picker())),
            OverviewSection::Agents => Ok(Meant::OpenPicker(self.build_agent_picker())),
            OverviewSection::Memory => Ok(Meant::OpenPicker(self.build_memory_picker().await)),
            OverviewSection::Model => Ok(Meant::OpenPicker(self.build_model_picker().await)),
        }
    }

    /// Does what a person wants done.
    pub(super) async fn perform_action(&self, act: TerminalAction) -> Result<Meant, CommandError> {
        match act {
            TerminalAction::Quit => Ok(Meant::Quit),
            TerminalAction::ToggleVim => Ok(Meant::ToggleVim),
            TerminalAction::Theme(name) => choose_theme(name.as_deref()),
            TerminalAction::Model(name) => self.switch_model(&name).await,
            TerminalAction::Rules(act) => self.perform_rule_action(act).await,
            TerminalAction::Hook(number, is_on) => self.switch_hook(number, is_on).await,
            TerminalAction::McpServer(act, name) => {
                self.perform_mcp_server_action(act, &name).await
            }
            TerminalAction::NewAgent(None) => Ok(self.ask_agent_name()),
            TerminalAction::NewAgent(Some(name)) => self.create_agent(&name),
            TerminalAction::EditAgent(name) => self.edit_agent(&name),
            TerminalAction::ShowMemory => self.show_memory().await,
            TerminalAction::EditMemory(path) => self.edit_memory(&path),
        }
    }
}

fn choose_theme(name: Option<&str>) -> Result<Meant, CommandError> {
    match name {
        None => {
            let row = |name: &str| build_item(format!("/theme {name}"), name, "");
            let items = ["auto", "dark", "light", "plain"].map(row).to_vec();
            Ok(Meant::OpenPicker(Picker::new("Which colours?", items)))
        }
        Some("auto") => Ok(Meant::SetTheme(None)),
        Some(name) => {
            let theme = appearance::parse_theme(name);
            let wrong = || CommandError::usage("/theme takes auto, light, dark or plain");
            theme.ok_or_else(wrong).map(|theme| Meant::SetTheme(Some(theme)))
        }
    }
}

/// A row; one that stands for no command is only there to be read.
fn build_item(
    value: impl Into<String>,
    label: impl Into<String>,
    about: impl Into<String>,
) -> PickerItem {
    PickerItem { value: value.into(), label: label.into(), description: about.into() }
}

/// The environment, as everything here looks into it.
fn read_environment(name: &str) -> Option<std::ffi::OsString> {
    std::env::var_os(name)
}
