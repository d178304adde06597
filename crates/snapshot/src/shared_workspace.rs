//! The snapshots of one working directory, opened when they are first needed.
//!
//! What is hidden from the documentation is for the driver alone, which hands this type to programs that
//! embed it.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use windlass_tool::Secrets;
use windlass_workspace::{
    ContentFilter, RelativePath, Workspace, WorkspaceError, WorkspaceLimits, WorkspaceOptions,
};

use crate::SnapshotConfig;
use crate::garbage::{GarbageBounds, collect_garbage, has_other_writer, register_session};

/// Used by the thread that looks and by a rewind.
#[derive(Debug)]
pub struct SharedWorkspace {
    root: PathBuf,
    config: SnapshotConfig,
    /// Files that hold one of our own keys are not kept.
    secrets: Secrets,
    slot: Mutex<WorkspaceSlot>,
    /// Further directories of the same session.
    added: Vec<Self>,
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
        Self {
            root: root.to_owned(),
            config,
            secrets: Secrets::default(),
            slot: Mutex::new(WorkspaceSlot::Unopened),
            added: Vec::new(),
        }
    }

    /// With snapshots of further directories, whose files are called by their absolute paths.
    #[must_use]
    pub fn with_added(mut self, root: &Path, config: SnapshotConfig) -> Self {
        let added = Self::new(root, config).with_secrets(self.secrets.clone());
        self.added.push(added);
        self
    }

    #[doc(hidden)]
    pub fn with_secrets(self, secrets: Secrets) -> Self {
        Self { secrets, ..self }
    }

    /// This directory, then those that were added.
    #[doc(hidden)]
    pub fn members(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(&self.added)
    }

    /// How a file of one of the members is called for people.
    #[doc(hidden)]
    pub fn name_file(&self, member: &Self, path: &RelativePath) -> String {
        match member.root == self.root {
            true => path.to_string(),
            false => format!("{}/{path}", member.root.display()),
        }
    }

    /// Bytes that the snapshots of the directory take on the disk, and how many contents they hold.
    /// Blocks.
    ///
    /// # Errors
    ///
    /// When they cannot be read, in words.
    pub fn measure(&self) -> Result<(u64, u64), String> {
        let mut sum = (0, 0);
        for member in self.members() {
            let usage =
                member.run(|workspace| Ok(workspace.usage())).map_err(|error| error.to_string())?;
            let (bytes, contents) = usage.map_or((0, 0), |usage| (usage.bytes, usage.contents));
            sum = (sum.0 + bytes, sum.1 + contents);
        }
        Ok(sum)
    }

    /// The directory without links on the way, as restored files are called.
    #[doc(hidden)]
    pub fn resolved_root(&self) -> PathBuf {
        self.root.canonicalize().unwrap_or_else(|_| self.root.clone())
    }

    #[doc(hidden)]
    pub fn has_store(&self) -> bool {
        self.config.store.is_dir()
    }

    #[doc(hidden)]
    pub fn config(&self) -> &SnapshotConfig {
        &self.config
    }

    #[doc(hidden)]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Does something with the workspace. Blocks. `None` where that was refused before.
    #[doc(hidden)]
    pub fn run<T>(
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
        let mut options = WorkspaceOptions { home, ..WorkspaceOptions::default() };
        options.limits.store_bytes = self.store_bytes_max();
        options.is_overlay = self.config.is_overlay;
        options.refers_to_packs = windlass_workspace::do_file_modes_apply();
        let secrets = self.secrets.clone();
        options.content_filter = ContentFilter::new(move |bytes| secrets.are_in(bytes));
        Workspace::open(&self.root, &self.config.store, options)
    }

    /// A session says its bound; commands about sessions keep to the last one that was said.
    fn store_bytes_max(&self) -> u64 {
        let said = || std::fs::read_to_string(self.bound_path()).ok()?.trim().parse().ok();
        let usual = WorkspaceLimits::default().store_bytes;
        self.config.store_bytes_max.or_else(said).unwrap_or(usual)
    }

    fn bound_path(&self) -> PathBuf {
        self.config.store.join("bytes-max")
    }

    /// Says that this session needs the snapshots, and gives up those that no session needs. Returns
    /// whether another session works in the directory at the moment. Blocks.
    #[doc(hidden)]
    pub fn register(&self, change_log: &Path) -> Result<bool, WorkspaceError> {
        let (store, bytes_max) = (&self.config.store, self.store_bytes_max());
        self.run(|workspace| {
            if let Some(said) = self.config.store_bytes_max {
                // Where it cannot be written, others keep to the usual bound.
                let _ = std::fs::write(self.bound_path(), said.to_string());
            }
            let failed = |error| WorkspaceError::Disk { what: "write", path: store.clone(), error };
            register_session(store, change_log).map_err(failed)?;
            let bounds = GarbageBounds { bytes_max, age_max: self.config.age_max };
            match collect_garbage(workspace, store, bounds, change_log) {
                // Another process uses the store; the next session tries again.
                Ok(_) | Err(WorkspaceError::InUse) => Ok(has_other_writer(store, change_log)),
                Err(error) => Err(error),
            }
        })
        .map(|is_shared| is_shared.unwrap_or(false))
    }
}

/// Will the next look fail for the same reason?
fn is_lasting(error: &WorkspaceError) -> bool {
    matches!(error, WorkspaceError::TooManyPaths(_) | WorkspaceError::TooSlow(_))
}
