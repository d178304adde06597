//! What each mode allows when no rule matches.

use windlass_vocabulary::{EffectClass, PermissionMode, ToolInspection};

use crate::call_subject::{CallSubject, CallSubjectKind};
use crate::file_system_view::{PathAccess, PathEntry};
use crate::policy::Policy;
use crate::workspace_roots::WorkspaceRoots;

/// Allows reading inside the working directories in every mode, and editing there in one. Commands
/// are decided part by part elsewhere.
pub(crate) fn mode_allows(
    policy: &Policy,
    roots: &WorkspaceRoots<'_>,
    subject: &CallSubject,
    inspection: &ToolInspection,
) -> bool {
    let is_pure = inspection.class == EffectClass::Pure;
    match &subject.kind {
        CallSubjectKind::Command(_) | CallSubjectKind::Unreadable => false,
        CallSubjectKind::File { path: resolved, access: PathAccess::Read } => {
            is_pure && roots.is_inside(resolved) && resolved.entry != PathEntry::Special
        }
        CallSubjectKind::File { path: resolved, access: PathAccess::Write } => {
            policy.mode == PermissionMode::AcceptEdits
                && roots.is_inside(resolved)
                && resolved.entry != PathEntry::Special
        }
        // An agent itself does nothing: each of its calls is decided like ours.
        CallSubjectKind::Name(_) | CallSubjectKind::Other if is_agent(&subject.tool) => true,
        CallSubjectKind::Name(_) => is_pure,
        // A server's claim that its tool only reads is not sufficient, nor is a network request
        // harmless.
        CallSubjectKind::Address(_) => false,
        CallSubjectKind::Other => is_pure && !is_foreign(&subject.tool),
    }
}

pub(crate) fn is_agent(tool: &str) -> bool {
    matches!(tool, "Agent" | "Task")
}

fn is_foreign(tool: &str) -> bool {
    tool.starts_with("mcp__") || matches!(tool, "WebFetch" | "WebSearch")
}

/// Does the call change nothing? Commands are judged by their text, not by the tool's claim.
pub(crate) fn is_pure(subject: &CallSubject, inspection: &ToolInspection) -> bool {
    match subject.command() {
        Some(command) => command.is_read_only(),
        None => inspection.class == EffectClass::Pure,
    }
}
