//! `/mcp`: the state of each server, its tools, and actions on it.

use crate::{Picker, PickerItem, PromptAction};
use windlass_driver::mcp::{McpServerReport, McpServerStatus};
use windlass_host::environment::process_environment;

use super::super::prompt_handler::PromptHandler;
use super::super::words;
use super::build_item;
use windlass_assembly::mcp::browser_login::BrowserLogin;
use windlass_assembly::slash_command::McpServerAction;
use windlass_host::command_error::{CommandError, to_single_line};
use windlass_host::display::human_format::format_counted;

impl PromptHandler {
    pub(super) fn build_mcp_server_picker(&self) -> Picker {
        let mut items: Vec<PickerItem> = self
            .expander
            .tools
            .mcp_servers
            .server_reports()
            .iter()
            .map(build_server_item)
            .collect();
        let trust = &self.settings_state.startup_layers.loaded.trust;
        if trust.withheld_items().iter().any(|item| item.key == "mcpServers") {
            let note = words::SERVERS_UNTRUSTED_NOTE;
            items.push(build_item("", words::SERVERS_UNTRUSTED, note));
        }
        if items.is_empty() {
            items.push(build_item("", words::NO_SERVERS, words::NO_SERVERS_NOTE));
        }
        Picker::new(words::TITLE_SERVERS, items)
    }

    pub(super) async fn perform_mcp_server_action(
        &self,
        action: McpServerAction,
        name: &str,
    ) -> Result<PromptAction, CommandError> {
        let servers = &self.expander.tools.mcp_servers;
        let report = servers.server_reports().into_iter().find(|server| server.name == name);
        let Some(report) = report else {
            return Err(CommandError::usage(words::describe_unknown_server(name)));
        };
        let result = match action {
            McpServerAction::Open => {
                return Ok(PromptAction::OpenPicker(build_server_menu(&report)));
            }
            McpServerAction::LogIn => return self.log_in_to_mcp_server(name).await,
            McpServerAction::Reconnect => servers.reconnect(name).await,
            McpServerAction::On => match servers.set_enabled(name, true).await {
                Ok(()) => servers.connect(name).await,
                failed => failed,
            },
            McpServerAction::Off => servers.set_enabled(name, false).await,
        };
        result.map_err(|failure| CommandError::failure(format!("{name}: {failure}")))?;
        let report = servers.server_reports().into_iter().find(|server| server.name == name);
        let status = report.map_or("gone", |server| server.status.as_str());
        Ok(PromptAction::ShowResult(
            format!("{name}: {status}"),
            Some(self.build_mcp_server_picker()),
        ))
    }

    /// Opens the login page; the session continues while the user logs in.
    async fn log_in_to_mcp_server(&self, name: &str) -> Result<PromptAction, CommandError> {
        let name = name.to_owned();
        let servers = self.expander.tools.mcp_servers.clone();
        let login = BrowserLogin::begin(&name, &self.cwd, &process_environment).await?;
        let words = words::describe_login(login.address());
        Ok(PromptAction::ShowThenAwait(
            words,
            Box::pin(async move {
                let message = login.finish().await.map_err(|error| error.to_string())?;
                let connected = servers.reconnect(&name).await;
                connected.map_err(|failure| format!("{name}: {failure}"))?;
                Ok(PromptAction::ShowResult(to_single_line(&message), None))
            }),
        ))
    }
}

fn build_server_item(server: &McpServerReport) -> PickerItem {
    let error = server.error.as_deref().map(|error| format!(" · {}", to_single_line(error)));
    let description = format!(
        "{} · {} · {}{}",
        server.status.as_str(),
        format_counted(server.tools.len(), "tool"),
        server.scope,
        error.unwrap_or_default()
    );
    build_item(format!("/mcp {}", server.name), &server.name, description)
}

/// The actions on one server, then its tools.
fn build_server_menu(server: &McpServerReport) -> Picker {
    let name = &server.name;
    let mut items = vec![
        build_item("/mcp", words::SERVER_BACK, ""),
        build_item(format!("/mcp reconnect {name}"), words::SERVER_RECONNECT, ""),
        match server.status {
            McpServerStatus::Disabled => {
                build_item(format!("/mcp on {name}"), words::SERVER_ON, "")
            }
            McpServerStatus::Idle
            | McpServerStatus::Pending
            | McpServerStatus::Connected
            | McpServerStatus::Failed
            | McpServerStatus::NeedsLogin => {
                build_item(format!("/mcp off {name}"), words::SERVER_OFF, words::FOR_SESSION)
            }
        },
    ];
    if server.status == McpServerStatus::NeedsLogin {
        items.insert(
            1,
            build_item(format!("/mcp login {name}"), words::SERVER_LOGIN, words::IN_BROWSER),
        );
    }
    items.extend(server.tools.iter().map(|tool| build_item("", tool, words::TOOL)));
    Picker::new(format!("{name}: {}", server.status.as_str()), items)
}
