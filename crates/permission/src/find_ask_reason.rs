//! Reasons to ask that no allow rule and no hook can answer.

use serde_json::Value;
use windlass_vocabulary::PermissionMode;

use crate::ask_reason::AskReason;
use crate::call_subject::{CallSubject, CallSubjectKind};
use crate::explain;
use crate::fetch_target::HostReach;
use crate::file_system_view::PathAccess;
use crate::policy::Policy;
use crate::prior_decision::PriorDecision;
use crate::protected_paths::{find_protected_name, find_protected_name_in_word};
use crate::rule::Rule;
use crate::rule_match::RestrictionKind;
use crate::sandbox_escape::{SandboxEscape, classify_sandbox_escape};
use crate::shell_command::{
    ParsedCommandLine, ShellWord, SimpleCommand, check_read_only, find_critical_removal,
    find_protected_backup, find_protected_glob_match,
};
use crate::workspace_roots::WorkspaceRoots;

/// The reason for this call, if there is one.
pub(crate) fn find_ask_reason(
    policy: &Policy,
    roots: &WorkspaceRoots<'_>,
    subject: &CallSubject,
    names: &[&str],
    perhaps: Option<(&Rule, String)>,
    prior: PriorDecision,
) -> Option<AskReason> {
    if prior == PriorDecision::Answered {
        return None;
    }
    let root = policy.root();
    let asked = |rule: &Rule| {
        let matched = rule.match_call(subject, root, RestrictionKind::Ask, names)?;
        Some(AskReason::from_rule(rule, explain::describe_ask_rule(rule, &matched.what)))
    };
    if let Some(reason) = policy.rules.ask.iter().find_map(asked) {
        return Some(reason);
    }
    if let PriorDecision::Ask(why) = prior {
        return Some(AskReason::without_rule(explain::describe_hook_question(&why)));
    }
    if needs_user(policy, subject) {
        return Some(AskReason::without_rule(explain::describe_user_question(&subject.tool)));
    }
    if classify_sandbox_escape(policy, subject) == SandboxEscape::Requested {
        return Some(AskReason::without_rule(explain::describe_sandbox_escape()));
    }
    if let CallSubjectKind::Command(command) = &subject.kind
        && let Some(reason) = find_command_ask_reason(policy, roots, command)
    {
        return Some(reason);
    }
    if let Some((rule, what)) = perhaps {
        return Some(AskReason::from_rule(rule, explain::describe_possible_denial(rule, &what)));
    }
    if let CallSubjectKind::Address(target) = &subject.kind
        && matches!(target.reach(), HostReach::Private | HostReach::Reserved)
        && policy.mode != PermissionMode::BypassPermissions
    {
        let names = |rule: &Rule| {
            let content = rule.content.as_deref().filter(|_| rule.tool == "WebFetch");
            content.is_some_and(|content| target.is_named_by(content))
        };
        if !policy.rules.allow.iter().any(names) {
            return Some(AskReason::without_rule(explain::describe_private_address(&target.url)));
        }
    }
    find_protected_target(subject, roots)
        .map(|name| AskReason::without_rule(explain::describe_protected_path(name)))
}

fn find_command_ask_reason(
    policy: &Policy,
    roots: &WorkspaceRoots<'_>,
    command: &ParsedCommandLine,
) -> Option<AskReason> {
    if let Some(target) =
        find_critical_removal(&command.script, &policy.directories, roots.file_system)
    {
        return Some(AskReason::without_rule(explain::describe_critical_removal(&target)));
    }
    let mentioned = |rule: &&Rule| {
        let first = rule.content.as_deref().filter(|_| rule.tool == "Bash");
        let first = first.and_then(|text| text.split([' ', ':', '*']).next());
        first.is_some_and(|name| command.script.mentions.contains(&name.to_lowercase()))
    };
    if let Some(rule) = policy.rules.deny.iter().find(mentioned) {
        return Some(AskReason::from_rule(
            rule,
            explain::describe_possible_denial(rule, &command.text),
        ));
    }
    let speaks_of_commands = |rule: &&Rule| rule.tool == "Bash" && rule.content.is_some();
    let is_hidden = command.script.has_hidden || !command.script.is_understood();
    let rule = policy.rules.deny.iter().find(speaks_of_commands).filter(|_| is_hidden)?;
    let why = match command.script.doubts.first() {
        Some(doubt) => explain::describe_doubtful_command(rule, doubt),
        None => explain::describe_hidden_command(rule),
    };
    Some(AskReason::from_rule(rule, why))
}

