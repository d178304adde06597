//! `/resume [SESSION]`: earlier sessions of this directory, or how to go on with one.

use super::{Command, Meaning, Order, Reach};

pub(super) const COMMAND: Command = Command {
    name: "resume",
    others: &[],
    hint: "[SESSION]",
    about: "list earlier sessions, or say how to go on with one",
    reach: Reach::Everywhere,
    meaning: Meaning::Words(|rest| Ok(Order::Resume((!rest.is_empty()).then(|| rest.to_owned())))),
};
