//! `/rewind [PROMPT] [files|conversation|both] [dry-run]`: back to an earlier prompt of this session.

use super::{Command, Meaning, Order, Reach};
use crate::subcommand::rewind::parsed;

pub(super) const COMMAND: Command = Command {
    name: "rewind",
    others: &[],
    hint: "[number] [files|conversation|both] [dry-run]",
    about: "go back to before an earlier prompt; without a number, list them",
    reach: Reach::Everywhere,
    meaning: Meaning::Words(|rest| Ok(Order::Rewind(parsed(rest)?))),
};
