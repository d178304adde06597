//! The paths that deny rules forbid to read.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use windlass_permission::HiddenPaths;

use crate::lock::lock;

#[derive(Debug, Default)]
pub struct HiddenPathSet {
    pub configured: HiddenPaths,
    /// By rules that came later.
    added: Mutex<HiddenPaths>,
    /// Where keys are. Reading them by name is a matter of permission; a second name of one is not read.
    pub secrets: Vec<PathBuf>,
}

impl HiddenPathSet {
    /// Rules have changed: replaces what an earlier change added.
    pub fn set_added(&self, hidden: HiddenPaths) {
        *lock(&self.added) = hidden;
    }

    /// Rules of the subagent's own, and the same secrets.
    pub(crate) fn for_subagent(&self) -> Self {
        Self { secrets: self.secrets.clone(), ..Self::default() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.configured.is_empty() && lock(&self.added).is_empty()
    }

    pub(crate) fn covers(&self, path: &Path) -> bool {
        self.configured.covers(path) || lock(&self.added).covers(path)
    }
}
