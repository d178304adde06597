//! `/clear`: what was said is forgotten, and another session goes on from here.

use super::{Command, Meaning, Order, Reach};

pub(super) const COMMAND: Command = Command {
    name: "clear",
    others: &["new", "reset"],
    hint: "",
    about: "forget what was said and begin anew; the session that was is kept",
    reach: Reach::Everywhere,
    meaning: Meaning::Alone(|| Order::Clear),
};