/// Is the call itself a question to the user? A user who approves everything approves every plan,
/// but has not said what to answer.
fn needs_user(policy: &Policy, subject: &CallSubject) -> bool {
    match subject.tool.as_str() {
        "AskUserQuestion" => true,
        "ExitPlanMode" => policy.mode != PermissionMode::BypassPermissions,
        _ => false,
    }
}

/// Does the call already contain the answers that only the user can give?
pub(crate) fn answers_itself(subject: &CallSubject) -> bool {
    let is_something = |value: &Value| match value {
        Value::Null => false,
        Value::Object(fields) => !fields.is_empty(),
        _ => true,
    };
    subject.tool == "AskUserQuestion" && subject.fields.get("answers").is_some_and(is_something)
}

fn find_protected_target(
    subject: &CallSubject,
    roots: &WorkspaceRoots<'_>,
) -> Option<&'static str> {
    match &subject.kind {
        CallSubjectKind::File { path: resolved, access: PathAccess::Write } => {
            resolved.both_paths().find_map(find_protected_name)
        }
        CallSubjectKind::Command(command) => {
            let parts = &command.script.parts;
            let by_words = parts.iter().find_map(find_protected_argument);
            by_words
                .or_else(|| find_protected_written_file(command))
                .or_else(|| parts.iter().find_map(|part| find_protected_match(part, roots)))
                .or_else(|| parts.iter().find_map(find_protected_backup))
        }
        CallSubjectKind::File { access: PathAccess::Read, .. }
        | CallSubjectKind::Address(_)
        | CallSubjectKind::Name(_)
        | CallSubjectKind::Other
        | CallSubjectKind::Unreadable => None,
    }
}

/// A read-only command may name any path; others may not name a protected one.
pub(crate) fn find_protected_argument(part: &SimpleCommand) -> Option<&'static str> {
    list_changeable_words(part).find_map(|word| find_protected_name_in_word(&word.text))
}

/// A pattern that a protected file matches.
fn find_protected_match(part: &SimpleCommand, roots: &WorkspaceRoots<'_>) -> Option<&'static str> {
    list_changeable_words(part)
        .find_map(|word| find_protected_glob_match(word, &part.working_directories, roots))
}

/// Words that may name a file that the part changes.
fn list_changeable_words(part: &SimpleCommand) -> impl Iterator<Item = &ShellWord> {
    let named = match check_read_only(part) {
        Some(_) => &[],
        None if is_git_staging(part) => &[],
        None => part.words.get(1..).unwrap_or_default(),
    };
    let written = part.redirects.iter().filter(|r| r.access == PathAccess::Write);
    written.map(|redirect| &redirect.target).chain(named)
}

/// Does git only stage the files that it names?
fn is_git_staging(part: &SimpleCommand) -> bool {
    let word = |at: usize| part.words.get(at).map(|word| word.text.as_str());
    word(0) == Some("git") && matches!(word(1), Some("add" | "commit"))
}

/// A written file may be in such a place through a symlink, or because of the shell's directory.
fn find_protected_written_file(command: &ParsedCommandLine) -> Option<&'static str> {
    let reads =
        |at: usize| command.script.parts.get(at).is_some_and(|p| check_read_only(p).is_some());
    let written = command.files.iter().filter(|file| file.access == PathAccess::Write);
    let mut directories = written.filter(|file| !reads(file.part)).flat_map(|file| &file.paths);
    directories.find_map(|resolved| resolved.both_paths().find_map(find_protected_name))
}
