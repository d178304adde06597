//! The snapshots of one working directory, opened on first use.
//!
//! Methods hidden from the documentation are for the driver only, which passes this type to
//! embedding programs.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use windlass_tool::Secrets;
use windlass_workspace::{
    CancelFlag, ContentFilter, LookDepth, RelativePath, SnapshotId, UncoveredPath, Workspace,
    WorkspaceError, WorkspaceLimits, WorkspaceOptions,
};

use crate::SnapshotConfig;
use crate::garbage::{
    GarbageBounds, collect_garbage, has_other_writer, hold_snapshots, register_session,
};
use crate::uncovered_report::{NamedPath, describe_uncovered, list_untold};

/// Shared by the thread that takes snapshots and by a rewind.
#[derive(Debug)]
pub struct SharedWorkspace {
    root: PathBuf,
    config: SnapshotConfig,
    /// Files that contain one of these secrets are not stored.
    secrets: Secrets,
    /// There may be more of them, which a session knew.
    has_other_secrets: bool,
    slot: Mutex<WorkspaceSlot>,
    /// What the last look did not cover.
    uncovered: Mutex<Vec<UncoveredPath>>,
    /// Additional directories of the same session.
    added: Vec<Self>,
}

#[derive(Debug)]
enum WorkspaceSlot {
    Unopened,
    Open(Box<Workspace>),
    /// Cannot be opened or used; the error was reported once.
    Refused,
}

impl SharedWorkspace {
    /// The snapshots of this directory, opened on first use.
    #[must_use]
    pub fn new(root: &Path, config: SnapshotConfig) -> Self {
        Self {
            root: root.to_owned(),
            config,
            secrets: Secrets::default(),
            has_other_secrets: false,
            slot: Mutex::new(WorkspaceSlot::Unopened),
            uncovered: Mutex::default(),
            added: Vec::new(),
        }
    }

    /// Adds a further directory, whose files are named by absolute paths.
    #[must_use]
    pub fn with_added(mut self, root: &Path, config: SnapshotConfig) -> Self {
        let added = Self {
            has_other_secrets: self.has_other_secrets,
            ..Self::new(root, config).with_secrets(self.secrets.clone())
        };
        self.added.push(added);
        self
    }

    #[doc(hidden)]
    pub fn with_secrets(self, secrets: Secrets) -> Self {
        Self { secrets, ..self }
    }

    /// For use without a session, which may have known more secrets: what it refused to store for
    /// them stays refused until it changes.
    #[must_use]
    pub fn with_known_secrets(self, secrets: Secrets) -> Self {
        Self { secrets, has_other_secrets: true, ..self }
    }

    /// This directory, then the added ones.
    #[doc(hidden)]
    pub fn members(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(&self.added)
    }

    /// A file's name for display: relative in the main directory, else absolute.
    #[doc(hidden)]
    pub fn name_file(&self, member: &Self, path: &RelativePath) -> String {
        match member.root == self.root {
            true => path.to_string(),
            false => format!("{}/{path}", member.root.display()),
        }
    }

    /// Disk space of the snapshots in bytes, and the number of stored contents, for all
    /// directories. Blocks.
    ///
    /// # Errors
    ///
    /// When they cannot be read, as a message for the user.
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

    /// The directory without symlinks, by which restored files are named.
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

