//! What entering and leaving plan mode share.

use windlass_vocabulary::{
    Concurrency, ContextUpdate, PermissionMode, ToolInspection, ToolOutcome,
};

pub(super) const RESULT_BYTES_MAX: usize = 2_000;

/// Nothing in the world changes, yet what runs beside it would run by another mode.
pub(super) fn build_exclusive_inspection() -> ToolInspection {
    ToolInspection { concurrency: Concurrency::Exclusive, ..ToolInspection::SHARED_READ }
}

pub(super) fn switch_mode(mode: PermissionMode, words: &str) -> ToolOutcome {
    ToolOutcome {
        update: Some(ContextUpdate { mode: Some(mode), ..ContextUpdate::default() }),
        ..ToolOutcome::from_text(words)
    }
}
