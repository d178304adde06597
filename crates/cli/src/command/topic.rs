//! Prompts that ask what is in force. The words are found where the session is put together; see
//! `InForce` in the room of that name.

use super::{Command, Meaning};

/// What is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Topic {
    /// Agents that may be started.
    Agents,
    /// Commands that may be typed.
    Help,
    /// Programs that are asked at fixed moments.
    Hooks,
    /// Instructions that were read.
    Memory,
    /// Which model is asked.
    Model,
    /// What may run.
    Permissions,
}

impl Topic {
    /// The command's name.
    pub(crate) fn name(self) -> &'static str {
        self.command().name
    }

    /// The command that asks about it.
    pub(super) const fn command(self) -> Command {
        let (name, about) = match self {
            Self::Agents => ("agents", "list the agents that may be started"),
            Self::Help => ("help", "list the commands that may be typed"),
            Self::Hooks => ("hooks", "list the hooks that are in force"),
            Self::Memory => ("memory", "show the standing instructions that were read"),
            Self::Model => ("model", "show which model is asked, and who stands in for it"),
            Self::Permissions => ("permissions", "show the rules that are in force"),
        };
        Command { name, hint: "", about, meaning: Meaning::Show(self) }
    }
}
