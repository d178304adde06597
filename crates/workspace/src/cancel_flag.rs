//! Lets a caller cancel work in progress.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Shared by the owner, who may cancel, and the work, which polls it. Never reset once set.
#[derive(Debug, Clone, Default)]
pub struct CancelFlag(Arc<AtomicBool>);

impl CancelFlag {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Work in progress fails with `WorkspaceError::Cancelled` at its next check, within 100 ms.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
