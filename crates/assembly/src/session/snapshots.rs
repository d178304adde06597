//! Where snapshots of working directories are kept.

use std::path::{Path, PathBuf};

use windlass_driver::Durability;
use windlass_driver::snapshot::{SharedWorkspace, SnapshotConfig};
use windlass_host::command_error::CommandError;
use windlass_host::environment::EnvLookup;
use windlass_host::user_directories;
use windlass_journal::project_key::project_key;
use windlass_journal::{SnapshotLimits, SnapshotStore};

use super::journal_error;
use super::known_secrets::load_known_secrets;
use super::trials::is_on_trial;

/// Beside the sessions, one store for each working directory.
pub(super) const STORES_FOLDER: &str = "workspaces";

/// The store of a working directory, shared by all sessions there.
pub(crate) fn snapshot_config(root: &Path, lookup: &impl EnvLookup) -> Option<SnapshotConfig> {
    let state = user_directories::state_directory(lookup)?;
    let transcripts = user_directories::claude_directory(lookup).map(|own| own.join("projects"));
    Some(SnapshotConfig {
        store: state.join(STORES_FOLDER).join(project_key(root)),
        excluded_folders: transcripts.into_iter().chain([state]).collect(),
        home: user_directories::home_directory(lookup),
        store_bytes_max: None,
        age_max: None,
        is_overlay: is_on_trial(lookup),
    })
}

/// What a session has written down of the files it changed.
pub fn open_change_log(journal: &Path) -> Result<SnapshotStore, CommandError> {
    let folder = SnapshotStore::folder_for(journal);
    SnapshotStore::open(&folder, Durability::Synced, SnapshotLimits::default())
        .map_err(|error| journal_error(&error))
}

/// The snapshots a session has written down, to be read without it.
pub fn open_session_snapshots(
    kept: &SnapshotStore,
    lookup: &impl EnvLookup,
) -> Option<SharedWorkspace> {
    let mut roots: Vec<PathBuf> = Vec::new();
    for span in kept.spans() {
        if !roots.contains(&span.root) {
            roots.push(span.root);
        }
    }
    let open =
        |root: &PathBuf| snapshot_config(root, lookup).filter(|config| config.store.is_dir());
    let mut roots = roots.into_iter().filter_map(|root| Some((open(&root)?, root)));
    let (config, first) = roots.next()?;
    let shared = SharedWorkspace::new(&first, config);
    let shared = shared.with_known_secrets(load_known_secrets(lookup));
    Some(roots.fold(shared, |shared, (config, root)| shared.with_added(&root, config)))
}
