//! Confines commands that run without a question to what they were judged to do.
//!
//! A read-only command runs in a read-only cell. A command that the permission mode lets edit runs
//! in a sandbox with write access to the working directories. What cannot be confined does not
//! start: the model learns how to have the user asked instead.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use tokio::process::Child;
use windlass_permission::Confinement;
use windlass_sandbox::{
    Cell, CellPlan, HeldProgramPlan, PreparedCell, SYSTEM_SECRETS, SandboxProbeOptions,
    SandboxUnavailable, VisibleHome, explain_cell_failure, list_other_homes, secrets,
};
use windlass_tool::{
    ASK_TO_RUN_UNCONFINED, HeldProgramsRequest, LaunchExit, LaunchRequest, PreparedLaunch,
    ProcessLauncher, SpawnCommandFn,
};

use super::sandbox_launcher::{CommandSandboxConfig, ToolSandboxLauncher};

/// What commands that run without a question may see and write.
#[derive(Clone, Debug)]
pub struct CommandCellConfig {
    /// The working directories; commands that may edit can write there.
    pub roots: Vec<PathBuf>,
    /// The home directory whose secrets are hidden.
    pub home: Option<PathBuf>,
    /// Further paths that are hidden.
    pub hidden: Vec<PathBuf>,
    /// Exceptions inside hidden paths.
    pub shown: Vec<PathBuf>,
    /// How to find a sandbox for edits, when one is needed.
    pub sandbox: SandboxProbeOptions,
}

/// Starts commands in a cell.
#[derive(Debug)]
pub struct ToolCellLauncher {
    cell: Arc<Cell>,
    config: CommandCellConfig,
    /// Paths hidden from a read-only command.
    hidden: Vec<PathBuf>,
    /// Its home directory, if that can be hidden.
    home: Option<VisibleHome>,
    /// Probed with the first edit, because most sessions have none.
    editing: OnceLock<Result<ToolSandboxLauncher, SandboxUnavailable>>,
}

impl ToolCellLauncher {
    /// Checks whether this machine can confine commands. Takes well under a millisecond.
    ///
    /// # Errors
    ///
    /// It cannot: then only commands that are fully understood may run without a question.
    pub fn probe(config: CommandCellConfig) -> Result<Self, SandboxUnavailable> {
        Ok(Self::new(Arc::new(Cell::probe()?), config))
    }

    fn new(cell: Arc<Cell>, config: CommandCellConfig) -> Self {
        let hidden = list_hidden_paths(&config);
        let home = VisibleHome::find(config.home.as_deref(), &config.roots, &hidden);
        Self { cell, config, hidden, home, editing: OnceLock::new() }
    }

    /// Describes the mechanism and its limits, for users.
    #[must_use]
    pub fn report(&self) -> &str {
        self.cell.report()
    }

    fn prepare_reading(&self, launch: &LaunchRequest<'_>) -> Result<HeldReader, String> {
        let mut plan = self.build_plan(launch.scratch_directory, launch.hidden, launch.readable);
        plan.temporary_directory = launch.scratch_directory.to_owned();
        let cell = self
            .cell
            .prepare(&plan)
            .map_err(|refused| format!("{refused}. {ASK_TO_RUN_UNCONFINED}"))?;
        let command = cell.confine_command(launch.build_command());
        Ok(HeldReader { cell: Some(cell), command: Some(command) })
    }

    /// The plan of a command with a directory of its own, without its temporary directory.
    fn build_plan(&self, own: &Path, hidden: &[PathBuf], readable: &[PathBuf]) -> CellPlan {
        let mut plan = CellPlan {
            hidden: self.hidden.clone(),
            shown: self.config.shown.clone(),
            ..CellPlan::default()
        };
        plan.hidden.extend(hidden.iter().cloned());
        plan.shown.extend(self.config.roots.iter().chain(readable).cloned());
        if let Some(home) = &self.home {
            home.restrict_cell(&mut plan);
        }
        // Sibling directories come and go, so the common parent is shown.
        plan.shown.extend(own.parent().map(Path::to_owned));
        plan
    }