    /// Runs `work` on the workspace, opening it first if needed. Blocks. `None` if it was refused
    /// before.
    #[doc(hidden)]
    pub fn run<T>(
        &self,
        work: impl FnOnce(&mut Workspace) -> Result<T, WorkspaceError>,
    ) -> Result<Option<T>, WorkspaceError> {
        let mut slot = self.slot.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*slot, WorkspaceSlot::Unopened) {
            match self.open() {
                Ok(workspace) => *slot = WorkspaceSlot::Open(Box::new(workspace)),
                // The disk may be writable again later.
                Err(error @ (WorkspaceError::Disk { .. } | WorkspaceError::NoRoom)) => {
                    return Err(error);
                }
                Err(error) => {
                    *slot = WorkspaceSlot::Refused;
                    return Err(error);
                }
            }
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

    /// Takes a snapshot. Blocks. `None` if this was refused before.
    #[doc(hidden)]
    pub fn look(&self, cancel: &CancelFlag) -> Result<Option<SnapshotId>, WorkspaceError> {
        let report = self.run(|workspace| workspace.look(LookDepth::Quick, cancel))?;
        Ok(report.map(|report| {
            *self.uncovered.lock().unwrap_or_else(PoisonError::into_inner) = report.uncovered;
            report.id
        }))
    }

    /// What the last look at these directories did not cover and no session was told, as a message
    /// for the user. Blocks.
    #[doc(hidden)]
    pub fn describe_untold(&self) -> Option<String> {
        let mut untold = Vec::new();
        for member in self.members() {
            let mut uncovered = member.uncovered.lock().unwrap_or_else(PoisonError::into_inner);
            let paths = list_untold(&member.config.store, std::mem::take(&mut *uncovered));
            untold.extend(paths.into_iter().map(|uncovered| NamedPath {
                name: self.name_file(member, &uncovered.path),
                location: member.root.join(uncovered.path.as_path()),
                uncovered,
            }));
        }
        describe_uncovered(&untold)
    }

    fn open(&self) -> Result<Workspace, WorkspaceError> {
        let home = self.config.home.clone();
        let mut options = WorkspaceOptions { home, ..WorkspaceOptions::default() };
        options.limits.store_bytes = self.store_bytes_max();
        options.is_overlay = self.config.is_overlay;
        options.excluded_folders = self.config.excluded_folders.clone();
        options.refers_to_packs = windlass_workspace::do_file_modes_apply();
        let secrets = self.secrets.clone();
        options.keeps_refused = self.has_other_secrets;
        options.content_filter = ContentFilter::new(move |bytes| secrets.are_in(bytes));
        Workspace::open(&self.root, &self.config.store, options)
    }

    /// The configured limit, else the last one that a session has stored, else the default.
    fn store_bytes_max(&self) -> u64 {
        let said = || std::fs::read_to_string(self.bound_path()).ok()?.trim().parse().ok();
        let usual = WorkspaceLimits::default().store_bytes;
        self.config.store_bytes_max.or_else(said).unwrap_or(usual)
    }

    fn bound_path(&self) -> PathBuf {
        self.config.store.join("bytes-max")
    }

    /// Registers this session as a user of the snapshots, and removes those that no session needs.
    /// Returns whether another session is open in the directory. Blocks.
    #[doc(hidden)]
    pub fn register(&self, change_log: &Path) -> Result<bool, WorkspaceError> {
        let store = &self.config.store;
        let bytes_max = self.store_bytes_max();
        self.run(|workspace| {
            if let Some(said) = self.config.store_bytes_max {
                // On failure, others use the default limit.
                let _ = std::fs::write(self.bound_path(), said.to_string());
            }
            let failed = |error| WorkspaceError::Disk { what: "write", path: store.clone(), error };
            register_session(store, change_log).map_err(failed)?;
            let bounds = GarbageBounds { bytes_max, age_max: self.config.age_max };
            match collect_garbage(workspace, store, bounds, change_log) {
                // Another process uses the store, or was killed while it restored; the next session
                // tries again.
                Ok(_) | Err(WorkspaceError::InUse | WorkspaceError::UnfinishedRestore) => {
                    Ok(has_other_writer(store, change_log))
                }
                Err(error) => Err(error),
            }
        })
        .map(|is_shared| is_shared.unwrap_or(false))
    }

    /// Keeps these snapshots as long as this folder is there, whatever becomes of sessions. Blocks.
    ///
    /// # Errors
    ///
    /// The store cannot be written. The error is a message for the user.
    #[doc(hidden)]
    pub fn hold(&self, folder: &Path, snapshots: &[SnapshotId]) -> Result<(), String> {
        let store = &self.config.store;
        hold_snapshots(store, folder, snapshots)
            .map_err(|error| format!("{}: {error}", store.display()))
    }
}

/// Whether the next look would fail for the same reason.
fn is_lasting(error: &WorkspaceError) -> bool {
    matches!(error, WorkspaceError::TooManyPaths(_) | WorkspaceError::TooSlow(_))
}
