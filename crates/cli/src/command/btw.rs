//! `/btw QUESTION`: answered beside the conversation, which never hears of it.

use super::{Command, Meaning, Order, Reach};
use crate::refusal::Refusal;

pub(super) const COMMAND: Command = Command {
    name: "btw",
    others: &[],
    hint: "QUESTION",
    about: "ask something beside the conversation; it is not kept",
    reach: Reach::Everywhere,
    meaning: Meaning::Words(|rest| match rest.is_empty() {
        true => Err(Refusal::usage("/btw needs a question: /btw why two crates?")),
        false => Ok(Order::Aside(rest.to_owned())),
    }),
};
