//! Judges a call once more when it starts.
//!
//! A call is judged when it arrives, but others of the same answer may run before it. One of them
//! may change the shell's directory, or move what this one names, and then its words mean other
//! files than those that were judged. And the snapshot before it may have failed.

use windlass_permission::{
    PermissionDecision, Policy, PriorDecision, decide, decide_with_file_system,
};
use windlass_tool::{ToolRegistry, ToolSessionContext};
use windlass_vocabulary::{ToolCall, ToolInspection};

use crate::call_inspector::HostFileSystem;
use crate::snapshot::SnapshotOutage;

/// Why a granted call may not start any more, because no snapshot could be taken before it and the
/// user does not know that.
pub(super) fn find_snapshot_objection(
    call: &ToolCall,
    inspection: &ToolInspection,
    policy: &Policy,
    outage: &SnapshotOutage,
) -> Option<String> {
    let why = outage.find_unaccepted()?;
    let mut now = inspection.clone();
    outage.add_to(&mut now);
    let decision = decide(policy, call.clone(), &now, PriorDecision::None);
    let PermissionDecision::Ask(question) = decision else { return None };
    question.view().why.contains(why.as_ref()).then(|| {
        format!(
            "Not started: what it changes could not be taken back, because the snapshot before it \
             failed ({why}). Send it again if it is still wanted; then the user is asked."
        )
    })
}

/// Why a granted command may not start any more, as a message for the model. What the user approved
/// is only checked for denials.
pub(super) fn find_late_objection(
    call: &ToolCall,
    inspection: &ToolInspection,
    policy: &Policy,
    registry: &ToolRegistry,
    context: &ToolSessionContext,
) -> Option<String> {
    if call.name.as_str() != "Bash" {
        return None;
    }
    let directory = context.shell.directory();
    let standing =
        (directory != context.files.cwd).then(|| directory.to_string_lossy().into_owned());
    let now = Policy { standing, ..policy.clone() };
    let is_unasked = matches!(
        decide(policy, call.clone(), inspection, PriorDecision::None),
        PermissionDecision::Allow(_)
    );
    let prior = if is_unasked { PriorDecision::None } else { PriorDecision::Answered };
    let inspected = registry.inspect(call.name.as_str(), &call.input);
    let files = HostFileSystem::new();
    let why = match decide_with_file_system(&now, call.clone(), &inspected, prior, &files) {
        PermissionDecision::Ask(question) if is_unasked => question.view().why.clone(),
        PermissionDecision::Deny { why, .. } => why,
        PermissionDecision::Ask(_) | PermissionDecision::Allow(_) => return None,
    };
    Some(format!(
        "Not started: since this command was judged, the directory of the shell (now `{}`) or a \
         file has changed, so it would do something else. {why} Send it again if it is still \
         wanted.",
        directory.display()
    ))
}
