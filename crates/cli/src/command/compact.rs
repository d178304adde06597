//! `/compact [focus]`: history is made shorter now, with a view to what comes next.

use super::{Command, Meaning, Order, Reach};

pub(super) const COMMAND: Command = Command {
    name: "compact",
    others: &[],
    hint: "[FOCUS]",
    about: "make history shorter, perhaps with a view to something",
    reach: Reach::Everywhere,
    meaning: Meaning::Words(|rest| Ok(Order::Compact((!rest.is_empty()).then(|| rest.to_owned())))),
};
