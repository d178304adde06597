//! Explains which rule or default decided, for users and for the model.

use std::collections::BTreeSet;

use crate::ask_reason::AskReason;
use crate::call_subject::{CallSubject, CallSubjectKind};
use crate::command_checker::UncoveredPart;
use crate::file_system_view::PathAccess;
use crate::policy::Policy;
use crate::rule::Rule;
use crate::sanitize::escape_invisible;
use crate::shell_command::{ParseDoubt, RuleGap, ShellWord};
use crate::workspace_roots::WorkspaceRoots;

pub(crate) fn describe_invalid_call(problem: &str) -> String {
    format!("The call is not valid, so it was not judged: {problem}")
}

pub(crate) fn describe_rule_denial(rule: &Rule, part: &str) -> String {
    format!("The deny rule `{rule}` forbids it: it matches `{}`.", truncate_text(part))
}

pub(crate) fn describe_plan_denial() -> String {
    "Plan mode allows nothing that may change anything.".to_owned()
}

pub(crate) fn describe_ask_rule(rule: &Rule, part: &str) -> String {
    format!("The ask rule `{rule}` asks first: it matches `{}`.", truncate_text(part))
}

pub(crate) fn describe_hook_question(why: &str) -> String {
    format!("A hook asks first: {why}")
}

pub(crate) fn describe_missing_snapshot(why: &str) -> String {
    format!("What it changes cannot be taken back, because no snapshot could be taken: {why}.")
}

pub(crate) fn describe_sandbox_escape() -> String {
    "It asks to run without the sandbox, with everything the user can reach.".to_owned()
}

pub(crate) fn describe_refused_sandbox_escape() -> String {
    "It asks to run without the sandbox, which may not be left here. Leave out \
     dangerouslyDisableSandbox."
        .to_owned()
}

pub(crate) fn describe_sandboxed() -> String {
    "It runs in the sandbox, and no rule asks first.".to_owned()
}

pub(crate) fn describe_user_question(tool: &str) -> String {
    format!("`{tool}` asks the user a question.")
}

pub(crate) fn describe_critical_removal(target: &str) -> String {
    format!("Removing `{}` could remove far too much; that is always asked.", truncate_text(target))
}

pub(crate) fn describe_hidden_command(rule: &Rule) -> String {
    format!("What it runs is known only when it runs, so the deny rule `{rule}` cannot be checked.")
}

pub(crate) fn describe_doubtful_command(rule: &Rule, doubt: &ParseDoubt) -> String {
    format!(
        "It is not understood ({}), so the deny rule `{rule}` cannot be checked.",
        render_doubt(doubt)
    )
}

pub(crate) fn describe_possible_denial(rule: &Rule, part: &str) -> String {
    format!(
        "The deny rule `{rule}` may match `{}`; that is known only when it runs.",
        truncate_text(part)
    )
}

pub(crate) fn describe_private_address(url: &str) -> String {
    format!(
        "`{}` is on this machine or in this network; that needs a rule that names it.",
        truncate_text(url)
    )
}

pub(crate) fn describe_metadata_address(url: &str) -> String {
    format!(
        "`{}` is where machines keep their credentials; it is never fetched.",
        truncate_text(url)
    )
}

pub(crate) fn describe_rule_allowance(rule: &Rule) -> String {
    format!("The allow rule `{rule}` covers it.")
}

pub(crate) fn describe_mode_allowance(policy: &Policy, is_hook: bool) -> String {
    match is_hook {
        true => "A hook allows it, and no rule asks first.".to_owned(),
        false => format!("{} mode allows it.", policy.mode.name()),
    }
}

pub(crate) fn describe_covered_parts(rule: Option<&str>) -> String {
    match rule {
        Some(rule) => {
            format!("Every part is covered; the allow rule `{rule}` is one that was needed.")
        }
        None => "It does nothing that needs a rule.".to_owned(),
    }
}

