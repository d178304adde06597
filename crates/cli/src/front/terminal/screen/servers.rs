//! `/mcp`: how it stands with each server, its tools, and what may be done about it.

use windlass_driver::mcp::{ServerStatus, Status};
use windlass_terminal::{Item, Order as Meant, Picker};

use super::super::desk::Desk;
use super::{environment, item};
use crate::command::ServerAct;
use crate::refusal::{Refusal, one_line};
use crate::subcommand::mcp;

impl Desk {
    /// The servers there are.
    pub(super) fn server_list(&self) -> Picker {
        let mut items: Vec<Item> = self.expander.hands.remote.status().iter().map(row).collect();
        let withheld = &self.layers.loaded.trust;
        if withheld.withheld().iter().any(|one| one.key == "mcpServers") {
            let about = "not trusted; leave, and say yes to it when windlass starts again";
            items.push(item("", "More servers of this project", about));
        }
        if items.is_empty() {
            items.push(item("", "There are no MCP servers", "`windlass mcp add` adds one"));
        }
        Picker::new("MCP servers", items)
    }

    pub(super) async fn server_act(&self, act: ServerAct, name: &str) -> Result<Meant, Refusal> {
        let remote = &self.expander.hands.remote;
        let status = remote.status().into_iter().find(|server| server.name == name);
        let Some(status) = status else {
            return Err(Refusal::usage(format!(
                "there is no MCP server `{name}`; /mcp lists them"
            )));
        };
        let done = match act {
            ServerAct::Open => return Ok(Meant::Pick(opened(&status))),
            ServerAct::LogIn => return self.log_in(name).await,
            ServerAct::Reconnect => remote.reconnect(name).await,
            ServerAct::On => match remote.switch(name, true).await {
                Ok(()) => remote.reach(name).await,
                failed => failed,
            },
            ServerAct::Off => remote.switch(name, false).await,
        };
        done.map_err(|failure| Refusal::failed(format!("{name}: {failure}")))?;
        let word = remote.status().into_iter().find(|server| server.name == name);
        let word = word.map_or("gone", |server| server.status.word());
        Ok(Meant::Done(format!("{name}: {word}"), Some(self.server_list())))
    }

    /// The page is opened, and the session goes on while somebody is there.
    async fn log_in(&self, name: &str) -> Result<Meant, Refusal> {
        let (name, cwd) = (name.to_owned(), self.cwd.clone());
        let remote = self.expander.hands.remote.clone();
        let login = mcp::Login::begin(&name, &cwd, &environment).await?;
        let words = format!("log in here: {}", login.address());
        Ok(Meant::Wait(
            words,
            Box::pin(async move {
                let told = |refusal: Refusal| refusal.to_string();
                let done = login.finish().await.map_err(told)?;
                let connected = remote.reconnect(&name).await;
                connected.map_err(|failure| format!("{name}: {failure}"))?;
                Ok(Meant::Done(one_line(&done), None))
            }),
        ))
    }
}

fn row(server: &ServerStatus) -> Item {
    let error = server.error.as_deref().map(|error| format!(" · {}", one_line(error)));
    let about = format!(
        "{} · {} tools · {}{}",
        server.status.word(),
        server.tools.len(),
        server.scope,
        error.unwrap_or_default()
    );
    item(format!("/mcp {}", server.name), &server.name, about)
}

/// One server: what may be done, then its tools.
fn opened(server: &ServerStatus) -> Picker {
    let name = &server.name;
    let mut items = vec![
        item("/mcp", "Leave it as it is", ""),
        item(format!("/mcp reconnect {name}"), "Connect it anew", ""),
        match server.status {
            Status::Disabled => item(format!("/mcp on {name}"), "Switch it on", ""),
            _ => item(format!("/mcp off {name}"), "Switch it off", "for this session"),
        },
    ];
    if server.status == Status::NeedsLogin {
        items.insert(1, item(format!("/mcp login {name}"), "Log in", "in a browser"));
    }
    items.extend(server.tools.iter().map(|tool| item("", tool, "a tool of it")));
    Picker::new(format!("{name}: {}", server.status.word()), items)
}
