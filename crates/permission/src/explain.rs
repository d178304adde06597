//! Which rule or default decided, in words for people and for the model.

use std::collections::BTreeSet;

use crate::command::Doubt;
use crate::demand::Demand;
use crate::display::visible;
use crate::ground::Ground;
use crate::policy::Policy;
use crate::rule::Rule;
use crate::subject::{Access, Matter, Subject};

pub(crate) fn invalid(problem: &str) -> String {
    format!("The call is not valid, so it was not judged: {problem}")
}

pub(crate) fn denied_by_rule(rule: &Rule, part: &str) -> String {
    format!("The deny rule `{rule}` forbids it: it speaks of `{}`.", short(part))
}

pub(crate) fn denied_by_plan() -> String {
    "Plan mode allows nothing that may change anything.".to_owned()
}

pub(crate) fn asked_by_rule(rule: &Rule, part: &str) -> String {
    format!("The ask rule `{rule}` wants a question: it speaks of `{}`.", short(part))
}

pub(crate) fn asked_by_hook(why: &str) -> String {
    format!("A hook wants a question: {why}")
}

pub(crate) fn asks_outside() -> String {
    "It asks to run without the sandbox, with everything the user can reach.".to_owned()
}

pub(crate) fn not_outside() -> String {
    "It asks to run without the sandbox, which may not be left here. Leave out \
     dangerouslyDisableSandbox."
        .to_owned()
}

pub(crate) fn held() -> String {
    "The sandbox holds it, and no rule demands a question.".to_owned()
}

pub(crate) fn needs_a_person(tool: &str) -> String {
    format!("`{tool}` is a question to a person.")
}

pub(crate) fn critical_removal(target: &str) -> String {
    format!("Removing `{}` could remove far too much; that is always asked.", short(target))
}

pub(crate) fn hidden_command(rule: &Rule) -> String {
    format!("What it runs is known only when it runs, so the deny rule `{rule}` cannot be checked.")
}

pub(crate) fn doubtful_command(rule: &Rule, doubt: &Doubt) -> String {
    format!("It is not understood ({}), so the deny rule `{rule}` cannot be checked.", said(doubt))
}

pub(crate) fn perhaps_denied(rule: &Rule, part: &str) -> String {
    format!("The deny rule `{rule}` may speak of `{}`; only running it would tell.", short(part))
}

pub(crate) fn near_address(url: &str) -> String {
    format!(
        "`{}` is on this machine or in this network; that needs a rule that names it.",
        short(url)
    )
}

pub(crate) fn metadata_address(url: &str) -> String {
    format!("`{}` is where machines keep their credentials; it is never fetched.", short(url))
}

pub(crate) fn allowed_by_rule(rule: &Rule) -> String {
    format!("The allow rule `{rule}` covers it.")
}

pub(crate) fn allowed_by_mode(policy: &Policy, is_hook: bool) -> String {
    match is_hook {
        true => "A hook allows it, and no rule demands a question.".to_owned(),
        false => format!("{} mode allows it.", policy.mode.name()),
    }
}

pub(crate) fn allowed_parts(rule: Option<&str>) -> String {
    match rule {
        Some(rule) => {
            format!("Every part is covered; the allow rule `{rule}` is one that was needed.")
        }
        None => "It does nothing that needs a rule.".to_owned(),
    }
}

pub(crate) fn doubt(doubt: &Doubt) -> String {
    format!("it is not understood: {}", said(doubt))
}

fn said(doubt: &Doubt) -> String {
    format!("{}, at `{}`", doubt.why, visible(&short(&doubt.text)))
}

pub(crate) fn part_not_covered(part: &str, why: &str) -> String {
    format!("`{}`: {why}", short(part))
}

/// All of them, each once; of very many the first few.
pub(crate) fn parts_not_covered(mut parts: Vec<String>) -> String {
    let mut known = BTreeSet::new();
    parts.retain(|part| known.insert(part.clone()));
    let more = parts.len().saturating_sub(PARTS_TOLD);
    parts.truncate(PARTS_TOLD);
    let told = parts.join("; ");
    match more {
        0 => told,
        more => format!("{told}; and {more} more"),
    }
}

/// Parts of a command that a question names.
const PARTS_TOLD: usize = 5;

pub(crate) fn protected_place(name: &str) -> String {
    format!(
        "`{name}` is a protected place: what is written there runs or configures something later."
    )
}

/// Why nothing allowed the call, and whether a mode for edits would.
pub(crate) fn no_rule(
    policy: &Policy,
    ground: &Ground<'_>,
    subject: &Subject,
    command: Option<&str>,
) -> (String, bool) {
    let mode = policy.mode.name();
    let (what, is_edit) = match &subject.matter {
        Matter::Command(_) => {
            let why = command.unwrap_or("it may do more than read");
            return (format!("No allow rule covers it, and {mode} mode asks: {why}."), false);
        }
        Matter::File { meant, access } => {
            let path = meant.spelled.display();
            let deed = if *access == Access::Read { "reading" } else { "changing" };
            match ground.is_inside(meant) {
                true => (format!("{deed} `{path}`"), *access == Access::Write),
                false => (format!("{deed} `{path}`, outside the working directories"), false),
            }
        }
        _ => (format!("`{}`", subject.tool), false),
    };
    (format!("No allow rule covers it, and {mode} mode asks before {what}."), is_edit)
}

/// What to do where a question to a person finds none.
fn without_a_person(tool: &str) -> Option<&'static str> {
    match tool {
        "AskUserQuestion" => {
            Some("Nobody can be asked here; decide yourself and say what you assumed.")
        }
        "ExitPlanMode" => {
            Some("The plan stands; nobody can approve it here. Give it as your answer.")
        }
        _ => None,
    }
}

pub(crate) fn answered_itself() -> String {
    "The field `answers` is for whoever is asked. Leave it out.".to_owned()
}

pub(crate) fn dont_ask(subject: &Subject, demand: &Demand, suggestions: &[String]) -> String {
    if let Some(words) = without_a_person(&subject.tool) {
        return words.to_owned();
    }
    format!(
        "{} In dontAsk mode what would be asked is denied.{}",
        demand.why,
        way_out(demand, suggestions)
    )
}

pub(crate) fn nobody_to_ask(subject: &Subject, demand: &Demand, suggestions: &[String]) -> String {
    if let Some(words) = without_a_person(&subject.tool) {
        return words.to_owned();
    }
    format!(
        "{} Nobody can be asked here, so it is denied.{}",
        demand.why,
        way_out(demand, suggestions)
    )
}

/// What would have allowed it.
fn way_out(demand: &Demand, suggestions: &[String]) -> String {
    let mut way = match suggestions.first() {
        Some(rule) if demand.is_default => {
            format!(
                " The allow rule `{rule}` (--allowedTools, or permissions.allow) would allow it"
            )
        }
        _ => return String::new(),
    };
    if demand.is_edit {
        way.push_str("; so would --permission-mode acceptEdits");
    }
    way.push('.');
    way
}

fn short(text: &str) -> String {
    const CHARS_MAX: usize = 200;
    match text.char_indices().nth(CHARS_MAX) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or(text)),
        None => text.to_owned(),
    }
}
