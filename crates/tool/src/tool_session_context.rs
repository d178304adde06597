//! What all calls of one session share: directories, environment, limits, and what they remember.
//!
//! Remembered are: where the shell stands and what it has exported, the state of each file when it
//! was last read or written here, the commands in the background, and the model's lists. Only the
//! lists can be put back into another process; a resumed session reads its files again.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use windlass_permission::HiddenPaths;
use windlass_vocabulary::ToolName;

use crate::background::BackgroundTasks;
use crate::environment::{ExportedVariables, build_child_environment};
use crate::file::{self, FileBackupStore, FileChange, KnownFile, KnownFiles};
use crate::limits::ToolLimits;
use crate::lock::lock;
use crate::network_access::NetworkAccess;
use crate::process::{self, ProcessLauncher, RunningNote};
use crate::secrets::Secrets;
use crate::task_lists::TaskLists;

/// What all calls of one session share.
#[derive(Debug)]
pub struct ToolSessionContext {
    /// Where the session works; absolute. The shell starts here and returns here.
    pub cwd: PathBuf,
    /// Where long outputs are kept. Made when first needed.
    pub spill_directory: PathBuf,
    /// The environment of child processes, complete.
    pub environment: Vec<(OsString, OsString)>,
    /// Bounds.
    pub limits: ToolLimits,
    /// What searching tools must pass over: the paths that deny rules forbid to read.
    pub hidden_paths: HiddenPaths,
    /// How processes are really started; as they are where there is none.
    pub launcher: Option<Arc<dyn ProcessLauncher>>,
    /// Our own keys, which nothing that is kept or shown may hold.
    pub secrets: Secrets,
    /// Commands that run outside of what holds the others, by the user's wish.
    pub unsandboxed_commands: Vec<String>,
    /// What of the network may be fetched from besides the public part.
    pub network: NetworkAccess,
    /// Who keeps what files held before they are changed, if somebody does.
    pub file_backup: Option<Arc<dyn FileBackupStore>>,
    /// Folders that hold skills, the one that wins first.
    pub skill_directories: Vec<PathBuf>,
    /// The same, by rules that came later.
    added_hidden_paths: Mutex<HiddenPaths>,
    working_directories: Mutex<Vec<PathBuf>>,
    shell_directory: Mutex<PathBuf>,
    exported_variables: Mutex<ExportedVariables>,
    setsid_program: Option<PathBuf>,
    background: BackgroundTasks,
    task_lists: Mutex<TaskLists>,
    announced_tools: Mutex<BTreeSet<ToolName>>,
    known_files: Mutex<KnownFiles>,
    owner_note: OnceLock<Option<RunningNote>>,
    spawn_queue: tokio::sync::Mutex<()>,
}

impl ToolSessionContext {
    /// Surroundings in a directory, with this process's environment cleaned for children.
    #[must_use]
    pub fn new(cwd: impl Into<PathBuf>, spill: impl Into<PathBuf>) -> Self {
        let cwd = cwd.into();
        Self {
            spill_directory: spill.into(),
            environment: build_child_environment(std::env::vars_os()),
            limits: ToolLimits::default(),
            hidden_paths: HiddenPaths::default(),
            launcher: None,
            unsandboxed_commands: Vec::new(),
            secrets: Secrets::default(),
            network: NetworkAccess::default(),
            file_backup: None,
            skill_directories: Vec::new(),
            added_hidden_paths: Mutex::default(),
            working_directories: Mutex::new(vec![cwd.clone()]),
            shell_directory: Mutex::new(cwd.clone()),
            exported_variables: Mutex::default(),
            setsid_program: find_setsid(),
            background: BackgroundTasks::default(),
            task_lists: Mutex::default(),
            announced_tools: Mutex::default(),
            known_files: Mutex::default(),
            owner_note: OnceLock::new(),
            spawn_queue: tokio::sync::Mutex::default(),
            cwd,
        }
    }

    /// The same place for somebody else: the same bounds and the same environment, and nothing of
    /// what is remembered. What is hidden follows from the other's rules and is for the caller to
    /// set.
    #[must_use]
    pub fn for_subagent(&self) -> Self {
        let mut other = Self::new(self.cwd.clone(), self.spill_directory.clone());
        other.environment.clone_from(&self.environment);
        other.limits = self.limits;
        other.launcher.clone_from(&self.launcher);
        other.secrets = self.secrets.clone();
        other.unsandboxed_commands.clone_from(&self.unsandboxed_commands);
        other.network = self.network;
        other.file_backup.clone_from(&self.file_backup);
        other.skill_directories.clone_from(&self.skill_directories);
        *lock(&other.working_directories) = self.working_directories();
        other
    }

    /// The same for somebody who works elsewhere, in these directories and no others; the first is
    /// where it begins.
    ///
    /// # Errors
    /// When whatever holds commands cannot hold them there, in words.
    pub fn for_subagent_in(&self, directories: Vec<PathBuf>) -> Result<Self, String> {
        let Some(cwd) = directories.first().cloned() else {
            return Err("There is no directory to work in.".to_owned());
        };
        let mut other = self.for_subagent();
        if let Some(launcher) = &self.launcher {
            let moved = launcher.for_directories(&directories);
            other.launcher = Some(moved.ok_or("Commands cannot be confined to another place.")?);
        }
        *lock(&other.working_directories) = directories;
        *lock(&other.shell_directory) = cwd.clone();
        other.cwd = cwd;
        Ok(other)
    }

