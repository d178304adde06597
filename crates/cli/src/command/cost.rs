//! `/cost`: what this session cost so far.

use super::{Command, Meaning, Order, Reach};

pub(super) const COMMAND: Command = Command {
    name: "cost",
    others: &[],
    hint: "",
    about: "show what the session cost",
    reach: Reach::Everywhere,
    meaning: Meaning::Alone(|| Order::Cost),
};
