//! Decides about one call.
//!
//! The first that applies decides: deny rules; what the mode forbids; reasons to ask that no allow
//! rule can answer (ask rules, a hook, a tool that has changed, critical removals, protected paths,
//! commands that may evade a deny rule, or before which no snapshot can be taken); allow rules and a hook's approval; what the mode allows.
//! Otherwise the user is asked, or the call is denied if no user can answer.

use std::path::PathBuf;

use windlass_vocabulary::{EffectClass, PermissionMode, ToolCall, ToolInspection};

use crate::ask_reason::AskReason;
use crate::call_subject::{CallSubject, CallSubjectKind};
use crate::command_checker::{AllowReason, CommandChecker, collect_program_names};
use crate::confinement::{CellSupport, Confinement};
use crate::explain::{self, UncoveredCommand};
use crate::fetch_target::HostReach;
use crate::file_system_view::{FileSystemView, RecordedFileSystem, find_missing_snapshot};
use crate::find_ask_reason::{answers_itself, find_ask_reason};
use crate::mode::{is_agent, is_pure, mode_allows};
use crate::permission_grant::{PendingPermissionQuestion, PermissionGrant};
use crate::policy::Policy;
use crate::prior_decision::PriorDecision;
use crate::rule::{Rule, Rules};
use crate::rule_match::RestrictionKind;
use crate::sandbox_escape::{
    LEAVES_CELL, SandboxEscape, asks_to_leave_cell, classify_sandbox_escape,
};
use crate::shell_command::{MatchCertainty, find_critical_removal};
use crate::suggest_rules::suggest_rules;
use crate::unheld_edit::{UnheldPart, find_unjudged_file};
use crate::workspace_roots::WorkspaceRoots;

/// The decision about a call.
#[derive(Debug, PartialEq, Eq)]
pub enum PermissionDecision {
    /// It may run; this is the proof.
    Allow(PermissionGrant<ToolCall>),
    /// The user must be asked.
    Ask(PendingPermissionQuestion),
    /// It may not run.
    Deny {
        /// The call.
        call: ToolCall,
        /// The reason, for the user and the model.
        why: String,
    },
}

/// A decision with its reason as data.
#[derive(Debug)]
pub(crate) enum ExplainedDecision {
    Allow {
        why: String,
        rule: Option<String>,
        confinement: Confinement,
        /// The offsets of programs that are confined one by one, because the line as a whole is
        /// not.
        held_words: Vec<usize>,
        /// Files outside the working directories that rules let a confined part read.
        readable: Vec<PathBuf>,
    },
    Ask {
        reason: AskReason,
    },
    Deny {
        why: String,
        rule: Option<String>,
    },
}

/// Decides about a call. Symlinks are resolved as far as the inspection recorded them.
pub fn decide(
    policy: &Policy,
    call: ToolCall,
    inspection: &ToolInspection,
    prior: PriorDecision,
) -> PermissionDecision {
    decide_with_file_system(policy, call, inspection, prior, &RecordedFileSystem(&inspection.seen))
}

/// Decides about a call with access to the file system.
pub fn decide_with_file_system(
    policy: &Policy,
    call: ToolCall,
    inspection: &ToolInspection,
    prior: PriorDecision,
    file_system: &dyn FileSystemView,
) -> PermissionDecision {
    let roots = WorkspaceRoots::new(policy, file_system);
    let subject = CallSubject::new(policy, &roots, &call);
    match evaluate_call(policy, &roots, &subject, inspection, prior) {
        ExplainedDecision::Allow { confinement, held_words, mut readable, .. } => {
            readable.extend(policy.directories.iter().map(PathBuf::from));
            let grant = PermissionGrant::new(call, confinement).with_held_words(held_words);
            PermissionDecision::Allow(grant.with_readable(readable))
        }
        ExplainedDecision::Deny { why, .. } => PermissionDecision::Deny { call, why },
        ExplainedDecision::Ask { reason } => {
            let suggestions = match reason.is_default {
                true => suggest_rules(policy, &roots, &subject),
                false => Vec::new(),
            };
            if policy.mode == PermissionMode::DontAsk {
                return PermissionDecision::Deny {
                    call,
                    why: explain::describe_dont_ask_denial(&subject, &reason, &suggestions),
                };
            }
            if !policy.can_ask {
                return PermissionDecision::Deny {
                    call,
                    why: explain::describe_non_interactive_denial(&subject, &reason, &suggestions),
                };
            }
            PermissionDecision::Ask(PendingPermissionQuestion::new(call, reason.why, suggestions))
        }
    }
}

