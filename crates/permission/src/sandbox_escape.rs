//! Whether a command runs inside of the sandbox, as far as decisions depend on it.
//!
//! A request to run outside asks the user in every mode; a sandboxed command may run without a
//! question. The sandbox itself is set up elsewhere.

use serde_json::Value;

use crate::call_subject::{CallSubject, CallSubjectKind};
use crate::confinement::CellSupport;
use crate::file_system_view::NoFileSystem;
use crate::policy::Policy;
use crate::shell_command::{CommandPattern, ScriptContext, parse_script};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SandboxEscape {
    /// It is not a command, or there is no sandbox.
    NotApplicable,
    Sandboxed,
    /// The user excluded it from the sandbox.
    Excluded,
    /// It requests to run outside, which is permitted.
    Requested,
    /// It requests to run outside, which is not permitted.
    Refused,
}

pub(crate) fn classify_sandbox_escape(policy: &Policy, subject: &CallSubject) -> SandboxEscape {
    let (CallSubjectKind::Command(command), Some(held)) = (&subject.kind, &policy.held) else {
        return SandboxEscape::NotApplicable;
    };
    if is_excluded_from_sandbox(&held.outside, &command.text) {
        return SandboxEscape::Excluded;
    }
    match (asks_to_run_outside(subject), held.may_be_left) {
        (false, _) => SandboxEscape::Sandboxed,
        (true, true) => SandboxEscape::Requested,
        (true, false) => SandboxEscape::Refused,
    }
}

/// Counts every value that the tool might accept as true.
fn asks_to_run_outside(subject: &CallSubject) -> bool {
    match subject.fields.get("dangerouslyDisableSandbox") {
        None | Some(Value::Null | Value::Bool(false)) => false,
        Some(Value::String(text)) => !matches!(text.as_str(), "" | "false"),
        Some(_) => true,
    }
}

/// The reason to ask about a command that would run without a question in a cell.
pub(crate) const LEAVES_CELL: &str =
    "It asks to run outside the cell that holds commands nobody is asked about.";

/// Does a command that would run in a cell request to run outside? Without a cell there is nothing
/// to leave.
pub(crate) fn asks_to_leave_cell(policy: &Policy, subject: &CallSubject) -> bool {
    policy.held.is_none() && policy.cell == CellSupport::Available && asks_to_run_outside(subject)
}

/// Is a line excluded from the sandbox? Only if all of its commands are.
#[must_use]
pub fn is_excluded_from_sandbox(outside: &[String], command: &str) -> bool {
    if outside.is_empty() {
        return false;
    }
    let script =
        parse_script(command, ScriptContext { cwd: None, file_system: &NoFileSystem, depth: 0 });
    let texts: Vec<String> = outside.iter().map(|text| to_prefix_pattern(text)).collect();
    let patterns: Vec<CommandPattern<'_>> =
        texts.iter().map(|text| CommandPattern::new(text)).collect();
    let mut own = script.parts.iter().filter(|part| !part.is_inner).peekable();
    script.is_understood()
        && own.peek().is_some()
        && own.all(|part| patterns.iter().any(|pattern| pattern.matches_prefix(part)))
}

fn to_prefix_pattern(text: &str) -> String {
    match text.ends_with(":*") || text.ends_with(" *") {
        true => text.to_owned(),
        false => format!("{text}:*"),
    }
}