pub(crate) fn describe_doubt(doubt: &ParseDoubt) -> String {
    format!("it is not understood: {}", render_doubt(doubt))
}

fn render_doubt(doubt: &ParseDoubt) -> String {
    format!("{}, at `{}`", doubt.why, escape_invisible(&truncate_text(&doubt.text)))
}

/// Why a matching rule does not cover a command, and which rule would.
pub(crate) fn describe_rule_gap(rule: &Rule, gap: &RuleGap, words: &[ShellWord]) -> UncoveredPart {
    let named = gap.at.and_then(|at| words.get(..=at)).unwrap_or_default();
    let texts: Option<Vec<&str>> = named.iter().map(ShellWord::as_certain).collect();
    let is_plain = |text: &&str| !text.contains([' ', '*', '\'', '"', '\n', '(', ')']);
    let wanted = texts.filter(|texts| !texts.is_empty() && texts.iter().all(is_plain));
    let way = match wanted {
        Some(texts) => format!("; `Bash({}:*)` would", texts.join(" ")),
        None => "; a rule for exactly this command would".to_owned(),
    };
    let why = format!(
        "the allow rule `{rule}` names it but does not cover it, because {}{way}",
        truncate_text(&gap.why)
    );
    UncoveredPart { why, has_rule: true }
}

pub(crate) fn describe_reader_rule(rule: &Rule, why: &str) -> UncoveredPart {
    let why = format!(
        "the allow rule `{rule}` opens what the working directories hold, and {why}; a Read(…) rule \
         for that place would cover it"
    );
    UncoveredPart { why, has_rule: true }
}

pub(crate) fn describe_uncovered_redirect(rule: &str, why: &str) -> UncoveredPart {
    let why = format!(
        "the allow rule `{rule}` covers the command but not where it is redirected: {why}; an \
         Edit(…) or Read(…) rule for that file would"
    );
    UncoveredPart { why, has_rule: true }
}

pub(crate) fn describe_missing_cell() -> String {
    "nothing on this machine can hold it to reading (see `windlass doctor`), and it is not on the \
     short list of what runs unasked then"
        .to_owned()
}

pub(crate) fn describe_denied_inside(rule: &Rule) -> String {
    format!("it may take along or remove a file that the deny rule `{rule}` speaks of")
}

pub(crate) fn describe_followed_link(part: &str) -> String {
    format!(
        "`{}` may write to where a link in its target leads, and nothing on this line is confined",
        truncate_text(part)
    )
}

pub(crate) fn describe_moved_link(file: &str) -> String {
    format!(
        "`{}` may lead elsewhere when another part has moved or copied something there; run it in a \
         command of its own",
        truncate_text(file)
    )
}

pub(crate) fn describe_unhidden_line() -> String {
    "a part of it may read a file that a deny rule hides; run that part alone".to_owned()
}

pub(crate) fn describe_unheld_part(part: &str) -> String {
    format!(
        "`{}` cannot be confined to reading in this command line; run it alone",
        truncate_text(part)
    )
}

pub(crate) fn describe_uncovered_part(part: &str, why: &str) -> String {
    format!("`{}` ({why})", truncate_text(part))
}

/// Joins the parts without duplicates, up to a limit.
pub(crate) fn join_uncovered_parts(mut parts: Vec<String>) -> String {
    let mut known = BTreeSet::new();
    parts.retain(|part| known.insert(part.clone()));
    let more = parts.len().saturating_sub(PARTS_SHOWN_MAX);
    parts.truncate(PARTS_SHOWN_MAX);
    let told = parts.join("; ");
    match more {
        0 => told,
        more => format!("{told}; and {more} more"),
    }
}

/// Limit on the parts that a question names.
const PARTS_SHOWN_MAX: usize = 5;

pub(crate) fn describe_protected_path(name: &str) -> String {
    format!(
        "`{name}` is a protected place: what is written there runs or configures something later."
    )
}

