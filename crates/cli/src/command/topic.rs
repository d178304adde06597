//! Prompts that ask what is in force, and may have something done about it. The words are found where
//! the session is put together; see `InForce` in the room of that name.

use super::{Act, Command, Meaning, Reach, act};

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
    /// MCP servers.
    Servers,
}

impl Topic {
    /// The command's name.
    pub(crate) fn name(self) -> &'static str {
        self.command().name
    }

    /// The command that asks about it.
    pub(super) const fn command(self) -> Command {
        let (name, about) = match self {
            Self::Agents => ("agents", "show the agents there are, or write one"),
            Self::Help => ("help", "list the commands that may be typed"),
            Self::Hooks => ("hooks", "show the hooks in force"),
            Self::Servers => ("mcp", "show how it stands with each MCP server"),
            Self::Memory => ("memory", "show the standing instructions that were read"),
            Self::Model => ("model", "show or choose which model is asked"),
            Self::Permissions => ("permissions", "show and change the rules in force"),
        };
        let (hint, meaning) = match self {
            Self::Help => ("", Meaning::Show(self)),
            Self::Agents => ("[new|edit NAME]", Meaning::Topic(self, act::agent)),
            Self::Hooks => ("[on|off NUMBER]", Meaning::Topic(self, act::hook)),
            Self::Servers => ("[NAME]", Meaning::Topic(self, |rest| Ok(act::server(rest)))),
            Self::Memory => ("[edit FILE]", Meaning::Topic(self, act::memory)),
            Self::Model => ("[NAME]", Meaning::Topic(self, |rest| Ok(Act::Model(rest.to_owned())))),
            Self::Permissions => ("[check COMMAND]", Meaning::Topic(self, act::rules)),
        };
        Command { name, others: &[], hint, about, reach: Reach::Everywhere, meaning }
    }
}
