//! Starts child processes. No other code does.
//!
//! A child has no input and no terminal, a process session and group of its own, and an explicit
//! environment. A launcher, if there is one, decides how the program is started; what it cannot
//! start does not run.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use tokio::process::Child;
use windlass_permission::Confinement;

use super::confined_environment::{confine_environment, neutralize_git};
use super::process_confinement::{PrivateDirectory, ProcessConfinement};
use super::process_context::ProcessContext;
use super::process_table;
use super::process_tree::ProcessTree;

#[derive(Clone, Copy, Debug)]
pub struct LaunchRequest<'a> {
    /// Absolute.
    pub program: &'a Path,
    pub arguments: &'a [OsString],
    pub directory: &'a Path,
    /// The complete environment: nothing is inherited.
    pub environment: &'a [(OsString, OsString)],
    /// The directory where the shell writes its state; must be writable.
    pub scratch_directory: &'a Path,
    pub is_long_lived: bool,
    /// The call requested to run without confinement, and that was granted.
    pub is_unconfined: bool,
    /// The user's settings let this command run without confinement.
    pub is_excluded: bool,
    /// The confinement that the grant requires, even without a sandbox.
    pub confinement: Confinement,
    /// Files inside the working directories that it must not see.
    pub hidden: &'a [PathBuf],
    /// What it may read if its confinement hides the home directory.
    pub readable: &'a [PathBuf],
}

impl LaunchRequest<'_> {
    #[must_use]
    pub fn build_command(&self) -> std::process::Command {
        let mut command = std::process::Command::new(self.program);
        command.args(self.arguments).current_dir(self.directory).env_clear();
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }
}

/// What confined programs of a command line may see and write.
#[derive(Clone, Copy, Debug)]
pub struct HeldProgramsRequest<'a> {
    /// A directory of their own; exists.
    pub directory: &'a Path,
    /// The only directory they may write to; exists inside of `directory`.
    pub temporary_directory: &'a Path,
    /// Files inside the working directories that they must not see.
    pub hidden: &'a [PathBuf],
    /// What they may read in the hidden home directory.
    pub readable: &'a [PathBuf],
    /// Variables that differ from the shell's, and those to remove.
    pub set: &'a [(OsString, OsString)],
    pub unset: &'a [OsString],
}