/// Why a command needs a question, and whether an allow rule matches a part of it.
#[derive(Debug)]
pub(crate) struct UncoveredCommand {
    pub(crate) why: String,
    pub(crate) has_rule: bool,
}

/// Why nothing allowed the call, and whether an edit mode would.
pub(crate) fn describe_missing_rule(
    policy: &Policy,
    roots: &WorkspaceRoots<'_>,
    subject: &CallSubject,
    command: Option<UncoveredCommand>,
) -> AskReason {
    let mode = policy.mode.name();
    let (what, is_edit) = match &subject.kind {
        CallSubjectKind::Command(_) => {
            let why = match command {
                Some(UncoveredCommand { why, has_rule: true }) => {
                    format!("An allow rule matches, but {mode} mode asks: {why}.")
                }
                Some(UncoveredCommand { why, has_rule: false }) => {
                    format!("No allow rule covers it, and {mode} mode asks: {why}.")
                }
                None => format!("No allow rule covers it, and {mode} mode asks."),
            };
            return AskReason::from_default(why, false);
        }
        CallSubjectKind::File { path: resolved, access } => {
            let path = resolved.spelled.display();
            let verb = if *access == PathAccess::Read { "reading" } else { "changing" };
            match roots.is_inside(resolved) {
                true => (format!("{verb} `{path}`"), *access == PathAccess::Write),
                false if roots.is_secret(resolved) => {
                    (format!("{verb} `{path}`, a place where keys are kept"), false)
                }
                false => (format!("{verb} `{path}`, outside the working directories"), false),
            }
        }
        CallSubjectKind::Address(_)
        | CallSubjectKind::Name(_)
        | CallSubjectKind::Other
        | CallSubjectKind::Unreadable => (format!("`{}`", subject.tool), false),
    };
    let why = format!("No allow rule covers it, and {mode} mode asks before {what}.");
    AskReason::from_default(why, is_edit)
}

/// What the model should do when no user can be asked.
fn describe_absent_user(tool: &str) -> Option<&'static str> {
    match tool {
        "AskUserQuestion" => {
            Some("Nobody can be asked here; decide yourself and say what you assumed.")
        }
        "ExitPlanMode" => {
            Some("The plan is ready; nobody can approve it here. Give it as your answer.")
        }
        _ => None,
    }
}

pub(crate) fn describe_self_answered_question() -> String {
    "The field `answers` is for the user's answers. Leave it out.".to_owned()
}

pub(crate) fn describe_dont_ask_denial(
    subject: &CallSubject,
    reason: &AskReason,
    suggestions: &[String],
) -> String {
    describe_unasked(subject, reason, suggestions, "In dontAsk mode what would be asked is denied.")
}

pub(crate) fn describe_non_interactive_denial(
    subject: &CallSubject,
    reason: &AskReason,
    suggestions: &[String],
) -> String {
    describe_unasked(subject, reason, suggestions, "Nobody can be asked here, so it is denied.")
}

fn describe_unasked(
    subject: &CallSubject,
    reason: &AskReason,
    suggestions: &[String],
    rule: &str,
) -> String {
    match describe_absent_user(&subject.tool) {
        Some(words) => words.to_owned(),
        None => format!("{} {rule}{}", reason.why, describe_allowing_rule(reason, suggestions)),
    }
}

fn describe_allowing_rule(reason: &AskReason, suggestions: &[String]) -> String {
    let mut way = match suggestions.first() {
        Some(rule) if reason.is_default => {
            format!(
                " The allow rule `{rule}` (--allowedTools, or permissions.allow) would allow it"
            )
        }
        _ => return String::new(),
    };
    if reason.is_edit {
        way.push_str("; so would --permission-mode acceptEdits");
    }
    way.push('.');
    way
}

fn truncate_text(text: &str) -> String {
    const CHARS_MAX: usize = 200;
    match text.char_indices().nth(CHARS_MAX) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or(text)),
        None => text.to_owned(),
    }
}
