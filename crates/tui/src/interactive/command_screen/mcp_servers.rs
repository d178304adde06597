//! `/mcp`: how it stands with each server, its tools, and what may be done about it.

use crate::{Picker, PickerItem, PromptAction as Meant};
use windlass_driver::mcp::{McpServerReport, McpServerStatus};

use super::super::prompt_handler::PromptHandler;
use super::{build_item, read_environment};
use windlass_assembly::mcp::browser_login::BrowserLogin;
use windlass_assembly::slash_command::McpServerAction;
use windlass_host::command_error::{CommandError, to_single_line};

impl PromptHandler {
    /// The servers there are.
    pub(super) fn build_mcp_server_picker(&self) -> Picker {
        let mut items: Vec<PickerItem> = self
            .expander
            .tools
            .mcp_servers
            .server_reports()
            .iter()
            .map(build_server_item)
            .collect();
        let withheld = &self.layers.loaded.trust;
        if withheld.withheld_items().iter().any(|one| one.key == "mcpServers") {
            let about = "not trusted; leave, and say yes to it when windlass starts again";
            items.push(build_item("", "More servers of this project", about));
        }
        if items.is_empty() {
            items.push(build_item("", "There are no MCP servers", "`windlass mcp add` adds one"));
        }
        Picker::new("MCP servers", items)
    }

    pub(super) async fn perform_mcp_server_action(
        &self,
        act: McpServerAction,
        name: &str,
    ) -> Result<Meant, CommandError> {
        let remote = &self.expander.tools.mcp_servers;
        let status = remote.server_reports().into_iter().find(|server| server.name == name);
        let Some(status) = status else {
            return Err(CommandError::usage(format!(
                "there is no MCP server `{name}`; /mcp lists them"
            )));
        };
        let done = match act {
            McpServerAction::Open => return Ok(Meant::OpenPicker(build_server_menu(&status))),
            McpServerAction::LogIn => return self.log_in_to_mcp_server(name).await,
            McpServerAction::Reconnect => remote.reconnect(name).await,
            McpServerAction::On => match remote.set_enabled(name, true).await {
                Ok(()) => remote.connect(name).await,
                failed => failed,
            },
            McpServerAction::Off => remote.set_enabled(name, false).await,
        };
        done.map_err(|failure| CommandError::failure(format!("{name}: {failure}")))?;
        let word = remote.server_reports().into_iter().find(|server| server.name == name);
        let word = word.map_or("gone", |server| server.status.as_str());
        Ok(Meant::ShowResult(format!("{name}: {word}"), Some(self.build_mcp_server_picker())))
    }

    /// The page is opened, and the session goes on while somebody is there.
    async fn log_in_to_mcp_server(&self, name: &str) -> Result<Meant, CommandError> {
        let (name, cwd) = (name.to_owned(), self.cwd.clone());
        let remote = self.expander.tools.mcp_servers.clone();
        let login = BrowserLogin::begin(&name, &cwd, &read_environment).await?;
        let words = format!("log in here: {}", login.address());
        Ok(Meant::ShowThenAwait(
            words,
            Box::pin(async move {
                let told = |refusal: CommandError| refusal.to_string();
                let done = login.finish().await.map_err(told)?;
                let connected = remote.reconnect(&name).await;
                connected.map_err(|failure| format!("{name}: {failure}"))?;
                Ok(Meant::ShowResult(to_single_line(&done), None))
            }),
        ))
    }
}

fn build_server_item(server: &McpServerReport) -> PickerItem {
    let error = server.error.as_deref().map(|error| format!(" · {}", to_single_line(error)));
    let about = format!(
        "{} · {} tools · {}{}",
        server.status.as_str(),
        server.tools.len(),
        server.scope,
        error.unwrap_or_default()
    );
    build_item(format!("/mcp {}", server.name), &server.name, about)
}

/// One server: what may be done, then its tools.
fn build_server_menu(server: &McpServerReport) -> Picker {
    let name = &server.name;
    let mut items = vec![
        build_item("/mcp", "Leave it as it is", ""),
        build_item(format!("/mcp reconnect {name}"), "Connect it anew", ""),
        match server.status {
            McpServerStatus::Disabled => build_item(format!("/mcp on {name}"), "Switch it on", ""),
            McpServerStatus::Idle
            | McpServerStatus::Pending
            | McpServerStatus::Connected
            | McpServerStatus::Failed
            | McpServerStatus::NeedsLogin => {
                build_item(format!("/mcp off {name}"), "Switch it off", "for this session")
            }
        },
    ];
    if server.status == McpServerStatus::NeedsLogin {
        items.insert(1, build_item(format!("/mcp login {name}"), "Log in", "in a browser"));
    }
    items.extend(server.tools.iter().map(|tool| build_item("", tool, "a tool of it")));
    Picker::new(format!("{name}: {}", server.status.as_str()), items)
}
