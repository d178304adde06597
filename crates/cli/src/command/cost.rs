//! `/cost`: what this session cost so far.

use super::{Command, Meaning, Order};

pub(super) const COMMAND: Command = Command {
    name: "cost",
    hint: "",
    about: "show what the session cost",
    meaning: Meaning::Alone(|| Order::Cost),
};
