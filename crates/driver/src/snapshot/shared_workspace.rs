//! The snapshots of one working directory, opened when they are first needed.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use windlass_workspace::{Workspace, WorkspaceError, WorkspaceOptions};

use super::SnapshotConfig;

/// Used by the thread that looks and by whoever goes back.
#[derive(Debug)]
pub struct SharedWorkspace {
    root: PathBuf,
    config: SnapshotConfig,
    slot: Mutex<WorkspaceSlot>,
}

#[derive(Debug)]
enum WorkspaceSlot {
    Unopened,
    Open(Box<Workspace>),
    /// It cannot be had; that was told.
    Refused,
}

impl SharedWorkspace {
    /// Snapshots of this directory.
    #[must_use]
    pub fn new(root: &Path, config: SnapshotConfig) -> Self {
        Self { root: root.to_owned(), config, slot: Mutex::new(WorkspaceSlot::Unopened) }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Does something with the workspace. Blocks. `None` where that was refused before.
    pub(crate) fn run<T>(
        &self,
        work: impl FnOnce(&mut Workspace) -> Result<T, WorkspaceError>,
    ) -> Result<Option<T>, WorkspaceError> {
        let mut slot = self.slot.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*slot, WorkspaceSlot::Unopened) {
            *slot = WorkspaceSlot::Refused;
            *slot = WorkspaceSlot::Open(Box::new(self.open()?));
        }
        let WorkspaceSlot::Open(workspace) = &mut *slot else { return Ok(None) };
        match work(workspace) {
            Ok(result) => Ok(Some(result)),
            Err(error) => {
                if is_lasting(&error) {
                    *slot = WorkspaceSlot::Refused;
                }
                Err(error)
            }
        }
    }

    fn open(&self) -> Result<Workspace, WorkspaceError> {
        let home = self.config.home.clone();
        let options = WorkspaceOptions { home, ..WorkspaceOptions::default() };
        Workspace::open(&self.root, &self.config.store, options)
    }
}

/// Will the next look fail for the same reason?
fn is_lasting(error: &WorkspaceError) -> bool {
    matches!(
        error,
        WorkspaceError::TooManyPaths(_) | WorkspaceError::TooSlow(_) | WorkspaceError::ReadOnly
    )
}
