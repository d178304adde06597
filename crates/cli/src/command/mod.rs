//! Prompts that are for us and not for the model: `/name` and perhaps more words. One file each.
//!
//! A prompt is a command only if its first word is the name of one, with the slash; everything else
//! goes to the model untouched, also what merely begins with a path.
//!
//! This is the only table: front ends list it, and carry out the [`Order`]s that come of it. What needs
//! a person in front is refused here where there is none.

mod act;
mod btw;
mod clear;
mod compact;
mod context;
mod cost;
mod init;
mod pin;
mod resume;
mod rewind;
mod screen;
mod topic;
mod why;

use windlass_driver::Submission;

use crate::refusal::Refusal;
use crate::subcommand::rewind::Wanted;
pub(crate) use act::{Act, RuleAct, ServerAct, Shelf};
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
    /// Answer a question beside the conversation.
    Aside(String),
    /// Say why the last run went as it did.
    Why,
    /// Do something; only where a person is in front.
    Act(Act),
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
        matches!(self, Self::Compact(_) | Self::Cost | Self::GoOn | Self::Rewind(_) | Self::Why)
    }

    /// Is nothing said or changed by it?
    pub(crate) fn only_looks(&self) -> bool {
        matches!(self, Self::Context | Self::Cost | Self::Resume(_) | Self::Why | Self::Show { .. })
    }

    /// Is no model asked?
    pub(crate) fn asks_nobody(&self) -> bool {
        self.only_looks() || matches!(self, Self::Rewind(_))
    }
}

/// Who reads prompts and shows what comes of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Front {
    /// A person in front of a terminal.
    Terminal,
    /// A program, or somebody who gave one prompt and sees one answer.
    Headless,
}

/// Who can show a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Everybody.
    Everywhere,
    /// A terminal with somebody in front.
    Terminal,
}

/// A command: its name, and what is made of the words after it.
pub(crate) struct Command {
    /// Without the slash.
    pub(crate) name: &'static str,
    /// What others call it.
    pub(crate) others: &'static [&'static str],
    /// What may be written after it.
    pub(crate) hint: &'static str,
    /// What it does, in a line.
    pub(crate) about: &'static str,
    /// Who can show it.
    pub(crate) reach: Reach,
    meaning: Meaning,
}

/// What is made of the words after a name.
enum Meaning {
    /// Shows what is in force; takes no words.
    Show(Topic),
    /// Shows what is in force, or has something done about it.
    Topic(Topic, fn(&str) -> Result<Act, Refusal>),
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
        let show = |topic: &Topic| Order::Show { topic: *topic, text: String::new() };
        match &self.meaning {
            Meaning::Show(topic) => alone(show(topic)),
            Meaning::Topic(topic, _) if rest.is_empty() => Ok(show(topic)),
            Meaning::Topic(_, act) => act(rest).map(Order::Act),
            Meaning::Alone(order) => alone(order()),
            Meaning::Words(order) => order(rest),
        }
    }

    /// Why it cannot be done here, if it cannot.
    fn refused(&self, order: &Order, front: Front) -> Option<Refusal> {
        let name = self.name;
        match (front, order) {
            (Front::Headless, _) if self.reach == Reach::Terminal => Some(Refusal::usage(format!(
                "/{name} is about the terminal, and there is none here; run windlass without -p"
            ))),
            (Front::Headless, Order::Act(_)) => Some(Refusal::usage(format!(
                "/{name} with words changes something and is for a person at a terminal; /{name} \
                 alone shows what there is"
            ))),
            _ => None,
        }
    }
}

/// All there are, by name.
pub(crate) const ALL: &[Command] = &[
    Topic::Agents.command(),
    btw::COMMAND,
    clear::COMMAND,
    compact::COMMAND,
    context::COMMAND,
    cost::COMMAND,
    screen::EXIT,
    Topic::Help.command(),
    Topic::Hooks.command(),
    init::COMMAND,
    Topic::Servers.command(),
    Topic::Memory.command(),
    Topic::Model.command(),
    Topic::Permissions.command(),
    pin::COMMAND,
    resume::COMMAND,
    rewind::COMMAND,
    screen::THEME,
    screen::VIM,
    why::COMMAND,
];