    fn prepare_editing(
        &self,
        launch: &LaunchRequest<'_>,
    ) -> Result<Box<dyn PreparedLaunch>, String> {
        let editing = self.editing.get_or_init(|| {
            let config = CommandSandboxConfig {
                roots: self.config.roots.clone(),
                home: self.config.home.clone(),
                hidden: self.config.hidden.clone(),
                shown: self.config.shown.clone(),
                may_be_disabled: true,
                ..CommandSandboxConfig::default()
            };
            ToolSandboxLauncher::probe(&self.config.sandbox, config)
        });
        match editing {
            Ok(editing) => editing.prepare(&LaunchRequest { is_excluded: false, ..*launch }),
            Err(missing) => Err(format!(
                "an edit that nobody was asked about cannot be held to the working directories: \
                 {missing}. {ASK_TO_RUN_UNCONFINED}"
            )),
        }
    }
}

/// Secrets in this home and on the machine, other users' homes, and what the user configured.
fn list_hidden_paths(config: &CommandCellConfig) -> Vec<PathBuf> {
    let mut hidden = list_other_homes(config.home.as_deref());
    hidden.extend(config.home.iter().flat_map(|home| secrets::list_home_secrets(home)));
    hidden.extend(SYSTEM_SECRETS.iter().map(PathBuf::from));
    hidden.extend(config.hidden.iter().cloned());
    hidden.retain(|path| !config.shown.iter().any(|shown| path.starts_with(shown)));
    hidden
}

impl ProcessLauncher for ToolCellLauncher {
    fn prepare(&self, launch: &LaunchRequest<'_>) -> Result<Box<dyn PreparedLaunch>, String> {
        match launch.confinement {
            Confinement::ReadOnly => Ok(Box::new(self.prepare_reading(launch)?)),
            Confinement::WriteInsideRoots => self.prepare_editing(launch),
            // Only programs within the command are confined, each by its arguments.
            Confinement::Unconfined => {
                Ok(Box::new(HeldReader { cell: None, command: Some(launch.build_command()) }))
            }
        }
    }

    fn hold_programs(&self, programs: &HeldProgramsRequest<'_>) -> Result<Vec<OsString>, String> {
        let mut cell = self.build_plan(programs.directory, programs.hidden, programs.readable);
        cell.temporary_directory = programs.temporary_directory.to_owned();
        let plan =
            HeldProgramPlan { cell, set: programs.set.to_vec(), unset: programs.unset.to_vec() };
        // Must not be writable for them: a program could change the plan of the next one.
        let file = programs.directory.join("plan");
        std::fs::write(&file, plan.to_bytes())
            .map_err(|error| format!("{} cannot be written: {error}.", file.display()))?;
        let entry = &self.config.sandbox.entry;
        let mut words = vec![entry.program.clone().into_os_string()];
        words.extend(entry.arguments.iter().cloned());
        words.extend(["cell".into(), file.into_os_string(), "--".into()]);
        Ok(words)
    }

    fn for_directories(&self, directories: &[PathBuf]) -> Option<Arc<dyn ProcessLauncher>> {
        let config = CommandCellConfig { roots: directories.to_vec(), ..self.config.clone() };
        Some(Arc::new(Self::new(Arc::clone(&self.cell), config)))
    }
}

#[derive(Debug)]
struct HeldReader {
    /// Set if the whole command is confined; otherwise programs in it are.
    cell: Option<PreparedCell>,
    command: Option<std::process::Command>,
}

impl PreparedLaunch for HeldReader {
    fn spawn(&mut self, start: &mut SpawnCommandFn<'_>) -> io::Result<Child> {
        let Some(command) = self.command.take() else {
            return Err(io::Error::other("it was started before"));
        };
        let Some(cell) = self.cell.take() else {
            return start(command);
        };
        // The process is spawned on another thread, but watched by this runtime.
        let runtime = tokio::runtime::Handle::current();
        cell.spawn(|| {
            let _entered = runtime.enter();
            start(command)
        })
    }

    fn finish(self: Box<Self>, end: &LaunchExit) -> Vec<String> {
        let failure = explain_cell_failure(end.code, &end.stderr);
        failure.map(|words| format!("{words} {ASK_TO_RUN_UNCONFINED}")).into_iter().collect()
    }
}
