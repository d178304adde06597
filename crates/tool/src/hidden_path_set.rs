//! The paths that deny rules forbid to read.

use std::path::Path;
use std::sync::Mutex;

use windlass_permission::HiddenPaths;

use crate::lock::lock;

#[derive(Debug, Default)]
pub struct HiddenPathSet {
    pub configured: HiddenPaths,
    /// By rules that came later.
    added: Mutex<HiddenPaths>,
}

impl HiddenPathSet {
    /// Rules have changed: replaces what an earlier change added.
    pub fn set_added(&self, hidden: HiddenPaths) {
        *lock(&self.added) = hidden;
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.configured.is_empty() && lock(&self.added).is_empty()
    }

    pub(crate) fn covers(&self, path: &Path) -> bool {
        self.configured.covers(path) || lock(&self.added).covers(path)
    }
}
