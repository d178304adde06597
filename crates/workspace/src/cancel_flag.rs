//! How a caller stops work that is under way.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Shared by the owner who may cancel and the work that checks. Once set it stays set.
#[derive(Debug, Clone, Default)]
pub struct CancelFlag(Arc<AtomicBool>);

impl CancelFlag {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Work under way ends with `WorkspaceError::Cancelled` at its next chance, within 100 ms.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
