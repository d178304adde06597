//! Lists a person goes through: what is in force, and what may be done about it. Each row stands for a
//! command of the one table, so everything a list does can be typed too. What changes a file asks
//! first, with no as the first answer.

mod agents;
mod hooks;
mod memory;
mod models;
mod permissions;
mod servers;

use windlass_terminal::{Item, Order as Meant, Picker};

use super::desk::Desk;
use super::looks;
use crate::command::{Act, Topic};
use crate::refusal::Refusal;

pub(super) use hooks::Heard;

impl Desk {
    /// What is in force, to look at and to change.
    pub(super) async fn screen(&self, topic: Topic) -> Result<Meant, Refusal> {
        match topic {
            Topic::Help => Ok(Meant::Fit(super::help::words(&self.hints()).to_vec())),
            Topic::Permissions => self.rules(),
            Topic::Hooks => Ok(Meant::Pick(self.hook_list().await)),
            Topic::Servers => Ok(Meant::Pick(self.server_list())),
            Topic::Agents => Ok(Meant::Pick(self.agent_list())),
            Topic::Memory => Ok(Meant::Pick(self.memory_list().await)),
            Topic::Model => Ok(Meant::Pick(self.model_list().await)),
        }
    }

    /// Does what a person wants done.
    pub(super) async fn act(&self, act: Act) -> Result<Meant, Refusal> {
        match act {
            Act::Leave => Ok(Meant::Quit),
            Act::Vim => Ok(Meant::Vim),
            Act::Theme(name) => theme(name.as_deref()),
            Act::Model(name) => self.model(&name).await,
            Act::Rules(act) => self.rule_act(act).await,
            Act::Hook(number, is_on) => self.switch_hook(number, is_on).await,
            Act::Server(act, name) => self.server_act(act, &name).await,
            Act::NewAgent(None) => Ok(self.ask_agent()),
            Act::NewAgent(Some(name)) => self.new_agent(&name),
            Act::EditAgent(name) => self.edit_agent(&name),
            Act::ShowMemory => self.show_memory().await,
            Act::EditMemory(path) => self.edit_memory(&path),
        }
    }
}

fn theme(name: Option<&str>) -> Result<Meant, Refusal> {
    match name {
        None => {
            let row = |name: &str| item(format!("/theme {name}"), name, "");
            let items = ["auto", "dark", "light", "plain"].map(row).to_vec();
            Ok(Meant::Pick(Picker::new("Which colours?", items)))
        }
        Some("auto") => Ok(Meant::Theme(None)),
        Some(name) => {
            let theme = looks::theme(name);
            let wrong = || Refusal::usage("/theme takes auto, light, dark or plain");
            theme.ok_or_else(wrong).map(|theme| Meant::Theme(Some(theme)))
        }
    }
}

/// A row; one that stands for no command is only there to be read.
fn item(value: impl Into<String>, label: impl Into<String>, about: impl Into<String>) -> Item {
    Item { value: value.into(), label: label.into(), about: about.into() }
}

/// The environment, as everything here looks into it.
fn environment(name: &str) -> Option<std::ffi::OsString> {
    std::env::var_os(name)
}
