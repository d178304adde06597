//! `/clear`: what was said is forgotten, and another session goes on from here.

use super::{Command, Meaning, Order};

pub(super) const COMMAND: Command = Command {
    name: "clear",
    hint: "",
    about: "forget what was said and begin anew; the session that was is kept",
    meaning: Meaning::Alone(|| Order::Clear),
};
