//! Questions that no allow rule and no hook can answer.

use windlass_vocabulary::Mode;

use crate::command::{Part, reading, removes_critical};
use crate::decide::Opinion;
use crate::explain;
use crate::policy::Policy;
use crate::protected::{protected_name, protected_word};
use crate::rule::Rule;
use crate::scope::Does;
use crate::subject::{Access, Matter, Subject};

/// Why somebody must be asked.
#[derive(Debug)]
pub(crate) struct Demand {
    pub(crate) why: String,
    /// A rule could answer it for good.
    pub(crate) is_default: bool,
    /// It is an edit that a mode would allow.
    pub(crate) is_edit: bool,
}

impl Demand {
    pub(crate) fn by_default((why, is_edit): (String, bool)) -> Self {
        Self { why, is_default: true, is_edit }
    }

    fn always(why: String) -> Self {
        Self { why, is_default: false, is_edit: false }
    }
}

/// The demand on this call, if there is one.
pub(crate) fn demand(policy: &Policy, subject: &Subject, opinion: Opinion) -> Option<Demand> {
    let touched = |rule: &Rule| {
        let part = rule.touches(subject, policy.cwd(), Does::Ask)?;
        Some(explain::asked_by_rule(rule, &part))
    };
    if let Some(why) = policy.rules.ask.iter().find_map(touched) {
        return Some(Demand::always(why));
    }
    if let Opinion::Ask(why) = opinion {
        return Some(Demand::always(explain::asked_by_hook(&why)));
    }
    if NEEDS_A_PERSON.contains(&subject.tool.as_str()) {
        return Some(Demand::always(explain::needs_a_person(&subject.tool)));
    }
    if let Matter::Command(command) = &subject.matter {
        if let Some(target) = removes_critical(&command.parts, &policy.directories) {
            return Some(Demand::always(explain::critical_removal(&target)));
        }
        let speaks_of_commands = |rule: &&Rule| rule.tool == "Bash" && rule.content.is_some();
        if command.parts.has_hidden
            && let Some(rule) = policy.rules.deny.iter().find(speaks_of_commands)
        {
            return Some(Demand::always(explain::hidden_command(rule)));
        }
    }
    // With everything waved through and nobody there, the user has said yes to this as well.
    if policy.mode == Mode::BypassPermissions && !policy.can_ask {
        return None;
    }
    protected(subject).map(|name| Demand::always(explain::protected_place(name)))
}

/// Tools that are a question to a person themselves.
const NEEDS_A_PERSON: &[&str] = &["AskUserQuestion", "ExitPlanMode"];

fn protected(subject: &Subject) -> Option<&'static str> {
    match &subject.matter {
        Matter::File { path, access: Access::Write } => protected_name(path),
        Matter::Command(command) => command.parts.commands.iter().find_map(protected_part),
        _ => None,
    }
}

/// A command that can only read may name what it likes; any other may not name such a place.
fn protected_part(part: &Part) -> Option<&'static str> {
    let words: Vec<String> = part.words.iter().map(|word| word.text.clone()).collect();
    let named = if reading(&words).is_some() { None } else { part.words.get(1..) };
    part.writes.iter().chain(named.unwrap_or_default()).find_map(|word| protected_word(&word.text))
}
