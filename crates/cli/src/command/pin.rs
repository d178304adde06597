//! `/pin TEXT`: said to the model like any prompt, and never left out when history is made shorter.

use windlass_driver::Submission;

use super::{Command, Meaning, Order, Reach};
use crate::refusal::Refusal;

pub(super) const COMMAND: Command = Command {
    name: "pin",
    others: &[],
    hint: "TEXT",
    about: "say something that is never left out when history is made shorter",
    reach: Reach::Everywhere,
    meaning: Meaning::Words(|rest| match rest.is_empty() {
        true => Err(Refusal::usage("/pin needs the text to keep: -p \"/pin never push to main\"")),
        false => Ok(Order::Say(Submission::from(rest).pinned())),
    }),
};
