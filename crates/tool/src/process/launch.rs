//! From a program and its arguments to a child process: the one place where processes are made.
//!
//! A child has no input and no terminal, a session and a group of its own, and an environment that
//! is given whole. Where a launcher is set, it says how the program is really started; what it
//! cannot start does not run.

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
    /// Complete: nothing of ours is inherited.
    pub environment: &'a [(OsString, OsString)],
    /// Where the shell leaves word of its directory and its variables; has to be writable.
    pub scratch_directory: &'a Path,
    pub is_long_lived: bool,
    /// The call asks to run without confinement, and was granted that.
    pub is_unconfined: bool,
    /// The user lets commands like this one run without confinement.
    pub is_excluded: bool,
    /// What the grant holds it to, whether or not the session has a sandbox.
    pub confinement: Confinement,
    /// Files inside the working directories that it must not see.
    pub hidden: &'a [PathBuf],
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

/// What programs that are held one by one may see and write.
#[derive(Clone, Copy, Debug)]
pub struct HeldProgramsRequest<'a> {
    /// Theirs and ours alone; exists.
    pub directory: &'a Path,
    /// The one place that they may write to; exists, below that directory.
    pub temporary_directory: &'a Path,
    /// Files inside the working directories that they must not see.
    pub hidden: &'a [PathBuf],
    /// Variables that they have instead of the shell's, and those that they do not have.
    pub set: &'a [(OsString, OsString)],
    pub unset: &'a [OsString],
}

/// Says how processes are really started: behind which program, held by what.
pub trait ProcessLauncher: fmt::Debug + Send + Sync {
    /// Makes everything ready.
    ///
    /// # Errors
    /// Why it cannot be started the way it must be, in words for the model. Then it is not.
    fn prepare(&self, launch: &LaunchRequest<'_>) -> Result<Box<dyn PreparedLaunch>, String>;

    /// Words to stand before each program of a line that is held by itself, while the line is not.
    ///
    /// # Errors
    /// Why programs cannot be held so, in words for the model. Then the line does not run.
    fn hold_programs(&self, _programs: &HeldProgramsRequest<'_>) -> Result<Vec<OsString>, String> {
        Err("programs of a line cannot be held one by one here".to_owned())
    }

    /// A tool of ours has made this file, which it may: commands that still run are not blamed for it.
    fn accept_file(&self, _path: &Path) {}

    /// The same for a session that works in these directories instead; `None` where that cannot be.
    fn for_directories(&self, _directories: &[PathBuf]) -> Option<Arc<dyn ProcessLauncher>> {
        None
    }
}

/// A process that is ready to be started. Dropped before it has ended, it ends what it holds.
pub trait PreparedLaunch: fmt::Debug + Send {
    /// Starts it: gives `start` the command, once. The command gets its standard streams and its
    /// process group there, and is killed with its group.
    ///
    /// # Errors
    /// What `start` says, or why it was not asked.
    fn spawn(&mut self, start: &mut SpawnCommandFn<'_>) -> io::Result<Child>;

    /// The call no longer waits for it, and it goes on beside other work. Says whether what holds it can
    /// hold it then, too.
    fn continue_in_background(&mut self) -> bool {
        true
    }

    /// Nothing of it runs any more. Returns what the model must know besides the result: what was
    /// taken back, or that it failed because of what holds it. May block for a moment.
    fn finish(self: Box<Self>, end: &LaunchExit) -> Vec<String>;
}

pub type SpawnCommandFn<'a> = dyn FnMut(std::process::Command) -> io::Result<Child> + Send + 'a;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchExit {
    /// Its exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// What it wrote to standard error, its ends if it was long.
    pub stderr: String,
}

/// A program with arguments, and how closely it has to be watched.
#[derive(Clone, Debug)]
pub(crate) struct ProgramSpec {
    pub(crate) path: PathBuf,
    pub(crate) arguments: Vec<OsString>,
    pub(crate) directory: PathBuf,
    /// Known to start nothing that could outlive it.
    pub(crate) is_leaf_program: bool,
    pub(crate) is_long_lived: bool,
    pub(crate) is_unconfined: bool,
    pub(crate) is_excluded: bool,
    pub(crate) confinement: ProcessConfinement,
}

/// Carries the names of the calls a process belongs to, the outermost first.
const CALL_MARK_VARIABLE: &str = "WINDLASS_CALL";
static CALL_COUNTER: AtomicU64 = AtomicU64::new(0);

#[derive(Debug)]
pub(crate) struct SpawnedProcess {
    pub(super) child: Child,
    pub(super) tree: ProcessTree,
    pub(super) is_leaf_program: bool,
    pub(super) prepared: Option<Box<dyn PreparedLaunch>>,
    /// Kept as long as it runs.
    pub(super) private_directory: Option<Arc<PrivateDirectory>>,
}

impl SpawnedProcess {
    /// Enough to know it again from another process of ours.
    pub(crate) fn identity(&self) -> String {
        self.tree.identity()
    }
}

pub(super) fn our_start_time() -> Option<u64> {
    static OUR_START_TIME: OnceLock<Option<u64>> = OnceLock::new();
    *OUR_START_TIME.get_or_init(|| process_start_time(std::process::id()))
}

/// How the names of all our calls begin. The moment we began makes it ours alone, however often our
/// number is used again.
pub(super) fn our_call_mark() -> String {
    format!("{}-{}.", std::process::id(), our_start_time().unwrap_or_default())
}

pub(super) fn process_start_time(id: u32) -> Option<u64> {
    process_table::read_process(i32::try_from(id).ok()?).map(|entry| entry.start_time)
}

/// Ends a process that another process of ours started, with all its descendants. Says whether it
/// was there.
pub(crate) fn end_process_tree(identity: &str) -> bool {
    match ProcessTree::from_identity(identity) {
        Some(tree) => {
            drop(tree);
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
    let ProcessConfinement { kind, private_directory, hidden, git_variables, held_programs } =
        &program.confinement;
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
    // A session of its own keeps a process away from our terminal and its descendants together.
    if session.is_some() {
        arguments.insert(0, program.path.clone().into_os_string());
    }
    // Behind a launcher it may lead a group, and has to stay as long as what it starts.
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
    };
    let (child, prepared) = match launcher {
        Some(launcher) => {
            let mut prepared = launcher.prepare(&launch).map_err(io::Error::other)?;
            let leads_group = is_behind || session.is_none();
            let child =
                prepared.spawn(&mut |command| start_command(command, leads_group, input()))?;
            (child, Some(prepared))
        }
        // The leader of a group cannot begin a session: it would start a second process for that.
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

/// A program that starts nothing needs no session where there is no terminal to protect; starting
/// it without is quicker.
fn needs_session(program: &ProgramSpec) -> bool {
    !program.is_leaf_program || std::fs::File::open("/dev/tty").is_ok()
}
