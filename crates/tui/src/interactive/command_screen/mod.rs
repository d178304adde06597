//! The pickers behind slash commands: what is in force, and actions on it. Each row is a slash command, so
//! everything a picker does can be typed too. Changes of files ask for confirmation, with no as the
//! first answer.

mod agents;
mod hooks;
mod mcp_servers;
mod memory;
mod models;
mod permissions;

use crate::{Picker, PickerItem, PromptAction};

use super::appearance;
use super::prompt_handler::PromptHandler;
use windlass_assembly::slash_command::{OverviewSection, TerminalAction};
use windlass_host::command_error::CommandError;

pub(super) use hooks::LastHookRuns;

impl PromptHandler {
    pub(super) async fn open_screen(
        &self,
        section: OverviewSection,
    ) -> Result<PromptAction, CommandError> {
        match section {
            OverviewSection::Help => Ok(PromptAction::ShowFirstFitting(
                super::help_text::render_help(&self.command_hints()).to_vec(),
            )),
            OverviewSection::Permissions => self.open_rule_picker(),
            OverviewSection::Hooks => Ok(PromptAction::OpenPicker(self.build_hook_picker().await)),
            OverviewSection::McpServers => {
                Ok(PromptAction::OpenPicker(self.build_mcp_server_picker()))
            }
            OverviewSection::Agents => Ok(PromptAction::OpenPicker(self.build_agent_picker())),
            OverviewSection::Memory => {
                Ok(PromptAction::OpenPicker(self.build_memory_picker().await))
            }
            OverviewSection::Model => Ok(PromptAction::OpenPicker(self.build_model_picker().await)),
        }
    }

    pub(super) async fn perform_action(
        &self,
        action: TerminalAction,
    ) -> Result<PromptAction, CommandError> {
        match action {
            TerminalAction::Quit => Ok(PromptAction::Quit),
            TerminalAction::ToggleVim => Ok(PromptAction::ToggleVim),
            TerminalAction::Theme(name) => choose_theme(name.as_deref()),
            TerminalAction::Model(name) => self.switch_model(&name).await,
            TerminalAction::Rules(action) => self.perform_rule_action(action).await,
            TerminalAction::Hook(number, is_on) => self.switch_hook(number, is_on).await,
            TerminalAction::McpServer(action, name) => {
                self.perform_mcp_server_action(action, &name).await
            }
            TerminalAction::NewAgent(None) => Ok(self.ask_agent_name()),
            TerminalAction::NewAgent(Some(name)) => self.create_agent(&name),
            TerminalAction::EditAgent(name) => self.edit_agent(&name),
            TerminalAction::ShowMemory => self.show_memory().await,
            TerminalAction::EditMemory(path) => self.edit_memory(&path),
        }
    }
}

fn choose_theme(name: Option<&str>) -> Result<PromptAction, CommandError> {
    match name {
        None => {
            let row = |name: &str| build_item(format!("/theme {name}"), name, "");
            let items = ["auto", "dark", "light", "plain"].map(row).to_vec();
            Ok(PromptAction::OpenPicker(Picker::new("Which colours?", items)))
        }
        Some("auto") => Ok(PromptAction::SetTheme(None)),
        Some(name) => {
            let theme = appearance::parse_theme(name);
            let usage = || CommandError::usage("/theme takes auto, light, dark or plain");
            theme.ok_or_else(usage).map(|theme| PromptAction::SetTheme(Some(theme)))
        }
    }
}

/// A row of a picker. One with an empty value cannot be chosen.
fn build_item(
    value: impl Into<String>,
    label: impl Into<String>,
    description: impl Into<String>,
) -> PickerItem {
    PickerItem { value: value.into(), label: label.into(), description: description.into() }
}

fn read_environment(name: &str) -> Option<std::ffi::OsString> {
    std::env::var_os(name)
}
