//! Prompts that are for us and not for the model: `/name` and perhaps more words. One file each.
//!
//! A prompt is a command only if its first word is the name of one, with the slash; everything else
//! goes to the model untouched, also what merely begins with a path.

mod compact;
mod context;
mod cost;
mod init;
mod pin;
mod rewind;
mod topic;

use windlass_driver::Submission;

use crate::refusal::Refusal;
use crate::subcommand::rewind::Wanted;
pub(crate) use topic::Topic;

/// What a prompt asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Say this to the model.
    Say(Submission),
    /// Make history shorter, with a view to something.
    Compact(Option<String>),
    /// Show what fills the window.
    Context,
    /// Show what the session cost.
    Cost,
    /// Go on with the run that did not come to its end.
    GoOn,
    /// Go back to an earlier prompt.
    Rewind(Wanted),
    /// Show what is in force; the words are found when everything else is.
    Show {
        /// What is asked about.
        topic: Topic,
        /// What there is to say.
        text: String,
    },
}

impl Order {
    /// Does it need a session in which something was said?
    pub(crate) fn needs_history(&self) -> bool {
        matches!(self, Self::Compact(_) | Self::Cost | Self::GoOn | Self::Rewind(_))
    }

    /// Is nothing said or changed by it?
    pub(crate) fn only_looks(&self) -> bool {
        matches!(self, Self::Context | Self::Cost | Self::Show { .. })
    }

    /// Is no model asked?
    pub(crate) fn asks_nobody(&self) -> bool {
        self.only_looks() || matches!(self, Self::Rewind(_))
    }
}

/// A command: its name, and what is made of the words after it.
pub(crate) struct Command {
    /// Without the slash.
    pub(crate) name: &'static str,
    /// What may be written after it.
    pub(crate) hint: &'static str,
    /// What it does, in a line.
    pub(crate) about: &'static str,
    order: fn(&str) -> Result<Order, Refusal>,
}

/// All there are.
pub(crate) const ALL: &[Command] = &[
    topic::AGENTS,
    compact::COMMAND,
    context::COMMAND,
    cost::COMMAND,
    topic::HELP,
    init::COMMAND,
    topic::MEMORY,
    topic::MODEL,
    topic::PERMISSIONS,
    pin::COMMAND,
    rewind::COMMAND,
];

/// Their names.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|command| command.name)
}

/// What is meant by a prompt.
pub(crate) fn order(prompt: String) -> Result<Order, Refusal> {
    let text = prompt.trim_start();
    let (first, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let name = first.strip_prefix('/');
    match ALL.iter().find(|command| name == Some(command.name)) {
        Some(command) => (command.order)(rest.trim()),
        None => Ok(Order::Say(Submission::from(prompt))),
    }
}

/// Some commands take no words.
fn alone(name: &str, rest: &str, order: Order) -> Result<Order, Refusal> {
    match rest.is_empty() {
        true => Ok(order),
        false => Err(Refusal::usage(format!("/{name} takes no words after it; leave them out"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_name_of_a_command_is_one() {
        let say = |text: &str| Order::Say(Submission::from(text));
        let cases = [
            ("/compact", Order::Compact(None)),
            ("  /compact  the tests ", Order::Compact(Some("the tests".to_owned()))),
            ("/context", Order::Context),
            ("/cost\n", Order::Cost),
            ("/pin never push", Order::Say(Submission::from("never push").pinned())),
            ("/etc/hosts says what?", say("/etc/hosts says what?")),
            ("/compactor", say("/compactor")),
            ("/contexts of it", say("/contexts of it")),
            ("compact", say("compact")),
            ("/ compact", say("/ compact")),
            ("", say("")),
        ];
        for (prompt, meant) in cases {
            assert_eq!(order(prompt.to_owned()).unwrap(), meant, "{prompt}");
        }
        for wrong in ["/context now", "/pin", "/cost all"] {
            assert!(order(wrong.to_owned()).is_err(), "{wrong}");
        }
    }
}
