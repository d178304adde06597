//! `/context`: what fills the window of this session.

use super::{Command, Meaning, Order};

pub(super) const COMMAND: Command = Command {
    name: "context",
    hint: "",
    about: "show what fills the window",
    meaning: Meaning::Alone(|| Order::Context),
};
