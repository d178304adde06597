//! Tests policies: takes a case, and returns the decision with its reasons.
//!
//! [`answer_case`] reads and writes lines of JSON; [`render_report`] formats for reading. Neither
//! grants anything. The form of a case:
//!
//! ```json
//! {"id": "a", "tool": "Bash", "input": {"command": "ls"}, "rules": {"allow": [], "ask": [], "deny": []},
//!  "mode": "default", "cell": true, "cwd": "/w/repo", "roots": ["/w/repo"], "home": "/home/u", "interactive": true,
//!  "files": {"/w/repo/x": {"file": "text"}, "/w/repo/y": {"symlink": "/etc"}}}
//! ```
//!
//! Only `tool` and `input` are required. If there is a `files` field, no other files exist;
//! otherwise the caller's file system is used.

mod policy_case;
mod render_report;
mod report_parts;

use serde::Serialize;
use serde_json::{Value, json};
use windlass_vocabulary::{EffectClass, PermissionMode, ToolCall, ToolInspection};

use crate::call_subject::{CallSubject, CallSubjectKind};
use crate::confinement::CellSupport;
use crate::decide::{ExplainedDecision, evaluate_call};
use crate::explain;
use crate::file_system_view::FileSystemView;
use crate::policy::Policy;
use crate::prior_decision::PriorDecision;
use crate::suggest_rules::suggest_rules;
use crate::workspace_roots::WorkspaceRoots;
pub use policy_case::NO_AUTO_MODE;
use policy_case::PolicyCase;
pub use render_report::render_report;
use report_parts::report_parts;

/// The kind of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PermissionDecisionKind {
    /// It runs.
    Allow,
    /// The user is asked.
    Ask,
    /// It does not run.
    Deny,
}

/// A decision with its reasons.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PermissionReport {
    /// The decision.
    pub decision: PermissionDecisionKind,
    /// The reason.
    pub reason: String,
    /// The rule that decided, or one that was needed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The commands of a shell line; otherwise the call itself.
    pub parts: Vec<PartReport>,
    /// Rules that together would allow it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub suggestions: Vec<String>,
}

/// The report about one part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PartReport {
    /// As written.
    pub text: String,
    /// What it would do: `run git`, `read /w/repo/a`, `write /w/repo/b`.
    pub effects: Vec<String>,
    /// The decision about this part alone.
    pub decision: PermissionDecisionKind,
    /// The rule that decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
}

/// Decides about a call and explains it, without granting anything.
#[must_use]
pub fn build_report(
    policy: &Policy,
    call: &ToolCall,
    file_system: &dyn FileSystemView,
) -> PermissionReport {
    let roots = WorkspaceRoots::new(policy, file_system);
    let subject = CallSubject::new(policy, &roots, call);
    build_inspected_report(policy, call, &guess_inspection(&subject), file_system)
}

/// The same with the tool's inspection.
#[must_use]
pub fn build_inspected_report(
    policy: &Policy,
    call: &ToolCall,
    inspection: &ToolInspection,
    file_system: &dyn FileSystemView,
) -> PermissionReport {
    let roots = WorkspaceRoots::new(policy, file_system);
    let subject = CallSubject::new(policy, &roots, call);
    let said = evaluate_call(policy, &roots, &subject, inspection, PriorDecision::None);
    let parts = report_parts(policy, &roots, &subject, &said);
    let (decision, reason, rule, suggestions) = match said {
        ExplainedDecision::Allow { why, rule, .. } => {
            (PermissionDecisionKind::Allow, why, rule, Vec::new())
        }
        ExplainedDecision::Deny { why, rule } => {
            (PermissionDecisionKind::Deny, why, rule, Vec::new())
        }
        ExplainedDecision::Ask { reason } => {
            let suggestions = match reason.is_default {
                true => suggest_rules(policy, &roots, &subject),
                false => Vec::new(),
            };
            let rule = reason.rule.clone();
            if policy.mode == PermissionMode::DontAsk {
                (
                    PermissionDecisionKind::Deny,
                    explain::describe_dont_ask_denial(&subject, &reason, &suggestions),
                    rule,
                    suggestions,
                )
            } else if !policy.can_ask {
                (
                    PermissionDecisionKind::Deny,
                    explain::describe_non_interactive_denial(&subject, &reason, &suggestions),
                    rule,
                    suggestions,
                )
            } else {
                (PermissionDecisionKind::Ask, reason.why, rule, suggestions)
            }
        }
    };
    PermissionReport { decision, reason, rule, parts, suggestions }
}

/// The effect of a tool, guessed from its name and input.
fn guess_inspection(subject: &CallSubject) -> ToolInspection {
    let reads = match &subject.kind {
        CallSubjectKind::Command(command) => command.is_read_only(),
        CallSubjectKind::Address(_) => true,
        CallSubjectKind::File { .. }
        | CallSubjectKind::Name(_)
        | CallSubjectKind::Other
        | CallSubjectKind::Unreadable => READING_TOOLS.contains(&subject.tool.as_str()),
    };
    let class = if reads { EffectClass::Pure } else { EffectClass::Effect };
    ToolInspection { class, ..ToolInspection::SHARED_READ }
}

const READING_TOOLS: &[&str] =
    &["Read", "Glob", "Grep", "LS", "TodoWrite", "TodoRead", "WebFetch", "WebSearch"];

/// The inspection of a call, with the entries at the paths it names; `None` for an unknown tool.
pub type CaseInspector<'a> =
    dyn Fn(&Policy, &ToolCall, &dyn FileSystemView) -> Option<ToolInspection> + 'a;

/// Answers one line. The second value is whether it was a valid case.
#[must_use]
pub fn answer_case(line: &str, file_system: &dyn FileSystemView) -> (String, bool) {
    answer_inspected_case(line, file_system, &|_, _, _| None)
}

/// The same, with calls inspected like in a session.
#[must_use]
pub fn answer_inspected_case(
    line: &str,
    file_system: &dyn FileSystemView,
    inspect: &CaseInspector<'_>,
) -> (String, bool) {
    answer_case_on_machine(line, file_system, inspect, CellSupport::Unknown)
}

/// The same on a machine with or without cells, for cases that do not say which.
#[must_use]
pub fn answer_case_on_machine(
    line: &str,
    file_system: &dyn FileSystemView,
    inspect: &CaseInspector<'_>,
    cell: CellSupport,
) -> (String, bool) {
    let value: Value = match serde_json::from_str(line) {
        Ok(value) => value,
        Err(error) => {
            return (render_case_error(&Value::Null, &format!("not JSON: {error}")), false);
        }
    };
    let id = value.get("id").cloned().unwrap_or(Value::Null);
    let case = match PolicyCase::parse(&value, cell) {
        Ok(case) => case,
        Err(problem) => return (render_case_error(&id, &problem), false),
    };
    let report = case.evaluate(file_system, inspect);
    let mut answer = json!({ "id": id });
    if let (Some(answer), Ok(Value::Object(fields))) =
        (answer.as_object_mut(), serde_json::to_value(&report))
    {
        answer.extend(fields);
    }
    (answer.to_string(), true)
}

fn render_case_error(id: &Value, problem: &str) -> String {
    json!({ "id": id, "error": problem }).to_string()
}
