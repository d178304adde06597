//! Reports each part of a call.

use super::{PartReport, PermissionDecisionKind};
use crate::call_subject::{CallSubject, CallSubjectKind};
use crate::command_checker::{AllowReason, CommandChecker, collect_program_names};
use crate::decide::ExplainedDecision;
use crate::file_system_view::PathAccess;
use crate::find_ask_reason::find_protected_argument;
use crate::policy::Policy;
use crate::rule::Rule;
use crate::rule_match::RestrictionKind;
use crate::sanitize::escape_invisible;
use crate::shell_command::{
    MatchCertainty, ShellWord, SimpleCommand, find_certain_file_words, find_critical_removal,
};
use crate::workspace_roots::WorkspaceRoots;

/// The parts, each with the decision about it alone.
pub(super) fn report_parts(
    policy: &Policy,
    roots: &WorkspaceRoots<'_>,
    subject: &CallSubject,
    said: &ExplainedDecision,
) -> Vec<PartReport> {
    let CallSubjectKind::Command(command) = &subject.kind else {
        return vec![report_whole_call(subject, said)];
    };
    if command.script.parts.len() > PARTS_MAX {
        let effects = vec![format!("{} commands", command.script.parts.len())];
        return vec![PartReport { effects, ..report_whole_call(subject, said) }];
    }
    let names = collect_program_names(command);
    let checker = CommandChecker::new(policy, roots, command);
    let is_whole = matches!(said, ExplainedDecision::Allow { .. });
    let one = |(at, part): (usize, &SimpleCommand)| {
        let (decision, rule) = find_restricting_rule(policy, subject, at, &names)
            .or_else(|| find_unconditional_question(policy, roots, part))
            .unwrap_or_else(|| match checker.check_part(part) {
                Ok(AllowReason::Rule(rule)) => (PermissionDecisionKind::Allow, Some(rule)),
                Ok(_) => (PermissionDecisionKind::Allow, None),
                Err(_) if is_whole || part.is_inner => (PermissionDecisionKind::Allow, None),
                Err(_) => (PermissionDecisionKind::Ask, None),
            });
        PartReport {
            text: escape_invisible(&part.text),
            effects: describe_effects(roots, part),
            decision,
            rule,
        }
    };
    let mut reports: Vec<PartReport> = command.script.parts.iter().enumerate().map(one).collect();
    if let Some(doubt) = command.script.doubts.first() {
        let effects = vec![format!("not understood: {}", doubt.why)];
        let decision =
            if is_whole { PermissionDecisionKind::Allow } else { PermissionDecisionKind::Ask };
        let text = escape_invisible(&doubt.text);
        reports.push(PartReport { text, effects, decision, rule: None });
    }
    reports
}

/// Limit on the reported parts; the decision covers all of them.
const PARTS_MAX: usize = 200;

/// A call without parts is reported as one.
fn report_whole_call(subject: &CallSubject, said: &ExplainedDecision) -> PartReport {
    let (decision, rule) = match said {
        ExplainedDecision::Allow { rule, .. } => (PermissionDecisionKind::Allow, rule.clone()),
        ExplainedDecision::Ask { reason } => (PermissionDecisionKind::Ask, reason.rule.clone()),
        ExplainedDecision::Deny { rule, .. } => (PermissionDecisionKind::Deny, rule.clone()),
    };
    let (text, effect) = match &subject.kind {
        CallSubjectKind::File { path: resolved, access } => {
            let verb = if *access == PathAccess::Read { "read" } else { "write" };
            let path = resolved.spelled.display().to_string();
            let mut effect = format!("{verb} {path}");
            if resolved.real != resolved.spelled {
                effect.push_str(&format!(" -> {}", resolved.real.display()));
            }
            (path, effect)
        }
        CallSubjectKind::Address(target) => (target.url.clone(), format!("fetch {}", target.url)),
        CallSubjectKind::Name(name) => (name.clone(), format!("start {name}")),
        CallSubjectKind::Command(_) | CallSubjectKind::Other | CallSubjectKind::Unreadable => {
            (subject.tool.clone(), format!("call {}", subject.tool))
        }
    };
    PartReport {
        text: escape_invisible(&text),
        effects: vec![escape_invisible(&effect)],
        decision,
        rule,
    }
}

/// The deny or ask rule that matches a part.
fn find_restricting_rule(
    policy: &Policy,
    subject: &CallSubject,
    at: usize,
    names: &[&str],
) -> Option<(PermissionDecisionKind, Option<String>)> {
    let find = |rules: &[Rule], does: RestrictionKind, wanted: MatchCertainty| {
        rules.iter().find_map(|rule| {
            let matched = rule.match_call(subject, policy.root(), does, names)?;
            let is_here = matched.part.is_none_or(|part| part == at);
            (is_here && matched.certainty == wanted).then(|| rule.to_string())
        })
    };
    if let Some(rule) = find(&policy.rules.deny, RestrictionKind::Deny, MatchCertainty::Yes) {
        return Some((PermissionDecisionKind::Deny, Some(rule)));
    }
    let asks = find(&policy.rules.ask, RestrictionKind::Ask, MatchCertainty::Yes)
        .or_else(|| find(&policy.rules.ask, RestrictionKind::Ask, MatchCertainty::Maybe))
        .or_else(|| find(&policy.rules.deny, RestrictionKind::Deny, MatchCertainty::Maybe));
    asks.map(|rule| (PermissionDecisionKind::Ask, Some(rule)))
}

fn find_unconditional_question(
    policy: &Policy,
    roots: &WorkspaceRoots<'_>,
    part: &SimpleCommand,
) -> Option<(PermissionDecisionKind, Option<String>)> {
    let alone =
        crate::shell_command::ParsedShellScript { parts: vec![part.clone()], ..Default::default() };
    let is_critical =
        find_critical_removal(&alone, &policy.directories, roots.file_system).is_some();
    let is_protected = find_protected_argument(part).is_some();
    (is_critical || is_protected).then_some((PermissionDecisionKind::Ask, None))
}

/// The effects of a part for display: only certain ones. A word that may be a file or a text is
/// checked as a file, but not shown as one.
fn describe_effects(roots: &WorkspaceRoots<'_>, part: &SimpleCommand) -> Vec<String> {
    let mut effects: Vec<String> =
        part.assigns.iter().map(|assign| format!("set {}", assign.name)).collect();
    if let Some(first) = part.words.first() {
        let verb = if part.is_function { "call" } else { "run" };
        effects.push(format!("{verb} {}", escape_invisible(&first.text)));
    }
    let words = find_certain_file_words(part);
    let deeds = words.reads.into_iter().map(|word| ("read", word));
    for (verb, word) in deeds.chain(words.writes.into_iter().map(|word| ("write", word))) {
        if word.is_pipe() {
            continue;
        }
        let known = word
            .as_known()
            .and_then(|text| roots.resolve_text(text, part.working_directories.as_slice()));
        let place = match known.as_deref() {
            Some([resolved, ..]) => resolved.real.display().to_string(),
            _ => word.text.clone(),
        };
        let effect = format!("{verb} {}", escape_invisible(&place));
        if !effects.contains(&effect) {
            effects.push(effect);
        }
    }
    if part.words.first().is_some_and(|word: &ShellWord| word.text == "cd") {
        effects.push("change directory".to_owned());
    }
    effects
}