pub(crate) fn evaluate_call(
    policy: &Policy,
    roots: &WorkspaceRoots<'_>,
    subject: &CallSubject,
    inspection: &ToolInspection,
    prior: PriorDecision,
) -> ExplainedDecision {
    if let Some(problem) = &inspection.problem {
        return ExplainedDecision::Deny {
            why: explain::describe_invalid_call(problem),
            rule: None,
        };
    }
    let prior = match (&inspection.doubt, prior) {
        (Some(why), PriorDecision::None | PriorDecision::Allow) => {
            PriorDecision::Ask(why.as_ref().clone())
        }
        (_, prior) => prior,
    };
    let names = subject.command().map(collect_program_names).unwrap_or_default();
    let denial = find_deny_match(policy, subject, &names);
    if let Some(DenyMatch { rule, certainty: MatchCertainty::Yes, what }) = &denial {
        let why = explain::describe_rule_denial(rule, what);
        return ExplainedDecision::Deny { why, rule: Some(rule.to_string()) };
    }
    let perhaps = denial.map(|denial| (denial.rule, denial.what));
    let outside = classify_sandbox_escape(policy, subject);
    if let Some(why) = find_outright_denial(policy, subject, inspection, &prior, outside) {
        return ExplainedDecision::Deny { why, rule: None };
    }
    let allows_hook = matches!(prior, PriorDecision::Allow | PriorDecision::Answered);
    let is_answered = prior == PriorDecision::Answered;
    let without_snapshot = find_snapshot_question(policy, subject, inspection);
    let without_snapshot = without_snapshot.filter(|_| !is_answered);
    let reason = find_ask_reason(policy, roots, subject, &names, perhaps, prior);
    if let Some(reason) = reason.or(without_snapshot) {
        return ExplainedDecision::Ask { reason };
    }
    let root = policy.root();
    if let Some(rule) = policy.rules.allow.iter().find(|rule| rule.allows(subject, root)) {
        return ExplainedDecision::Allow {
            why: explain::describe_rule_allowance(rule),
            rule: Some(rule.to_string()),
            confinement: Confinement::Unconfined,
            held_words: Vec::new(),
            readable: Vec::new(),
        };
    }
    let by_mode = mode_allows(policy, roots, subject, inspection);
    let is_open = allows_hook || policy.mode == PermissionMode::BypassPermissions;
    if is_open || by_mode {
        let confinement = match (is_open, inspection.class == EffectClass::Pure) {
            (true, _) => Confinement::Unconfined,
            (false, true) => Confinement::ReadOnly,
            (false, false) => Confinement::WriteInsideRoots,
        };
        return ExplainedDecision::Allow {
            why: explain::describe_mode_allowance(policy, allows_hook),
            rule: None,
            confinement,
            held_words: Vec::new(),
            readable: Vec::new(),
        };
    }
    if outside == SandboxEscape::Sandboxed
        && policy.held.as_ref().is_some_and(|held| held.runs_unasked)
    {
        // Any command may run in the session's sandbox, so an additional cell would not restrict it
        // further.
        return ExplainedDecision::Allow {
            why: explain::describe_sandboxed(),
            rule: None,
            confinement: Confinement::Unconfined,
            held_words: Vec::new(),
            readable: Vec::new(),
        };
    }
    let mut why = None;
    if let CallSubjectKind::Command(command) = &subject.kind {
        match check_all_parts(policy, roots, command) {
            Ok(parts) => return parts.into_decision(policy, subject),
            Err(reason) => why = Some(reason),
        }
    }
    let reason = explain::describe_missing_rule(policy, roots, subject, why);
    ExplainedDecision::Ask { reason }
}

