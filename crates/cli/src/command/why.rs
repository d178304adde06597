//! `/why`: how the last decisions came about.

use super::{Command, Meaning, Order, Reach};

pub(super) const COMMAND: Command = Command {
    name: "why",
    others: &[],
    hint: "",
    about: "say why the last run went as it did",
    reach: Reach::Everywhere,
    meaning: Meaning::Alone(|| Order::Why),
};
