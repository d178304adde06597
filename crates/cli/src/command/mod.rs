//! Prompts that are for us and not for the model: `/name` and perhaps more words. One file each.
//!
//! A prompt is a command only if its first word is the name of one, with the slash; everything else
//! goes to the model untouched, also what merely begins with a path.

mod clear;
mod compact;
mod context;
mod cost;
mod init;
mod pin;
mod resume;
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
    /// Look again at the call that was put off.
    TakeUp,
    /// Forget what was said, and begin another session.
    Clear,
    /// Show earlier sessions, or how to go on with one.
    Resume(Option<String>),
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
        matches!(self, Self::Context | Self::Cost | Self::Resume(_) | Self::Show { .. })
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
    meaning: Meaning,
}

/// What is made of the words after a name.
enum Meaning {
    /// Shows what is in force; takes no words.
    Show(Topic),
    /// Always the same; takes no words.
    Alone(fn() -> Order),
    /// Depends on the words.
    Words(fn(&str) -> Result<Order, Refusal>),
}

impl Command {
    fn order(&self, rest: &str) -> Result<Order, Refusal> {
        let alone = |order| match rest.is_empty() {
            true => Ok(order),
            false => Err(Refusal::usage(format!(
                "/{} takes no words after it; leave them out",
                self.name
            ))),
        };
        match &self.meaning {
            Meaning::Show(topic) => alone(Order::Show { topic: *topic, text: String::new() }),
            Meaning::Alone(order) => alone(order()),
            Meaning::Words(order) => order(rest),
        }
    }
}

/// All there are.
pub(crate) const ALL: &[Command] = &[
    Topic::Agents.command(),
    clear::COMMAND,
    compact::COMMAND,
    context::COMMAND,
    cost::COMMAND,
    Topic::Help.command(),
    Topic::Hooks.command(),
    init::COMMAND,
    Topic::Memory.command(),
    Topic::Model.command(),
    Topic::Permissions.command(),
    pin::COMMAND,
    resume::COMMAND,
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
    let name = first.strip_prefix('/').map(|name| match name {
        // What others call it.
        "reset" | "new" => "clear",
        name => name,
    });
    match ALL.iter().find(|command| name == Some(command.name)) {
        Some(command) => command.order(rest.trim()),
        None => Ok(Order::Say(Submission::from(prompt))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_people_expect_is_there_once_and_in_order() {
        let expected = [
            "agents",
            "clear",
            "compact",
            "context",
            "cost",
            "help",
            "hooks",
            "init",
            "memory",
            "model",
            "permissions",
            "pin",
            "resume",
            "rewind",
        ];
        assert_eq!(names().collect::<Vec<_>>(), expected);
        assert!(ALL.iter().all(|command| !command.about.is_empty()));
    }

    #[test]
    fn only_the_name_of_a_command_is_one() {
        let say = |text: &str| Order::Say(Submission::from(text));
        let cases = [
            ("/compact", Order::Compact(None)),
            ("  /compact  the tests ", Order::Compact(Some("the tests".to_owned()))),
            ("/context", Order::Context),
            ("/cost\n", Order::Cost),
            ("/clear", Order::Clear),
            ("/new", Order::Clear),
            ("/resume", Order::Resume(None)),
            ("/resume 1234", Order::Resume(Some("1234".to_owned()))),
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
        for wrong in ["/context now", "/pin", "/cost all", "/clear it", "/help me"] {
            assert!(order(wrong.to_owned()).is_err(), "{wrong}");
        }
    }
}
