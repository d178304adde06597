//! `/compact [focus]`: history is made shorter now, with a view to what comes next.

use super::{Command, Meaning, Order};

pub(super) const COMMAND: Command = Command {
    name: "compact",
    hint: "[FOCUS]",
    about: "make history shorter, perhaps with a view to something",
    meaning: Meaning::Words(|rest| Ok(Order::Compact((!rest.is_empty()).then(|| rest.to_owned())))),
};