/// Those that can be shown there.
pub(crate) fn shown(front: Front) -> impl Iterator<Item = &'static Command> {
    let is_shown = move |one: &&Command| front == Front::Terminal || one.reach == Reach::Everywhere;
    ALL.iter().filter(is_shown)
}

/// What is meant by a prompt.
pub(crate) fn order(prompt: String, front: Front) -> Result<Order, Refusal> {
    let text = prompt.trim_start();
    let (first, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let is_named = |one: &&Command| {
        let name = first.strip_prefix('/');
        name.is_some_and(|name| name == one.name || one.others.contains(&name))
    };
    let Some(command) = ALL.iter().find(is_named) else {
        return Ok(Order::Say(Submission::from(prompt)));
    };
    let order = command.order(rest.trim())?;
    command.refused(&order, front).map_or(Ok(order), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_people_expect_is_there_once_and_in_order() {
        let expected = [
            "agents",
            "btw",
            "clear",
            "compact",
            "context",
            "cost",
            "exit",
            "help",
            "hooks",
            "init",
            "mcp",
            "memory",
            "model",
            "permissions",
            "pin",
            "resume",
            "rewind",
            "theme",
            "vim",
            "why",
        ];
        let names: Vec<&str> = shown(Front::Terminal).map(|command| command.name).collect();
        assert_eq!(names, expected);
        let others = ALL.iter().flat_map(|command| command.others);
        assert!(others.clone().all(|other| !names.contains(other)));
        let headless: Vec<&str> = shown(Front::Headless).map(|command| command.name).collect();
        assert!(!headless.contains(&"theme") && headless.contains(&"why"));
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
            assert_eq!(order(prompt.to_owned(), Front::Headless).unwrap(), meant, "{prompt}");
        }
        for wrong in ["/context now", "/pin", "/cost all", "/clear it", "/help me"] {
            assert!(order(wrong.to_owned(), Front::Terminal).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_changes_something_is_for_a_person_in_front() {
        let rules = |act| Order::Act(Act::Rules(act));
        let (local, allow) = (Shelf::Local, windlass_settings::RuleList::Allow);
        let rule = || "Bash(git log)".to_owned();
        for (prompt, meant) in [
            ("/quit", Order::Act(Act::Leave)),
            ("/theme", Order::Act(Act::Theme(None))),
            ("/model opus", Order::Act(Act::Model("opus".to_owned()))),
            ("/hooks off 2", Order::Act(Act::Hook(2, false))),
            ("/mcp disk", Order::Act(Act::Server(ServerAct::Open, "disk".to_owned()))),
            ("/mcp off disk", Order::Act(Act::Server(ServerAct::Off, "disk".to_owned()))),
            ("/mcp off", Order::Act(Act::Server(ServerAct::Open, "off".to_owned()))),
            ("/agents new", Order::Act(Act::NewAgent(None))),
            ("/permissions add", rules(RuleAct::Where)),
            ("/permissions add local allow", rules(RuleAct::What(local, allow))),
            (
                "/permissions add local allow Bash(git log)",
                rules(RuleAct::Add(local, allow, rule())),
            ),
            (
                "/permissions remove local allow Bash(git log)",
                rules(RuleAct::Remove(local, allow, rule())),
            ),
            ("/permissions check rm -r x", rules(RuleAct::Check("rm -r x".to_owned()))),
        ] {
            assert_eq!(order(prompt.to_owned(), Front::Terminal).unwrap(), meant, "{prompt}");
            assert!(order(prompt.to_owned(), Front::Headless).is_err(), "{prompt}");
        }
        for wrong in ["/permissions allow Bash", "/permissions add managed allow Bash", "/hooks 1"]
        {
            assert!(order(wrong.to_owned(), Front::Terminal).is_err(), "{wrong}");
        }
    }
}
