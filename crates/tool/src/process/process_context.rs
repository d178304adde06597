//! What every process of a session is started with.

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
/// session starts, fixed afterwards.
#[derive(Debug)]
pub struct ProcessContext {
    /// Holds outputs too long to show. Made when first needed.
    pub spill_directory: PathBuf,
    /// The environment of child processes, complete.
    pub environment: Vec<(OsString, OsString)>,
    /// Starts processes confined; without one they start as they are.
    pub launcher: Option<Arc<dyn ProcessLauncher>>,
    /// Where there is no launcher, starts those processes whose grant holds them to something.
    pub cell: Option<Arc<dyn ProcessLauncher>>,
    /// Runs commands on trial, where that can be had.
    pub trials: Option<Arc<dyn CommandTrials>>,
    /// Commands the user lets run without confinement.
    pub unsandboxed_commands: Vec<String>,
    /// How git is kept from running what a repository names.
    pub(crate) held_git: Arc<HeldGit>,
    /// The bash that runs commands, if the user names one.
    pub bash_program: Option<PathBuf>,
    /// Words before every command, which is then their last argument: a program of the user's that
    /// runs it.
    pub command_prefix: Option<String>,
    pub(super) setsid_program: Option<PathBuf>,
    owner_note: OnceLock<Option<RunningNote>>,
    /// Calls wait here for their turn when the system has no room for one more process.
    pub(super) spawn_queue: tokio::sync::Mutex<()>,
}

/// Sessions may share a spill directory, so the names are counted for the whole process.
static SPILL_COUNTER: AtomicU64 = AtomicU64::new(0);

impl ProcessContext {
    /// With this process's environment, cleaned for children.
    pub(crate) fn new(spill_directory: PathBuf) -> Self {
        let environment = build_child_environment(std::env::vars_os());
        Self { environment, ..Self::without_launcher(spill_directory) }
    }

    /// Without a launcher and with an empty environment, for programs that are given their own.
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

    /// The same, with processes started by another launcher.
    pub(crate) fn with_launcher(&self, launcher: Arc<dyn ProcessLauncher>) -> Self {
        Self { launcher: Some(launcher), ..self.for_subagent() }
    }

    /// Ends commands that an earlier process of this session left running when it was killed.
    /// Returns where the output of each is, or would be. For the start of a resumed session.
    pub fn end_orphaned_commands(&self) -> Vec<PathBuf> {
        running_note::end_orphaned_commands(&self.spill_directory)
    }

    /// A tool is about to make this file, which it may.
    pub(crate) fn accept_file(&self, path: &Path) {
        if let Some(launcher) = &self.launcher {
            launcher.accept_file(path);
        }
    }

    /// Notes on disk that commands started here are ours, before the first one starts.
    pub(super) fn write_owner_note(&self) {
        self.owner_note.get_or_init(|| RunningNote::write_owner(self));
    }

    /// A name in the spill directory that no other call of this process uses.
    pub(crate) fn new_spill_path(&self, kind: &str) -> PathBuf {
        let number = SPILL_COUNTER.fetch_add(1, Ordering::Relaxed);
        self.spill_directory.join(format!("{kind}-{}-{number}", std::process::id()))
    }
}

fn find_setsid() -> Option<PathBuf> {
    ["/usr/bin/setsid", "/bin/setsid"].iter().map(PathBuf::from).find(|path| path.exists())
}
