//! `/rewind [PROMPT] [files|conversation|both] [dry-run]`: back to an earlier prompt of this session.

use super::{Command, Meaning, Order};
use crate::subcommand::rewind::parsed;

pub(super) const COMMAND: Command = Command {
    name: "rewind",
    hint: "[number] [files|conversation|both] [dry-run]",
    about: "go back to before an earlier prompt; without a number, list them",
    meaning: Meaning::Words(|rest| Ok(Order::Rewind(parsed(rest)?))),
};