/// Why a call may not run, whatever the rules say.
fn find_outright_denial(
    policy: &Policy,
    subject: &CallSubject,
    inspection: &ToolInspection,
    prior: &PriorDecision,
    outside: SandboxEscape,
) -> Option<String> {
    if let CallSubjectKind::Address(target) = &subject.kind
        && target.reach() == HostReach::Metadata
    {
        return Some(explain::describe_metadata_address(&target.url));
    }
    if policy.mode == PermissionMode::Plan && !is_pure(subject, inspection) {
        return Some(explain::describe_plan_denial());
    }
    if *prior != PriorDecision::Answered && answers_itself(subject) {
        return Some(explain::describe_self_answered_question());
    }
    (outside == SandboxEscape::Refused).then(explain::describe_refused_sandbox_escape)
}

/// The question about a call that may change any file while no snapshot can be taken. Where nobody
/// is asked, the driver only says so.
fn find_snapshot_question(
    policy: &Policy,
    subject: &CallSubject,
    inspection: &ToolInspection,
) -> Option<AskReason> {
    let why = find_missing_snapshot(&inspection.seen)?;
    let asks = match policy.mode {
        PermissionMode::Default | PermissionMode::AcceptEdits => policy.can_ask,
        PermissionMode::Plan | PermissionMode::DontAsk | PermissionMode::BypassPermissions => false,
    };
    let may_change_files = match &subject.kind {
        CallSubjectKind::Command(_) | CallSubjectKind::Unreadable => true,
        CallSubjectKind::Name(_) | CallSubjectKind::Other => {
            is_agent(&subject.tool) || subject.tool.starts_with("mcp__")
        }
        // What an edit replaces is kept by the tool.
        CallSubjectKind::File { .. } | CallSubjectKind::Address(_) => false,
    };
    (asks && may_change_files && !is_pure(subject, inspection))
        .then(|| AskReason::without_rule(explain::describe_missing_snapshot(why)))
}

/// Looks up every path that a decision about this call may need, for any rules and mode, so that
/// the caller can record them.
pub fn look_at_paths(policy: &Policy, call: &ToolCall, file_system: &dyn FileSystemView) {
    let roots = WorkspaceRoots::new(policy, file_system);
    let subject = CallSubject::new(policy, &roots, call);
    let Some(command) = subject.command() else { return };
    CommandChecker::new(policy, &roots, command).look_at_paths(command);
    let _ = find_critical_removal(&command.script, &policy.directories, file_system);
}

/// Does this rule match the call in the wide sense, like a deny rule? For callers that need this
/// before a decision.
#[must_use]
pub fn rule_matches_call(
    rule: &Rule,
    policy: &Policy,
    call: &ToolCall,
    file_system: &dyn FileSystemView,
) -> bool {
    let rules = Rules { deny: vec![rule.clone()], ..Rules::default() };
    let policy = Policy { rules, ..policy.clone() };
    let roots = WorkspaceRoots::new(&policy, file_system);
    let subject = CallSubject::new(&policy, &roots, call);
    let names = subject.command().map(collect_program_names).unwrap_or_default();
    let is_doubtful = match &subject.kind {
        CallSubjectKind::Command(command) => !command.script.doubts.is_empty(),
        CallSubjectKind::Unreadable => true,
        CallSubjectKind::File { .. }
        | CallSubjectKind::Address(_)
        | CallSubjectKind::Name(_)
        | CallSubjectKind::Other => false,
    };
    find_deny_match(&policy, &subject, &names).is_some() || is_doubtful && rule.tool == subject.tool
}

struct DenyMatch<'p> {
    rule: &'p Rule,
    certainty: MatchCertainty,
    /// The part of the call that the rule matches.
    what: String,
}

/// The first deny rule that certainly matches the call, or else the first that may.
fn find_deny_match<'p>(
    policy: &'p Policy,
    subject: &CallSubject,
    names: &[&str],
) -> Option<DenyMatch<'p>> {
    let mut perhaps = None;
    for rule in &policy.rules.deny {
        let Some(matched) = rule.match_call(subject, policy.root(), RestrictionKind::Deny, names)
        else {
            continue;
        };
        let denial = DenyMatch { rule, certainty: matched.certainty, what: matched.what };
        if denial.certainty == MatchCertainty::Yes {
            return Some(denial);
        }
        perhaps = perhaps.or(Some(denial));
    }
    perhaps
}

