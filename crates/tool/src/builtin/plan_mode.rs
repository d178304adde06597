//! Shared by the two tools that enter and leave plan mode.

use windlass_vocabulary::{
    Concurrency, ContextUpdate, PermissionMode, ToolInspection, ToolOutcome,
};

pub(super) const RESULT_BYTES_MAX: usize = 2_000;

/// Has no effect on files, but must not run beside calls that are decided by the mode.
pub(super) fn build_exclusive_inspection() -> ToolInspection {
    ToolInspection { concurrency: Concurrency::Exclusive, ..ToolInspection::SHARED_READ }
}

pub(super) fn switch_mode(mode: PermissionMode, words: &str) -> ToolOutcome {
    ToolOutcome {
        update: Some(ContextUpdate { mode: Some(mode), ..ContextUpdate::default() }),
        ..ToolOutcome::from_text(words)
    }
}