/// Decides how processes are started: with which wrapper and confinement.
pub trait ProcessLauncher: fmt::Debug + Send + Sync {
    /// Prepares a start.
    ///
    /// # Errors
    /// Why the process cannot be started as required, as a message for the model. It must not be
    /// started then.
    fn prepare(&self, launch: &LaunchRequest<'_>) -> Result<Box<dyn PreparedLaunch>, String>;

    /// The prefix for programs of a command line that are confined one by one.
    ///
    /// # Errors
    /// Why programs cannot be confined, as a message for the model. The command line must not run
    /// then.
    fn hold_programs(&self, _programs: &HeldProgramsRequest<'_>) -> Result<Vec<OsString>, String> {
        Err("programs of a command line cannot be confined one by one here".to_owned())
    }

    /// Reports that a tool of ours created this file, so that it is not attributed to running
    /// commands.
    fn accept_file(&self, _path: &Path) {}

    /// A launcher for these directories; `None` if that is not possible.
    fn for_directories(&self, _directories: &[PathBuf]) -> Option<Arc<dyn ProcessLauncher>> {
        None
    }
}

/// A prepared process. Dropping it early ends its confinement.
pub trait PreparedLaunch: fmt::Debug + Send {
    /// Passes the command to `start`, once, which spawns it with its standard streams and process
    /// group. The whole group is killed at the end.
    ///
    /// # Errors
    /// The error of `start`, or why it was not called.
    fn spawn(&mut self, start: &mut SpawnCommandFn<'_>) -> io::Result<Child>;

    /// The call moves to the background. Returns whether the process can still be confined there.
    fn continue_in_background(&mut self) -> bool {
        true
    }

    /// Called when no process is left. Returns messages for the model: what was reverted, or that
    /// the confinement caused the failure. May block for a moment.
    fn finish(self: Box<Self>, end: &LaunchExit) -> Vec<String>;
}

pub type SpawnCommandFn<'a> = dyn FnMut(std::process::Command) -> io::Result<Child> + Send + 'a;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchExit {
    /// The exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// The beginning and end of its standard error.
    pub stderr: String,
}

/// A program with arguments, and how closely it must be supervised.
#[derive(Clone, Debug)]
pub(crate) struct ProgramSpec {
    pub(crate) path: PathBuf,
    pub(crate) arguments: Vec<OsString>,
    pub(crate) directory: PathBuf,
    /// Known not to start processes that outlive it.
    pub(crate) is_leaf_program: bool,
    pub(crate) is_long_lived: bool,
    pub(crate) is_unconfined: bool,
    pub(crate) is_excluded: bool,
    pub(crate) confinement: ProcessConfinement,
}

/// Environment variable with the ids of the calls a process belongs to, outermost first.
const CALL_MARK_VARIABLE: &str = "WINDLASS_CALL";
static CALL_COUNTER: AtomicU64 = AtomicU64::new(0);

#[derive(Debug)]
pub(crate) struct SpawnedProcess {
    pub(super) child: Child,
    pub(super) tree: ProcessTree,
    pub(super) is_leaf_program: bool,
    pub(super) prepared: Option<Box<dyn PreparedLaunch>>,
    /// Kept as long as the process runs.
    pub(super) private_directory: Option<Arc<PrivateDirectory>>,
}

impl SpawnedProcess {
    /// Identifies the process, even for another process of ours.
    pub(crate) fn identity(&self) -> String {
        self.tree.identity()
    }
}

pub(super) fn our_start_time() -> Option<u64> {
    static OUR_START_TIME: OnceLock<Option<u64>> = OnceLock::new();
    *OUR_START_TIME.get_or_init(|| process_start_time(std::process::id()))
}

/// The prefix of all our call ids. It contains our start time, so that it stays unique when our
/// process id is reused.
pub(super) fn our_call_mark() -> String {
    format!("{}-{}.", std::process::id(), our_start_time().unwrap_or_default())
}

pub(super) fn process_start_time(id: u32) -> Option<u64> {
    process_table::read_process(i32::try_from(id).ok()?).map(|entry| entry.start_time)
}

/// Kills a process with all its descendants.
pub(crate) fn kill_process_tree(identity: &str) {
    match ProcessTree::from_identity(identity) {
        Some(tree) => drop(tree),
        None => drop(ProcessTree::end_orphans(identity)),
    }
}

/// Ends a process that another process of ours started, with all its descendants. Returns whether
/// it existed. Blocks until they have exited: otherwise the note of their owner would find them
/// once more.
pub(super) fn end_process_tree(identity: &str) -> bool {
    match ProcessTree::from_identity(identity) {
        Some(tree) => {
            tree.end();
            true
        }
        None => ProcessTree::end_orphans(identity),
    }
}

pub(super) fn spawn_once(
    program: &ProgramSpec,
    processes: &ProcessContext,
    environment: &[(OsString, OsString)],
) -> io::Result<SpawnedProcess> {
    spawn_in_environment(program, processes, environment.to_vec(), Stdio::null)
}

pub(super) fn spawn_in_environment(
    program: &ProgramSpec,
    processes: &ProcessContext,
    mut environment: Vec<(OsString, OsString)>,
    input: fn() -> Stdio,
) -> io::Result<SpawnedProcess> {
    let number = CALL_COUNTER.fetch_add(1, Ordering::Relaxed);
    let name = format!("{}{number}.", our_call_mark());
    let outer = environment
        .iter()
        .find(|(name, _)| name == CALL_MARK_VARIABLE)
        .map(|(_, value)| value.clone());
    environment.retain(|(name, _)| name != CALL_MARK_VARIABLE && name != "PWD");
    let mut mark = outer.unwrap_or_default();
    mark.push(&name);
    environment.push((CALL_MARK_VARIABLE.into(), mark));
    environment.push(("PWD".into(), program.directory.clone().into()));
    let ProcessConfinement {
        kind,
        private_directory,
        hidden,
        readable,
        git_variables,
        held_programs,
    } = &program.confinement;
    let kind = *kind;
    if let Some(directory) = private_directory {
        confine_environment(&mut environment, directory.path());
    }
    if let Some(settings) = git_variables {
        neutralize_git(&mut environment, settings.clone());
    }
    let launcher = match &processes.launcher {
        Some(launcher) => Some(launcher),
        None => {
            let is_held = kind != Confinement::Unconfined || held_programs.is_some();
            processes.cell.as_ref().filter(|_| is_held)
        }
    };
    let session = processes.setsid_program.as_ref().filter(|_| needs_session(program));
    let mut arguments = program.arguments.clone();
    // A process session of its own detaches a process from our terminal and keeps its descendants
    // together.
    if session.is_some() {
        arguments.insert(0, program.path.clone().into_os_string());
    }
    // The launcher's process may lead a group, and must live as long as what it starts.
    let is_behind = processes.launcher.is_some() || kind == Confinement::WriteInsideRoots;
    if session.is_some() && launcher.is_some() && is_behind {
        arguments.insert(0, "--wait".into());
    }
    let launch = LaunchRequest {
        program: session.unwrap_or(&program.path),
        arguments: &arguments,
        directory: &program.directory,
        environment: &environment,
        scratch_directory: match private_directory {
            Some(directory) => directory.path(),
            None => &processes.spill_directory,
        },
        is_long_lived: program.is_long_lived,
        is_unconfined: program.is_unconfined,
        is_excluded: program.is_excluded,
        confinement: kind,
        hidden,
        readable,
    };
    let (child, prepared) = match launcher {
        Some(launcher) => {
            let mut prepared = launcher.prepare(&launch).map_err(io::Error::other)?;
            let leads_group = is_behind || session.is_none();
            let child =
                prepared.spawn(&mut |command| start_command(command, leads_group, input()))?;
            (child, Some(prepared))
        }
        // A group leader cannot call `setsid` without another fork.
        None => (start_command(launch.build_command(), session.is_none(), input())?, None),
    };
    match ProcessTree::from_child(&child, name, program.is_leaf_program) {
        Some(tree) => {
            let is_leaf_program = program.is_leaf_program;
            let private_directory = private_directory.clone().or(held_programs.clone());
            Ok(SpawnedProcess { child, tree, is_leaf_program, prepared, private_directory })
        }
        None => Err(io::Error::other("the process has no number")),
    }
}

fn start_command(
    mut command: std::process::Command,
    leads_group: bool,
    input: Stdio,
) -> io::Result<Child> {
    use std::os::unix::process::CommandExt;
    if leads_group {
        command.process_group(0);
    }
    tokio::process::Command::from(command)
        .stdin(input)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
}

/// A program without children needs no process session if there is no terminal to protect; starting
/// it without one is faster.
fn needs_session(program: &ProgramSpec) -> bool {
    !program.is_leaf_program || std::fs::File::open("/dev/tty").is_ok()
}
