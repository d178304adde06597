//! What all calls of one session share, grouped by what changes together.
//!
//! Only the model's lists can be restored in another process; a resumed session must read its files
//! again.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::background::BackgroundTasks;
use crate::file::FileContext;
use crate::hidden_path_set::HiddenPathSet;
use crate::limits::ToolLimits;
use crate::model_state::ModelState;
use crate::network_access::NetworkAccess;
use crate::process::ProcessContext;
use crate::secrets::Secrets;
use crate::shell_state::{CommandSide, ShellState};

/// What all calls of one session share.
#[derive(Debug)]
pub struct ToolSessionContext {
    pub files: FileContext,
    pub hidden_paths: HiddenPathSet,
    pub processes: ProcessContext,
    pub shell: ShellState,
    pub model: ModelState,
    pub background: BackgroundTasks,
    pub limits: ToolLimits,
    /// Our own keys, which must not be in anything stored or shown.
    pub secrets: Secrets,
    /// Access to addresses that are not public.
    pub network: NetworkAccess,
    /// Folders that contain skills; of several with the same name, the first one is used.
    pub skill_directories: Vec<PathBuf>,
}

impl ToolSessionContext {
    /// A context in this directory, with the filtered environment of this process.
    #[must_use]
    pub fn new(cwd: impl Into<PathBuf>, spill: impl Into<PathBuf>) -> Self {
        let cwd = cwd.into();
        Self {
            hidden_paths: HiddenPathSet::default(),
            processes: ProcessContext::new(spill.into()),
            shell: ShellState::new(cwd.clone()),
            model: ModelState::default(),
            background: BackgroundTasks::default(),
            limits: ToolLimits::default(),
            secrets: Secrets::default(),
            network: NetworkAccess::default(),
            skill_directories: Vec::new(),
            files: FileContext::new(cwd),
        }
    }

    /// Keeps the configuration, but no state of this session. The caller must set the hidden paths
    /// of the sub-agent's rules.
    #[must_use]
    pub fn for_subagent(&self) -> Self {
        Self {
            files: self.files.for_subagent(),
            hidden_paths: self.hidden_paths.for_subagent(),
            processes: self.processes.for_subagent(),
            shell: ShellState::new(self.files.cwd.clone()),
            model: ModelState::default(),
            background: BackgroundTasks::default(),
            limits: self.limits,
            secrets: self.secrets.clone(),
            network: self.network,
            skill_directories: self.skill_directories.clone(),
        }
    }

    /// The same for a sub-agent that works only in other directories; it starts in the first.
    ///
    /// # Errors
    /// The launcher cannot confine commands to these directories. The error is a message.
    pub fn for_subagent_in(&self, directories: Vec<PathBuf>) -> Result<Self, String> {
        let Some(cwd) = directories.first().cloned() else {
            return Err("There is no directory to work in.".to_owned());
        };
        let mut subagent = self.for_subagent();
        if let Some(launcher) = &self.processes.launcher {
            let moved = launcher.for_directories(&directories);
            subagent.processes.launcher =
                Some(moved.ok_or("Commands cannot be confined to another place.")?);
        }
        if let Some(cell) = &self.processes.cell {
            let moved = cell.for_directories(&directories);
            subagent.processes.cell =
                Some(moved.ok_or("Commands cannot be confined to other directories.")?);
        }
        subagent.shell = ShellState::new(cwd.clone());
        subagent.files = self.files.for_subagent_in(cwd, directories);
        Ok(subagent)
    }

    /// The environment of the next child on this side: the configured one, with the shell's
    /// exported variables.
    pub(crate) fn build_child_environment(&self, side: CommandSide) -> Vec<(OsString, OsString)> {
        self.shell.build_environment(&self.processes.environment, side)
    }

    /// Stores the final environment of a shell that was started with the configured one, in the
    /// session's sandbox if it has one.
    pub fn set_exported_variables(&self, left: &[(OsString, OsString)]) {
        self.shell.set_exported_variables(&self.processes.environment, left, CommandSide::Inside);
    }
}
