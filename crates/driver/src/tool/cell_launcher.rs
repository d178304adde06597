//! Commands that nobody was asked about, held by the kernel to what they were judged to do.
//!
//! One that only reads starts in a read-only cell. One that the mode lets edit starts in a sandbox
//! that may write inside the working directories. What cannot be held does not start: the model is
//! told how to have the user asked instead.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use tokio::process::Child;
use windlass_permission::Confinement;
use windlass_sandbox::{
    Cell, CellPlan, HeldProgramPlan, PreparedCell, SYSTEM_SECRETS, SandboxProbeOptions,
    SandboxUnavailable, explain_cell_failure, list_other_homes, secrets,
};
use windlass_tool::{
    ASK_TO_RUN_UNCONFINED, HeldProgramsRequest, LaunchExit, LaunchRequest, PreparedLaunch,
    ProcessLauncher, SpawnCommandFn,
};

use super::sandbox_launcher::{CommandSandboxConfig, ToolSandboxLauncher};

/// What commands that run unasked may see and write.
#[derive(Clone, Debug)]
pub struct CommandCellConfig {
    /// Where the session works: may be written by commands that the mode lets edit.
    pub roots: Vec<PathBuf>,
    /// Whose secrets are hidden.
    pub home: Option<PathBuf>,
    /// More that they must not see.
    pub hidden: Vec<PathBuf>,
    /// What they may see although it lies in a hidden place.
    pub shown: Vec<PathBuf>,
    /// How a sandbox for edits is found, once one is needed.
    pub sandbox: SandboxProbeOptions,
}

/// Starts commands in a cell.
#[derive(Debug)]
pub struct ToolCellLauncher {
    cell: Arc<Cell>,
    config: CommandCellConfig,
    /// What a read-only command must not see.
    hidden: Vec<PathBuf>,
    /// Found when the first edit runs: most sessions have none.
    editing: OnceLock<Result<ToolSandboxLauncher, SandboxUnavailable>>,
}

impl ToolCellLauncher {
    /// Finds out whether this machine can hold commands. Takes well under a millisecond.
    ///
    /// # Errors
    ///
    /// When it cannot: then only what is completely understood may run unasked.
    pub fn probe(config: CommandCellConfig) -> Result<Self, SandboxUnavailable> {
        Ok(Self::new(Arc::new(Cell::probe()?), config))
    }

    fn new(cell: Arc<Cell>, config: CommandCellConfig) -> Self {
        let hidden = list_hidden_paths(&config);
        Self { cell, config, hidden, editing: OnceLock::new() }
    }

    /// With what, and what it does not cover; for people.
    #[must_use]
    pub fn report(&self) -> &str {
        self.cell.report()
    }

    fn prepare_reading(&self, launch: &LaunchRequest<'_>) -> Result<HeldReader, String> {
        let scratch = launch.scratch_directory;
        let plan = self.build_plan(scratch, scratch, launch.hidden);
        let cell = self
            .cell
            .prepare(&plan)
            .map_err(|refused| format!("{refused}. {ASK_TO_RUN_UNCONFINED}"))?;
        Ok(HeldReader { cell: Some(cell), command: Some(launch.build_command()) })
    }

    /// What a command may see that writes its temporary files here, in a directory of its own.
    fn build_plan(&self, temporary: &Path, own: &Path, hidden: &[PathBuf]) -> CellPlan {
        let mut plan = CellPlan {
            temporary_directory: temporary.to_owned(),
            hidden: self.hidden.clone(),
            shown: self.config.shown.clone(),
        };
        plan.hidden.extend(hidden.iter().cloned());
        plan.shown.extend(self.config.roots.iter().cloned());
        // Its siblings come and go, the place of all of them does not.
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

/// Secrets of this home and of the machine, homes of others, and what the user named.
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
            // Only programs of it are held, each by the words before it.
            Confinement::Unconfined => {
                Ok(Box::new(HeldReader { cell: None, command: Some(launch.build_command()) }))
            }
        }
    }

    fn hold_programs(&self, programs: &HeldProgramsRequest<'_>) -> Result<Vec<OsString>, String> {
        let cell =
            self.build_plan(programs.temporary_directory, programs.directory, programs.hidden);
        let plan =
            HeldProgramPlan { cell, set: programs.set.to_vec(), unset: programs.unset.to_vec() };
        // Not where they may write: one could change what the next is held to.
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
    /// Around the whole of it; otherwise around programs in it.
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
        // The process is started on another thread and watched from this one's event loop.
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
