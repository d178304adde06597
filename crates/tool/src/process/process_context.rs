//! What all processes of a session are started with.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use windlass_git::HeldGit;

use super::command_trial::CommandTrials;
use super::launch::ProcessLauncher;
use super::running_note::{self, RunningNote};
use crate::environment::build_child_environment;

/// Environment, confinement and spill directory of a session's processes. Configured before the
/// session starts, and fixed afterwards.
#[derive(Debug)]
pub struct ProcessContext {
    /// The directory for long outputs. Created when first needed.
    pub spill_directory: PathBuf,
    /// The complete environment of child processes.
    pub environment: Vec<(OsString, OsString)>,
    /// Confines processes; without it they run unconfined.
    pub launcher: Option<Arc<dyn ProcessLauncher>>,
    /// If there is no launcher, starts the processes whose grant requires confinement.
    pub cell: Option<Arc<dyn ProcessLauncher>>,
    /// Runs commands on trial, if that is supported.
    pub trials: Option<Arc<dyn CommandTrials>>,
    /// Commands that may run without confinement.
    pub unsandboxed_commands: Vec<String>,
    /// Keeps git from running programs that a repository names.
    pub(crate) held_git: Arc<HeldGit>,
    /// The bash to use, if the user configured one.
    pub bash_program: Option<PathBuf>,
    /// A program of the user's that runs every command, with its arguments; the command is appended
    /// as the last one.
    pub command_prefix: Option<String>,
    pub(super) setsid_program: Option<PathBuf>,
    owner_note: OnceLock<Option<RunningNote>>,
    /// Serializes calls that wait for system resources to start a process.
    pub(super) spawn_queue: tokio::sync::Mutex<()>,
}

/// Sessions may share a spill directory, so file names are numbered per process.
static SPILL_COUNTER: AtomicU64 = AtomicU64::new(0);

impl ProcessContext {
    /// With the filtered environment of this process.
    pub(crate) fn new(spill_directory: PathBuf) -> Self {
        let environment = build_child_environment(std::env::vars_os());
        Self { environment, ..Self::without_launcher(spill_directory) }
    }

    /// Without a launcher and with an empty environment, for programs that get their own.
    pub(crate) fn without_launcher(spill_directory: PathBuf) -> Self {
        Self {
            spill_directory,
            environment: Vec::new(),
            launcher: None,
            cell: None,
            trials: None,
            unsandboxed_commands: Vec::new(),
            held_git: Arc::default(),
            bash_program: None,
            command_prefix: None,
            setsid_program: find_setsid(),
            owner_note: OnceLock::new(),
            spawn_queue: tokio::sync::Mutex::default(),
        }
    }

    pub(crate) fn for_subagent(&self) -> Self {
        Self {
            environment: self.environment.clone(),
            launcher: self.launcher.clone(),
            cell: self.cell.clone(),
            trials: self.trials.clone(),
            unsandboxed_commands: self.unsandboxed_commands.clone(),
            held_git: Arc::clone(&self.held_git),
            bash_program: self.bash_program.clone(),
            command_prefix: self.command_prefix.clone(),
            ..Self::without_launcher(self.spill_directory.clone())
        }
    }

    /// The same with another launcher.
    pub(crate) fn with_launcher(&self, launcher: Arc<dyn ProcessLauncher>) -> Self {
        Self { launcher: Some(launcher), ..self.for_subagent() }
    }

    /// Ends commands left by an earlier process of this session that was killed. Returns the output
    /// path of each. Called when a session is resumed.
    pub fn end_orphaned_commands(&self) -> Vec<PathBuf> {
        running_note::end_orphaned_commands(&self.spill_directory)
    }

    /// Reports that a tool is about to create this file.
    pub(crate) fn accept_file(&self, path: &Path) {
        if let Some(launcher) = &self.launcher {
            launcher.accept_file(path);
        }
    }

    /// Records on disk, before the first command starts, that commands here are ours.
    pub(super) fn write_owner_note(&self) {
        self.owner_note.get_or_init(|| RunningNote::write_owner(self));
    }

    /// A file name in the spill directory that this process has not used yet.
    pub(crate) fn new_spill_path(&self, kind: &str) -> PathBuf {
        let number = SPILL_COUNTER.fetch_add(1, Ordering::Relaxed);
        self.spill_directory.join(format!("{kind}-{}-{number}", std::process::id()))
    }
}

fn find_setsid() -> Option<PathBuf> {
    ["/usr/bin/setsid", "/bin/setsid"].iter().map(PathBuf::from).find(|path| path.exists())
}
