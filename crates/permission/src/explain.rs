//! Which rule or default decided, in words for people and for the model.

use windlass_vocabulary::Mode;

use crate::demand::Demand;
use crate::path::is_inside;
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

pub(crate) fn needs_a_person(tool: &str) -> String {
    format!("`{tool}` is a question to a person.")
}

pub(crate) fn critical_removal(target: &str) -> String {
    format!("Removing `{}` could remove far too much; that is always asked.", short(target))
}

pub(crate) fn hidden_command(rule: &Rule) -> String {
    format!("What it runs is known only when it runs, so the deny rule `{rule}` cannot be checked.")
}

pub(crate) fn protected_place(name: &str) -> String {
    format!(
        "`{name}` is a protected place: what is written there runs or configures something later."
    )
}

/// Why nothing allowed the call, and whether a mode for edits would.
pub(crate) fn no_rule(policy: &Policy, subject: &Subject) -> (String, bool) {
    let mode = mode_name(policy.mode);
    let is_inside = |path| is_inside(path, &policy.directories);
    let (what, is_edit) = match &subject.matter {
        Matter::Command(command) if command.words.is_none() => {
            ("commands with operators, expansions or unknown variables".to_owned(), false)
        }
        Matter::Command(_) => {
            ("commands that may do more than read in the working directories".to_owned(), false)
        }
        Matter::File { path, access: Access::Read } if !is_inside(path) => {
            (format!("reading `{}`, outside the working directories", path.display()), false)
        }
        Matter::File { path, access: Access::Write } if !is_inside(path) => {
            (format!("changing `{}`, outside the working directories", path.display()), false)
        }
        Matter::File { path, access: Access::Write } => {
            (format!("changing `{}`", path.display()), true)
        }
        _ => (format!("`{}`", subject.tool), false),
    };
    (format!("No allow rule covers it, and {mode} mode asks before {what}."), is_edit)
}

pub(crate) fn dont_ask(demand: &Demand, suggestions: &[String]) -> String {
    format!(
        "{} In dontAsk mode what would be asked is denied.{}",
        demand.why,
        way_out(demand, suggestions)
    )
}

pub(crate) fn nobody_to_ask(demand: &Demand, suggestions: &[String]) -> String {
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

fn mode_name(mode: Mode) -> &'static str {
    match mode {
        Mode::Default => "default",
        Mode::AcceptEdits => "acceptEdits",
        Mode::Plan => "plan",
        Mode::DontAsk => "dontAsk",
        Mode::BypassPermissions => "bypassPermissions",
    }
}

fn short(text: &str) -> String {
    const CHARS_MAX: usize = 200;
    match text.char_indices().nth(CHARS_MAX) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or(text)),
        None => text.to_owned(),
    }
}
