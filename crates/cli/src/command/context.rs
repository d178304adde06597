//! `/context`: what fills the window of this session.

use super::{Command, Order, alone};

pub(super) const COMMAND: Command = Command {
    name: "context",
    hint: "",
    about: "show what fills the window",
    order: |rest| alone("context", rest, Order::Context),
};
