//! What all calls of one session share: directories, environment, limits, and what they remember.
//!
//! Remembered are: where the shell stands and what it has exported, the state of each file when it
//! was last read or written here, the commands in the background, and the model's lists. Only the
//! lists can be put back into another process; a resumed session reads its files again.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use windlass_permission::Hidden;
use windlass_vocabulary::ToolName;

use crate::background::Background;
use crate::environment::{Exported, child_environment};
use crate::file::{self, FileChange, Keeper, Known, Memory};
use crate::lists::Lists;
use crate::process::{self, Launcher, Running};
use crate::secrets::Secrets;
use crate::web::Network;

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
    /// How processes are really started; as they are where there is none.
    pub launcher: Option<Arc<dyn Launcher>>,
    /// Our own keys, which nothing that is kept or shown may hold.
    pub secrets: Secrets,
    /// Commands that run outside of what holds the others, by the user's wish.
    pub outside: Vec<String>,
    /// What of the network may be fetched from besides the public part.
    pub network: Network,
    /// Who keeps what files held before they are changed, if somebody does.
    pub keeper: Option<Arc<dyn Keeper>>,
    /// Folders that hold skills, the one that wins first.
    pub skills: Vec<PathBuf>,
    /// The same, by rules that came later.
    hidden_since: Mutex<Hidden>,
    directories: Mutex<Vec<PathBuf>>,
    shell: Mutex<PathBuf>,
    exported: Mutex<Exported>,
    session: Option<PathBuf>,
    background: Background,
    lists: Mutex<Lists>,
    offered: Mutex<BTreeSet<ToolName>>,
    files: Mutex<Memory>,
    owner: OnceLock<Option<Running>>,
    crowd: tokio::sync::Mutex<()>,
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
    /// Processes a command may have at a time; beyond them it is stopped.
    pub processes_max: usize,
    /// Commands in the background at a time.
    pub background_tasks_max: usize,
    /// How long a command in the background may take.
    pub background_max: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            command_default: Duration::from_secs(120),
            command_max: Duration::from_secs(600),
            output_inline_max: 30_000,
            output_spill_max: 64 * 1024 * 1024,
            processes_max: 2_000,
            background_tasks_max: 16,
            background_max: Duration::from_secs(12 * 60 * 60),
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
            launcher: None,
            outside: Vec::new(),
            secrets: Secrets::default(),
            network: Network::default(),
            keeper: None,
            skills: Vec::new(),
            hidden_since: Mutex::default(),
            directories: Mutex::new(vec![cwd.clone()]),
            shell: Mutex::new(cwd.clone()),
            exported: Mutex::default(),
            session: session_program(),
            background: Background::default(),
            lists: Mutex::default(),
            offered: Mutex::default(),
            files: Mutex::default(),
            owner: OnceLock::new(),
            crowd: tokio::sync::Mutex::default(),
            cwd,
        }
    }

    /// The same place for somebody else: the same bounds and the same environment, and nothing of
    /// what is remembered. What is hidden follows from the other's rules and is for the caller to
    /// set.
    #[must_use]
    pub fn for_another(&self) -> Self {
        let mut other = Self::new(self.cwd.clone(), self.spill.clone());
        other.environment.clone_from(&self.environment);
        other.limits = self.limits;
        other.launcher.clone_from(&self.launcher);
        other.secrets = self.secrets.clone();
        other.outside.clone_from(&self.outside);
        other.network = self.network;
        other.keeper.clone_from(&self.keeper);
        other.skills.clone_from(&self.skills);
        *lock(&other.directories) = self.directories();
        other
    }

    /// The same for somebody who works elsewhere, in these directories and no others; the first is
    /// where it begins.
    ///
    /// # Errors
    /// When whatever holds commands cannot hold them there, in words.
    pub fn for_another_in(&self, directories: Vec<PathBuf>) -> Result<Self, String> {
        let Some(cwd) = directories.first().cloned() else {
            return Err("There is no directory to work in.".to_owned());
        };
        let mut other = self.for_another();
        if let Some(launcher) = &self.launcher {
            let moved = launcher.moved(&directories);
            other.launcher = Some(moved.ok_or("Commands cannot be confined to another place.")?);
        }
        *lock(&other.directories) = directories;
        *lock(&other.shell) = cwd.clone();
        other.cwd = cwd;
        Ok(other)
    }

    /// Rules have changed: this is to be passed over too, in the place of what was said so before.
    pub fn hide(&self, hidden: Hidden) {
        *lock(&self.hidden_since) = hidden;
    }

    /// Must searching tools pass over this path?
    #[must_use]
    pub fn is_hidden(&self, path: &Path) -> bool {
        self.hidden.covers(path) || lock(&self.hidden_since).covers(path)
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

    /// The commands in the background.
    #[must_use]
    pub fn background(&self) -> &Background {
        &self.background
    }

    /// Ends commands that an earlier process of this session left running when it was killed.
    /// Returns where what each wrote is, or would be. For the start of a session that goes on.
    pub fn end_left_over(&self) -> Vec<PathBuf> {
        process::sweep(&self.spill)
    }

    /// The lists the model keeps, to be carried through a compaction or into the journal.
    #[must_use]
    pub fn lists(&self) -> Lists {
        lock(&self.lists).clone()
    }

    /// Puts lists back that were kept elsewhere, for a session that goes on.
    pub fn restore_lists(&self, lists: Lists) {
        *lock(&self.lists) = lists;
    }

    pub(crate) fn change_lists<T>(&self, change: impl FnOnce(&mut Lists) -> T) -> T {
        change(&mut lock(&self.lists))
    }

    /// Notes that a tool is offered from now on. Says whether it was not yet.
    pub fn note_offered(&self, tool: &ToolName) -> bool {
        lock(&self.offered).insert(tool.clone())
    }

    /// What the shell has exported since the session began: the value, or `None` for a variable
    /// that was unset.
    #[must_use]
    pub fn exported(&self) -> Vec<(OsString, Option<OsString>)> {
        lock(&self.exported).list()
    }

    /// The environment of the next child.
    pub(crate) fn child_environment(&self) -> Vec<(OsString, OsString)> {
        lock(&self.exported).over(&self.environment)
    }

    /// Carries over what a shell was left with that began with the environment of children.
    pub fn keep_variables(&self, left: &[(OsString, OsString)]) {
        *lock(&self.exported) = Exported::between(&self.environment, left);
    }

    /// Says on disk that commands which run here are ours, before the first one starts.
    pub(crate) fn own_commands(&self) {
        self.owner.get_or_init(|| Running::owner(self));
    }

    /// Where calls wait for their turn when the system has no room.
    pub(crate) fn crowd(&self) -> &tokio::sync::Mutex<()> {
        &self.crowd
    }

    /// The program that begins a session, where there is one.
    pub(crate) fn session_program(&self) -> Option<&PathBuf> {
        self.session.as_ref()
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

    /// The model has lost sight of every file: each must be read again before it is changed.
    pub fn forget_files(&self) {
        *lock(&self.files) = Memory::default();
    }

    pub(crate) fn forget(&self, path: &Path) {
        lock(&self.files).forget(path);
    }

    /// A name in the spill directory that no other call of this process uses.
    pub(crate) fn spill_path(&self, kind: &str) -> PathBuf {
        let number = SPILLS.fetch_add(1, Ordering::Relaxed);
        self.spill.join(format!("{kind}-{}-{number}", std::process::id()))
    }
}

/// Sessions may share a spill directory, so the names are counted for the whole process.
static SPILLS: AtomicU64 = AtomicU64::new(0);

/// Nothing is left half-done under these locks, so a poisoned one is as good as new.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn session_program() -> Option<PathBuf> {
    ["/usr/bin/setsid", "/bin/setsid"].iter().map(PathBuf::from).find(|path| path.exists())
}
