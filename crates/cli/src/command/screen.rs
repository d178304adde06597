//! Commands about the terminal itself: `/exit`, `/theme`, `/vim`.

use super::{Act, Command, Meaning, Order, Reach};

pub(super) const EXIT: Command = Command {
    name: "exit",
    others: &["quit"],
    hint: "",
    about: "end the session; Ctrl-D does too",
    reach: Reach::Terminal,
    meaning: Meaning::Alone(|| Order::Act(Act::Leave)),
};

pub(super) const THEME: Command = Command {
    name: "theme",
    others: &[],
    hint: "[NAME]",
    about: "change the colours",
    reach: Reach::Terminal,
    meaning: Meaning::Words(|rest| {
        Ok(Order::Act(Act::Theme((!rest.is_empty()).then(|| rest.to_owned()))))
    }),
};

pub(super) const VIM: Command = Command {
    name: "vim",
    others: &[],
    hint: "",
    about: "keys as in vim, or no longer",
    reach: Reach::Terminal,
    meaning: Meaning::Alone(|| Order::Act(Act::Vim)),
};
