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

use super::table;
use super::tree::Tree;
use crate::surroundings::Surroundings;

/// A process to be started.
#[derive(Clone, Copy, Debug)]
pub struct Launch<'a> {
    /// The program, absolute.
    pub program: &'a Path,
    /// Its arguments.
    pub arguments: &'a [OsString],
    /// Where it runs.
    pub directory: &'a Path,
    /// Its environment, complete.
    pub environment: &'a [(OsString, OsString)],
    /// Where the shell leaves word of its directory and its variables; has to be writable.
    pub scratch: &'a Path,
    /// It will go on running beside other calls.
    pub is_lasting: bool,
    /// The call asks to run without confinement, and was granted that.
    pub unconfined: bool,
    /// The user lets commands like this one run without confinement.
    pub is_excluded: bool,
}

impl Launch<'_> {
    /// Just the program, started as it is.
    #[must_use]
    pub fn command(&self) -> std::process::Command {
        let mut command = std::process::Command::new(self.program);
        command.args(self.arguments).current_dir(self.directory).env_clear();
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }
}

/// Says how processes are really started: behind which program, held by what.
pub trait Launcher: fmt::Debug + Send + Sync {
    /// Makes everything ready.
    ///
    /// # Errors
    /// Why it cannot be started the way it must be, in words for the model. Then it is not.
    fn prepare(&self, launch: &Launch<'_>) -> Result<Box<dyn Prepared>, String>;

    /// The same for a session that works in these directories instead; `None` where that cannot be.
    fn moved(&self, _directories: &[PathBuf]) -> Option<Arc<dyn Launcher>> {
        None
    }
}

/// A process that is ready to be started. Dropped before it has ended, it ends what it holds.
pub trait Prepared: fmt::Debug + Send {
    /// Starts it: gives `start` the command, once. The command gets its standard streams and its
    /// process group there, and is killed with its group.
    ///
    /// # Errors
    /// What `start` says, or why it was not asked.
    fn spawn(&mut self, start: &mut Start<'_>) -> io::Result<Child>;

    /// Nothing of it runs any more. Returns what the model must know besides the result: what was
    /// taken back, or that it failed because of what holds it. May block for a moment.
    fn settle(self: Box<Self>, end: &LaunchEnd) -> Vec<String>;
}

/// Starts a command.
pub type Start<'a> = dyn FnMut(std::process::Command) -> io::Result<Child> + 'a;

/// How a process ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchEnd {
    /// Its exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// What it wrote to standard error, its ends if it was long.
    pub stderr: String,
}

/// A program with arguments, and how closely it has to be watched.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) path: PathBuf,
    pub(crate) arguments: Vec<OsString>,
    pub(crate) directory: PathBuf,
    /// Known to start nothing that could outlive it.
    pub(crate) is_plain: bool,
    pub(crate) is_lasting: bool,
    pub(crate) unconfined: bool,
    pub(crate) is_excluded: bool,
}

/// Carries the names of the calls a process belongs to, the outermost first.
const MARK: &str = "WINDLASS_CALL";
static CALLS: AtomicU64 = AtomicU64::new(0);

/// A process that was started.
#[derive(Debug)]
pub(crate) struct Process {
    pub(super) child: Child,
    pub(super) tree: Tree,
    pub(super) is_plain: bool,
    pub(super) prepared: Option<Box<dyn Prepared>>,
}

impl Process {
    /// Enough to know it again from another process of ours.
    pub(crate) fn identity(&self) -> String {
        self.tree.identity()
    }
}

/// When we began ourselves.
pub(super) fn us() -> Option<u64> {
    static US: OnceLock<Option<u64>> = OnceLock::new();
    *US.get_or_init(|| began(std::process::id()))
}

/// How the names of all our calls begin. The moment we began makes it ours alone, however often our
/// number is used again.
pub(super) fn our_mark() -> String {
    format!("{}-{}.", std::process::id(), us().unwrap_or_default())
}

/// When a process began, if it is there.
pub(super) fn began(id: u32) -> Option<u64> {
    table::entry(i32::try_from(id).ok()?).map(|entry| entry.began)
}

/// Ends a process that another process of ours started, with all its descendants. Says whether it
/// was there.
pub(crate) fn end(identity: &str) -> bool {
    match Tree::known(identity) {
        Some(tree) => {
            drop(tree);
            true
        }
        None => Tree::end_orphans(identity),
    }
}

/// Starts it, without input.
pub(super) fn spawn(program: &Program, surroundings: &Surroundings) -> io::Result<Process> {
    let environment = surroundings.child_environment();
    spawn_in(program, surroundings, environment, Stdio::null)
}

/// Starts it in this environment, with this input.
pub(super) fn spawn_in(
    program: &Program,
    surroundings: &Surroundings,
    mut environment: Vec<(OsString, OsString)>,
    input: fn() -> Stdio,
) -> io::Result<Process> {
    let number = CALLS.fetch_add(1, Ordering::Relaxed);
    let name = format!("{}{number}.", our_mark());
    let outer = environment.iter().find(|(name, _)| name == MARK).map(|(_, value)| value.clone());
    environment.retain(|(name, _)| name != MARK && name != "PWD");
    let mut mark = outer.unwrap_or_default();
    mark.push(&name);
    environment.push((MARK.into(), mark));
    environment.push(("PWD".into(), program.directory.clone().into()));
    let session = surroundings.session_program().filter(|_| needs_session(program));
    let mut arguments = program.arguments.clone();
    // A session of its own keeps a process away from our terminal and its descendants together.
    if session.is_some() {
        arguments.insert(0, program.path.clone().into_os_string());
    }
    // Behind a launcher it may lead a group, and has to stay as long as what it starts.
    if session.is_some() && surroundings.launcher.is_some() {
        arguments.insert(0, "--wait".into());
    }
    let launch = Launch {
        program: session.unwrap_or(&program.path),
        arguments: &arguments,
        directory: &program.directory,
        environment: &environment,
        scratch: &surroundings.spill,
        is_lasting: program.is_lasting,
        unconfined: program.unconfined,
        is_excluded: program.is_excluded,
    };
    let (child, prepared) = match &surroundings.launcher {
        Some(launcher) => {
            let mut prepared = launcher.prepare(&launch).map_err(io::Error::other)?;
            let child = prepared.spawn(&mut |command| start(command, true, input()))?;
            (child, Some(prepared))
        }
        // The leader of a group cannot begin a session: it would start a second process for that.
        None => (start(launch.command(), session.is_none(), input())?, None),
    };
    match Tree::of(&child, name, program.is_plain) {
        Some(tree) => Ok(Process { child, tree, is_plain: program.is_plain, prepared }),
        None => Err(io::Error::other("the process has no number")),
    }
}

fn start(mut command: std::process::Command, leads_group: bool, input: Stdio) -> io::Result<Child> {
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
fn needs_session(program: &Program) -> bool {
    !program.is_plain || std::fs::File::open("/dev/tty").is_ok()
}
