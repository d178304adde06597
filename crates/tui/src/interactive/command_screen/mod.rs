//! The pickers behind slash commands: what is in force, and actions on it. Each row is a slash command, so
//! everything a picker does can be typed too. Changes of files ask for confirmation, with no as the
//! first answer.

mod agents;
mod background_tasks;
mod effort;
mod hooks;
mod mcp_servers;
mod memory;
mod models;
mod permissions;
mod session_status;
mod settings_files;

use crate::{Picker, PickerItem, PromptAction};

use super::prompt_handler::PromptHandler;
use super::{appearance, words};
use windlass_assembly::slash_command::{OverviewSection, TerminalAction};
use windlass_host::command_error::CommandError;

pub(super) use hooks::LastHookRuns;

impl PromptHandler {
    pub(super) async fn open_screen(
        &self,
        section: OverviewSection,
    ) -> Result<PromptAction, CommandError> {
        match section {
            OverviewSection::Help => Ok(PromptAction::OpenHelp),
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
            TerminalAction::Config(file) => self.edit_settings(file),
            TerminalAction::Copy => Ok(PromptAction::CopyAnswer),
            TerminalAction::Doctor => self.run_doctor().await,
            TerminalAction::Effort(name) => self.change_effort(name.as_deref()).await,
            TerminalAction::Export(file) => self.export_conversation(file.as_deref()),
            TerminalAction::Status => self.show_status().await,
            TerminalAction::ListTasks => Ok(PromptAction::OpenPicker(self.build_task_picker())),
            TerminalAction::StopTask(id) => self.stop_task(&id).await,
        }
    }
}

fn choose_theme(name: Option<&str>) -> Result<PromptAction, CommandError> {
    match name {
        None => {
            let current = appearance::chosen_theme();
            let row = |name: &str| {
                let note = if name == current { words::CURRENT } else { "" };
                build_item(format!("/theme {name}"), name, note)
            };
            let items = ["auto", "dark", "light", "plain"].map(row).to_vec();
            Ok(PromptAction::OpenPicker(Picker::new(words::TITLE_THEME, items)))
        }
        Some("auto") => {
            appearance::remember_theme("auto");
            Ok(PromptAction::SetTheme(None))
        }
        Some(name) => {
            let theme = appearance::parse_theme(name);
            let usage = || CommandError::usage(words::THEME_USAGE);
            let theme = theme.ok_or_else(usage)?;
            appearance::remember_theme(name);
            Ok(PromptAction::SetTheme(Some(theme)))
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
