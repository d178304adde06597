//! `/resume [SESSION]`: earlier sessions of this directory, or how to go on with one.

use super::{Command, Meaning, Order};

pub(super) const COMMAND: Command = Command {
    name: "resume",
    hint: "[SESSION]",
    about: "list earlier sessions, or say how to go on with one",
    meaning: Meaning::Words(|rest| Ok(Order::Resume((!rest.is_empty()).then(|| rest.to_owned())))),
};