/// Why all parts of a command may run.
struct AllowedParts {
    /// The first rule that was needed.
    rule: Option<String>,
    /// The confinement of the whole line: its parts share a shell, so the least restricted one
    /// decides.
    confinement: Confinement,
    /// The offsets of programs that are confined one by one, because the line is not.
    held_words: Vec<usize>,
    /// Files outside the working directories that rules let them read.
    readable: Vec<PathBuf>,
}

impl AllowedParts {
    /// Allows them, unless the call requests to run outside of its confinement.
    fn into_decision(self, policy: &Policy, subject: &CallSubject) -> ExplainedDecision {
        let Self { rule, confinement, held_words, readable } = self;
        let is_held = confinement != Confinement::Unconfined || !held_words.is_empty();
        if is_held && asks_to_leave_cell(policy, subject) {
            return ExplainedDecision::Ask {
                reason: AskReason::without_rule(LEAVES_CELL.to_owned()),
            };
        }
        let why = explain::describe_covered_parts(rule.as_deref());
        ExplainedDecision::Allow { why, rule, confinement, held_words, readable }
    }
}

/// May every part of the command run? Returns the first rule that was needed, or the parts that may
/// not run, and why.
fn check_all_parts(
    policy: &Policy,
    roots: &WorkspaceRoots<'_>,
    command: &crate::shell_command::ParsedCommandLine,
) -> Result<AllowedParts, UncoveredCommand> {
    if let Some(doubt) = command.script.doubts.first() {
        return Err(UncoveredCommand { why: explain::describe_doubt(doubt), has_rule: false });
    }
    let checker = CommandChecker::new(policy, roots, command);
    let mut allowed = AllowedParts {
        rule: None,
        confinement: Confinement::ReadOnly,
        held_words: Vec::new(),
        readable: Vec::new(),
    };
    let mut open = Vec::new();
    let mut has_rule = false;
    let mut reading = Vec::new();
    let mut unheld = Vec::new();
    for part in command.own_parts() {
        match checker.check_part(part) {
            Ok(reason) => {
                let confinement = checker.confinement(part, &reason);
                unheld.push(UnheldPart {
                    part,
                    edits: reason == AllowReason::Editing,
                    reads: reason == AllowReason::Reading && policy.cell == CellSupport::Missing,
                });
                if reason == AllowReason::Reading {
                    reading.push(part);
                }
                allowed.confinement = allowed.confinement.max(confinement);
                allowed.readable.extend(checker.find_covered_files(part));
                if let AllowReason::Rule(rule) = reason {
                    allowed.rule = allowed.rule.or(Some(rule));
                }
            }
            Err(uncovered) => {
                has_rule |= uncovered.has_rule;
                open.push(explain::describe_uncovered_part(&part.text, &uncovered.why));
            }
        }
    }
    if open.is_empty() && checker.only_reads_repository(command) {
        allowed.confinement = Confinement::ReadOnly;
    }
    let is_unheld = policy.cell == CellSupport::Missing
        || allowed.confinement == Confinement::Unconfined && policy.held.is_none();
    if is_unheld
        && open.is_empty()
        && let Some(why) = find_unjudged_file(&unheld, roots)
    {
        return Err(UncoveredCommand { why, has_rule });
    }
    if allowed.confinement == Confinement::Unconfined && open.is_empty() {
        // A rule permits one part but not the others: those that only read are confined one by one.
        let held = reading.iter().map(|part| checker.find_held_word(part));
        let held = held.collect::<Result<Vec<_>, _>>();
        let held = held.map_err(|why| UncoveredCommand { why, has_rule })?;
        allowed.held_words = held.into_iter().flatten().collect();
        allowed.held_words.sort_unstable();
        allowed.held_words.dedup();
    }
    match open.is_empty() {
        true => Ok(allowed),
        false => Err(UncoveredCommand { why: explain::join_uncovered_parts(open), has_rule }),
    }
}

/// The question when the model repeats itself, which no rule can answer.
pub fn build_loop_question(call: ToolCall, why: String) -> PendingPermissionQuestion {
    PendingPermissionQuestion::new(call, why, Vec::new())
}