    /// Rules have changed: this is to be passed over too, in the place of what was said so before.
    pub fn set_added_hidden_paths(&self, hidden: HiddenPaths) {
        *lock(&self.added_hidden_paths) = hidden;
    }

    /// Must searching tools pass over this path?
    #[must_use]
    pub fn is_hidden(&self, path: &Path) -> bool {
        self.hidden_paths.covers(path) || lock(&self.added_hidden_paths).covers(path)
    }

    /// One more working directory.
    pub fn add_directory(&self, directory: impl Into<PathBuf>) {
        let directory = directory.into();
        let mut directories = lock(&self.working_directories);
        if !directories.contains(&directory) {
            directories.push(directory);
        }
    }

    /// The working directories; the first is where the session works.
    #[must_use]
    pub fn working_directories(&self) -> Vec<PathBuf> {
        lock(&self.working_directories).clone()
    }

    /// Does the path lie in a working directory, by its components?
    #[must_use]
    pub fn is_in_working_directory(&self, path: &Path) -> bool {
        lock(&self.working_directories).iter().any(|directory| path.starts_with(directory))
    }

    /// Where the shell stands.
    #[must_use]
    pub fn shell_directory(&self) -> PathBuf {
        lock(&self.shell_directory).clone()
    }

    pub(crate) fn set_shell_directory(&self, to: PathBuf) {
        *lock(&self.shell_directory) = to;
    }

    /// The commands in the background.
    #[must_use]
    pub fn background(&self) -> &BackgroundTasks {
        &self.background
    }

    /// Ends commands that an earlier process of this session left running when it was killed.
    /// Returns where what each wrote is, or would be. For the start of a session that goes on.
    pub fn end_orphaned_commands(&self) -> Vec<PathBuf> {
        process::end_orphaned_commands(&self.spill_directory)
    }

    /// The lists the model keeps, to be carried through a compaction or into the journal.
    #[must_use]
    pub fn task_lists(&self) -> TaskLists {
        lock(&self.task_lists).clone()
    }

    /// Puts lists back that were kept elsewhere, for a session that goes on.
    pub fn restore_task_lists(&self, lists: TaskLists) {
        *lock(&self.task_lists) = lists;
    }

    pub(crate) fn update_task_lists<T>(&self, change: impl FnOnce(&mut TaskLists) -> T) -> T {
        change(&mut lock(&self.task_lists))
    }

    /// Notes that a tool is offered from now on. Says whether it was not yet.
    pub fn mark_tool_announced(&self, tool: &ToolName) -> bool {
        lock(&self.announced_tools).insert(tool.clone())
    }

    /// What the shell has exported since the session began: the value, or `None` for a variable
    /// that was unset.
    #[must_use]
    pub fn exported_variables(&self) -> Vec<(OsString, Option<OsString>)> {
        lock(&self.exported_variables).to_list()
    }

    /// The environment of the next child.
    pub(crate) fn build_child_environment(&self) -> Vec<(OsString, OsString)> {
        lock(&self.exported_variables).apply_to(&self.environment)
    }

    /// Carries over what a shell was left with that began with the environment of children.
    pub fn set_exported_variables(&self, left: &[(OsString, OsString)]) {
        *lock(&self.exported_variables) = ExportedVariables::diff(&self.environment, left);
    }

    /// Says on disk that commands which run here are ours, before the first one starts.
    pub(crate) fn write_owner_note(&self) {
        self.owner_note.get_or_init(|| RunningNote::write_owner(self));
    }

    /// Where calls wait for their turn when the system has no room.
    pub(crate) fn spawn_queue(&self) -> &tokio::sync::Mutex<()> {
        &self.spawn_queue
    }

    /// The program that begins a session, where there is one.
    pub(crate) fn setsid_program(&self) -> Option<&PathBuf> {
        self.setsid_program.as_ref()
    }

    /// Files that changed since the model last saw them, by whosever hand, with what changed where
    /// that is short. Each change is told once. Blocks on the file system, for a few milliseconds.
    #[must_use]
    pub fn find_changed_files(&self) -> Vec<FileChange> {
        file::find_changed_files(self)
    }

    /// The files the model has read or written, the one used last first.
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

    /// The model has lost sight of every file: each must be read again before it is changed.
    pub fn forget_files(&self) {
        *lock(&self.known_files) = KnownFiles::default();
    }

    pub(crate) fn forget_file(&self, path: &Path) {
        lock(&self.known_files).forget(path);
    }

    /// A name in the spill directory that no other call of this process uses.
    pub(crate) fn new_spill_path(&self, kind: &str) -> PathBuf {
        let number = SPILL_COUNTER.fetch_add(1, Ordering::Relaxed);
        self.spill_directory.join(format!("{kind}-{}-{number}", std::process::id()))
    }
}

/// Sessions may share a spill directory, so the names are counted for the whole process.
static SPILL_COUNTER: AtomicU64 = AtomicU64::new(0);

fn find_setsid() -> Option<PathBuf> {
    ["/usr/bin/setsid", "/bin/setsid"].iter().map(PathBuf::from).find(|path| path.exists())
}
