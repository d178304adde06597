//! `/cost`: what this session cost so far.

use super::{Command, Order, alone};

pub(super) const COMMAND: Command = Command {
    name: "cost",
    hint: "",
    about: "show what the session cost",
    order: |rest| alone("cost", rest, Order::Cost),
};
