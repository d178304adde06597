//! The paths that must not be read because of deny rules.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use windlass_permission::HiddenPaths;

use crate::lock::lock;

#[derive(Debug, Default)]
pub struct HiddenPathSet {
    pub configured: HiddenPaths,
    /// Of rules that were added during the session.
    added: Mutex<HiddenPaths>,
    /// Paths of keys. Permission rules protect them by name; this list is for other hard links to
    /// them, and for walks over directories that contain them.
    pub secrets: Vec<PathBuf>,
}

impl HiddenPathSet {
    /// Replaces the paths of added rules.
    pub fn set_added(&self, hidden: HiddenPaths) {
        *lock(&self.added) = hidden;
    }

    /// With a sub-agent's own rules, and the same secrets.
    pub(crate) fn for_subagent(&self) -> Self {
        Self { secrets: self.secrets.clone(), ..Self::default() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.configured.is_empty() && lock(&self.added).is_empty()
    }

    /// The paths of keys that a walk from this directory would come to. A walk that starts at or in
    /// one of them was permitted to.
    pub(crate) fn list_secrets_below(&self, start: &Path) -> Vec<PathBuf> {
        let is_below = |path: &&PathBuf| path.starts_with(start) && path.as_path() != start;
        self.secrets.iter().filter(is_below).cloned().collect()
    }

    pub(crate) fn covers(&self, path: &Path) -> bool {
        self.configured.covers(path) || lock(&self.added).covers(path)
    }
}
