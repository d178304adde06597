//! `/context`: what fills the window of this session.

use super::{Command, Meaning, Order, Reach};

pub(super) const COMMAND: Command = Command {
    name: "context",
    others: &[],
    hint: "",
    about: "show what fills the window",
    reach: Reach::Everywhere,
    meaning: Meaning::Alone(|| Order::Context),
};
