//! What all calls of one session share: directories, environment, limits, and what they remember.
//!
//! Two things are remembered: where the shell stands, and the state of each file when it was last
//! read or written here. Neither survives the process; a resumed session reads its files again.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use windlass_permission::Hidden;

use crate::file::{self, FileChange, Known, Memory};

/// What all calls of one session share.
#[derive(Debug)]
pub struct Surroundings {
    /// Where the session works; absolute. The shell starts here and returns here.
    pub cwd: PathBuf,
    /// Where long outputs are kept. Made when first needed.
    pub spill: PathBuf,
    /// The environment of child processes, complete.
    pub environment: Vec<(OsString, OsString)>,
    /// Bounds.
    pub limits: Limits,
    /// What searching tools must pass over: the paths that deny rules forbid to read.
    pub hidden: Hidden,
    directories: Mutex<Vec<PathBuf>>,
    shell: Mutex<PathBuf>,
    files: Mutex<Memory>,
    spills: AtomicU64,
}

/// Bounds that settings may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How long a shell command may take when it does not say.
    pub command_default: Duration,
    /// How long it may ask for.
    pub command_max: Duration,
    /// Bytes of a shell command's output shown to the model.
    pub output_inline_max: usize,
    /// Bytes of output kept on disk; beyond them the command is stopped.
    pub output_spill_max: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            command_default: Duration::from_secs(120),
            command_max: Duration::from_secs(600),
            output_inline_max: 30_000,
            output_spill_max: 64 * 1024 * 1024,
        }
    }
}

impl Surroundings {
    /// Surroundings in a directory, with this process's environment cleaned for children.
    #[must_use]
    pub fn new(cwd: impl Into<PathBuf>, spill: impl Into<PathBuf>) -> Self {
        let cwd = cwd.into();
        Self {
            spill: spill.into(),
            environment: child_environment(std::env::vars_os()),
            limits: Limits::default(),
            hidden: Hidden::default(),
            directories: Mutex::new(vec![cwd.clone()]),
            shell: Mutex::new(cwd.clone()),
            files: Mutex::default(),
            spills: AtomicU64::new(0),
            cwd,
        }
    }

    /// One more working directory.
    pub fn add_directory(&self, directory: impl Into<PathBuf>) {
        let directory = directory.into();
        let mut directories = lock(&self.directories);
        if !directories.contains(&directory) {
            directories.push(directory);
        }
    }

    /// The working directories; the first is where the session works.
    #[must_use]
    pub fn directories(&self) -> Vec<PathBuf> {
        lock(&self.directories).clone()
    }

    /// Does the path lie in a working directory, by its components?
    #[must_use]
    pub fn is_inside(&self, path: &Path) -> bool {
        lock(&self.directories).iter().any(|directory| path.starts_with(directory))
    }

    /// Where the shell stands.
    #[must_use]
    pub fn shell_directory(&self) -> PathBuf {
        lock(&self.shell).clone()
    }

    pub(crate) fn move_shell(&self, to: PathBuf) {
        *lock(&self.shell) = to;
    }

    /// Files that changed since the model last saw them, by whosever hand, with what changed where
    /// that is short. Each change is told once. Blocks on the file system, for a few milliseconds.
    #[must_use]
    pub fn changed_behind(&self) -> Vec<FileChange> {
        file::changed(self)
    }

    /// The files the model has read or written, the one used last first.
    #[must_use]
    pub fn in_hand(&self) -> Vec<PathBuf> {
        lock(&self.files).recent()
    }

    /// The text of a file as it is now, with line numbers and cut to so many bytes, for a model that
    /// has lost sight of it. It counts as read. Blocks on the file system.
    ///
    /// # Errors
    /// Why it cannot be shown, in words.
    pub fn reread(&self, path: &Path, bytes_max: usize) -> Result<String, String> {
        crate::read::again(self, path, bytes_max)
    }

    pub(crate) fn remember(&self, path: PathBuf, known: Known) {
        lock(&self.files).remember(path, known);
    }

    pub(crate) fn known(&self, path: &Path) -> Option<Known> {
        lock(&self.files).of(path).cloned()
    }

    pub(crate) fn settle(&self, path: &Path, change: impl FnOnce(&mut Known)) {
        lock(&self.files).settle(path, change);
    }

    pub(crate) fn forget(&self, path: &Path) {
        lock(&self.files).forget(path);
    }

    /// A name in the spill directory that no other call of this process uses.
    pub(crate) fn spill_path(&self, kind: &str) -> PathBuf {
        let number = self.spills.fetch_add(1, Ordering::Relaxed);
        self.spill.join(format!("{kind}-{}-{number}", std::process::id()))
    }
}

/// Nothing is left half-done under these locks, so a poisoned one is as good as new.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What children may know of our environment: no credentials, no telemetry settings, and nothing
/// that would page, prompt or open an editor.
pub fn child_environment(
    ours: impl IntoIterator<Item = (OsString, OsString)>,
) -> Vec<(OsString, OsString)> {
    let mut environment: Vec<_> = ours
        .into_iter()
        .filter(|(name, _)| !is_hidden(name))
        .filter(|(name, _)| !QUIET.iter().any(|(quiet, _)| OsStr::new(quiet) == name))
        .collect();
    environment.extend(QUIET.iter().map(|(name, value)| (name.into(), value.into())));
    environment
}

fn is_hidden(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b"OTEL_")
        || HIDDEN.iter().any(|hidden| OsStr::new(hidden) == name)
}

/// Ours alone; never a child's.
const HIDDEN: &[&str] = &[
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "OPENAI_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    // Would make a non-interactive shell run a file before the command that was judged.
    "BASH_ENV",
    "ENV",
];

const QUIET: &[(&str, &str)] = &[
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("MANPAGER", "cat"),
    ("SYSTEMD_PAGER", "cat"),
    ("EDITOR", "true"),
    ("VISUAL", "true"),
    ("GIT_EDITOR", "true"),
    ("GIT_SEQUENCE_EDITOR", "true"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("CLAUDECODE", "1"),
];
