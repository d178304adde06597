//! `/init`: asks the model to look at the project and write down what a newcomer must know.

use windlass_driver::Submission;

use super::{Command, Meaning, Order, Reach};

pub(super) const COMMAND: Command = Command {
    name: "init",
    others: &[],
    hint: "",
    about: "look at the project and write AGENTS.md for those who come after",
    reach: Reach::Everywhere,
    meaning: Meaning::Alone(|| Order::Say(Submission::from(INIT))),
};

const INIT: &str = include_str!("../text/init.md").trim_ascii_end();
