//! The directories of a session, and what it knows of its files.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

use super::backup::FileBackupStore;
use super::changed_files::{self, FileChange};
use super::editor_files::EditorFiles;
use super::known_files::{KnownFile, KnownFiles};
use crate::lock::lock;

/// The directories of a session, and the state of each file when it was last read or written there.
#[derive(Debug)]
pub struct FileContext {
    /// The main directory; absolute. The shell starts here and returns here.
    pub cwd: PathBuf,
    pub backup: Option<Arc<dyn FileBackupStore>>,
    /// Shared with sub-agents that work in the same directories.
    editor: Arc<OnceLock<Arc<dyn EditorFiles>>>,
    working_directories: Mutex<Vec<PathBuf>>,
    known_files: Mutex<KnownFiles>,
}

impl FileContext {
    pub(crate) fn new(cwd: PathBuf) -> Self {
        Self {
            backup: None,
            editor: Arc::default(),
            working_directories: Mutex::new(vec![cwd.clone()]),
            known_files: Mutex::default(),
            cwd,
        }
    }

    /// With the same directories and backups, but no known files.
    pub(crate) fn for_subagent(&self) -> Self {
        Self {
            cwd: self.cwd.clone(),
            backup: self.backup.clone(),
            editor: Arc::clone(&self.editor),
            working_directories: Mutex::new(self.working_directories()),
            known_files: Mutex::default(),
        }
    }

    /// The same in other directories, without the editor; the first becomes `cwd`.
    pub(crate) fn for_subagent_in(&self, cwd: PathBuf, directories: Vec<PathBuf>) -> Self {
        let working_directories = Mutex::new(directories);
        Self { cwd, working_directories, editor: Arc::default(), ..self.for_subagent() }
    }

    /// Reads and writes text files through this editor from now on. Only the first call has an
    /// effect.
    pub fn set_editor(&self, editor: Arc<dyn EditorFiles>) {
        let _ = self.editor.set(editor);
    }

    pub(super) fn editor(&self) -> Option<Arc<dyn EditorFiles>> {
        self.editor.get().cloned()
    }

    pub fn add_directory(&self, directory: impl Into<PathBuf>) {
        let directory = directory.into();
        let mut directories = lock(&self.working_directories);
        if !directories.contains(&directory) {
            directories.push(directory);
        }
    }

    /// The working directories, `cwd` first.
    #[must_use]
    pub fn working_directories(&self) -> Vec<PathBuf> {
        lock(&self.working_directories).clone()
    }

    /// Compares path components, without resolving anything.
    pub(crate) fn is_in_working_directory(&self, path: &Path) -> bool {
        lock(&self.working_directories).iter().any(|directory| path.starts_with(directory))
    }

    /// Files that changed since the model last saw them, with the difference if it is short. Each
    /// change is returned once. Blocks on the file system for a few milliseconds.
    #[must_use]
    pub fn find_changed_files(&self) -> Vec<FileChange> {
        changed_files::find_changed_files(self)
    }

    /// Files the model has read or written, most recent first.
    #[must_use]
    pub fn recent_files(&self) -> Vec<PathBuf> {
        lock(&self.known_files).paths_by_recency()
    }

    pub(crate) fn remember_file(&self, path: PathBuf, known: KnownFile) {
        lock(&self.known_files).remember(path, known);
    }

    pub(crate) fn known_file(&self, path: &Path) -> Option<KnownFile> {
        lock(&self.known_files).get(path).cloned()
    }

    pub(crate) fn update_known_file(&self, path: &Path, change: impl FnOnce(&mut KnownFile)) {
        lock(&self.known_files).update(path, change);
    }

    /// The context no longer contains any file: each must be read again before it is changed.
    pub fn forget_files(&self) {
        *lock(&self.known_files) = KnownFiles::default();
    }

    pub(crate) fn forget_file(&self, path: &Path) {
        lock(&self.known_files).forget(path);
    }
}
