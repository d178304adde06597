//! Prepares the confinement that a grant requires, before the first process of a call starts.
//!
//! A confined command may write to one directory of its own: for temporary files, and for the state
//! of the shell. Files that deny rules hide are looked up on disk, because the kernel matches paths
//! and not patterns. Git is configured not to run programs that the repository names.

use std::ffi::OsString;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use windlass_permission::Confinement;
use windlass_permission::shell_command::{is_read_only_line, may_start_git};

use super::call_confinement::CallConfinement;
use super::process_context::ProcessContext;
use crate::tool_session_context::ToolSessionContext;

/// Limit on the entries scanned for hidden files; beyond it nothing may run, because hidden files
/// could be missed.
const ENTRIES_MAX: usize = 50_000;

#[derive(Clone, Debug, Default)]
pub(crate) struct ProcessConfinement {
    pub(crate) kind: Confinement,
    pub(crate) private_directory: Option<Arc<PrivateDirectory>>,
    /// Files inside the working directories that deny rules hide.
    pub(crate) hidden: Vec<PathBuf>,
    /// What the grant lets the command read.
    pub(crate) readable: Vec<PathBuf>,
    /// The git variables, for a command that may start git.
    pub(super) git_variables: Option<Vec<(OsString, OsString)>>,
    /// The directory with the plan of confined programs.
    pub(super) held_programs: Option<Arc<PrivateDirectory>>,
}

/// A directory that one command may write to. Removed with its last owner.
#[derive(Debug)]
pub(crate) struct PrivateDirectory(PathBuf);

impl ProcessConfinement {
    /// Prepares nothing if this machine cannot confine commands: the permission check has taken
    /// that into account.
    ///
    /// # Errors
    /// It cannot be confined as required, as a message for the model.
    pub(crate) fn prepare(
        granted: CallConfinement<'_>,
        context: &ToolSessionContext,
    ) -> Result<Self, String> {
        let kind = granted.kind;
        let is_held = context.processes.launcher.is_some() || context.processes.cell.is_some();
        if kind == Confinement::Unconfined || !is_held {
            return Ok(Self { kind, ..Self::default() });
        }
        let directory = PrivateDirectory::create(&context.processes)
            .map_err(|error| format!("No directory for temporary files can be made: {error}."))?;
        let hidden = find_hidden_files(context)?;
        let private_directory = Some(Arc::new(directory));
        let readable = granted.readable.to_vec();
        Ok(Self { kind, private_directory, hidden, readable, ..Self::default() })
    }

    /// Keeps git in this command from running programs that the repository names, if it may start
    /// git. This also applies to commands that the user or a rule permitted: permitting a git
    /// command that reads does not permit such programs.
    ///
    /// # Errors
    /// Git would run such a program anyway, as a message for the model.
    pub(crate) async fn neutralize_git(
        mut self,
        command: &str,
        directory: &Path,
        context: &ToolSessionContext,
    ) -> Result<Self, String> {
        let is_judged = self.kind != Confinement::Unconfined;
        if !may_start_git(command) || !is_judged && !is_read_only_line(command) {
            return Ok(self);
        }
        let held_git = Arc::clone(&context.processes.held_git);
        let directory = directory.to_owned();
        let found = tokio::task::spawn_blocking(move || held_git.neutralize(&directory)).await;
        let found =
            found.map_err(|_| "It is unknown which programs git would run here.".to_owned())?;
        if let Some(why) = found.obstacle.filter(|_| is_judged) {
            let advice = match context.processes.cell {
                Some(_) => super::ASK_TO_RUN_UNCONFINED,
                None => "The user can run it, or remove the setting.",
            };
            return Err(format!("{why} Git does not run so without the user's yes. {advice}"));
        }
        self.git_variables = Some(found.variables);
        Ok(self)
    }
}

impl ProcessConfinement {
    /// Adds the directory of confined programs.
    pub(crate) fn with_held_programs(self, directory: Arc<PrivateDirectory>) -> Self {
        Self { held_programs: Some(directory), ..self }
    }
}

impl PrivateDirectory {
    pub(super) fn create(processes: &ProcessContext) -> std::io::Result<Self> {
        std::fs::create_dir_all(&processes.spill_directory)?;
        let path = processes.new_spill_path("private");
        std::fs::DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for PrivateDirectory {
    fn drop(&mut self) {
        // If this fails, the session's directory is removed later.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Files and directories inside the working directories that deny rules hide.
///
/// # Errors
/// There are too many files to scan, as a message for the model.
pub(crate) fn find_hidden_files(context: &ToolSessionContext) -> Result<Vec<PathBuf>, String> {
    if context.hidden_paths.is_empty() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    let mut seen = 0_usize;
    let mut pending = context.files.working_directories();
    while let Some(directory) = pending.pop() {
        let Ok(entries) = std::fs::read_dir(&directory) else {
            continue;
        };
        for entry in entries.flatten() {
            seen += 1;
            if seen > ENTRIES_MAX {
                return Err(format!(
                    "A deny rule hides files, and the working directories hold more than \
                     {ENTRIES_MAX} files to look through, so the command cannot be confined. {}",
                    super::ASK_TO_RUN_UNCONFINED
                ));
            }
            let path = entry.path();
            if context.hidden_paths.covers(&path) {
                found.push(path);
            } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                pending.push(path);
            }
        }
    }
    Ok(found)
}
