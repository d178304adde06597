//! Prompts that ask what is in force: which commands, instructions, rules, agents and model. The
//! words are found where the session is put together; see `compose`.

use super::{Command, Order, alone};

/// What is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Topic {
    /// Agents that may be started.
    Agents,
    /// Commands that may be typed.
    Help,
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
        match self {
            Self::Agents => "agents",
            Self::Help => "help",
            Self::Memory => "memory",
            Self::Model => "model",
            Self::Permissions => "permissions",
        }
    }
}

pub(super) const AGENTS: Command = Command {
    name: "agents",
    hint: "",
    about: "list the agents that may be started",
    order: |rest| asked(Topic::Agents, rest),
};
pub(super) const HELP: Command = Command {
    name: "help",
    hint: "",
    about: "list the commands that may be typed",
    order: |rest| asked(Topic::Help, rest),
};
pub(super) const MEMORY: Command = Command {
    name: "memory",
    hint: "",
    about: "show the standing instructions that were read",
    order: |rest| asked(Topic::Memory, rest),
};
pub(super) const MODEL: Command = Command {
    name: "model",
    hint: "",
    about: "show which model is asked, and who stands in for it",
    order: |rest| asked(Topic::Model, rest),
};
pub(super) const PERMISSIONS: Command = Command {
    name: "permissions",
    hint: "",
    about: "show the rules that are in force",
    order: |rest| asked(Topic::Permissions, rest),
};

fn asked(topic: Topic, rest: &str) -> Result<Order, super::Refusal> {
    alone(topic.name(), rest, Order::Show { topic, text: String::new() })
}
