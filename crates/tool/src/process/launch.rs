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

use tokio::process::Child;

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
    /// The call asks to run without confinement, and was granted that.
    pub unconfined: bool,
}

/// Says how processes are really started: behind which program, with which arguments.
///
/// The command that comes back is given its standard streams and its process group afterwards, and
/// is killed with its group; it must not leave anything behind when that happens.
pub trait Launcher: fmt::Debug + Send + Sync {
    /// The command that starts this, with directory and environment set.
    ///
    /// # Errors
    /// Why it cannot be started the way it must be, in words for the model. Then it is not.
    fn command(&self, launch: &Launch<'_>) -> Result<std::process::Command, String>;
}

/// A program with arguments, and how closely it has to be watched.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) path: PathBuf,
    pub(crate) arguments: Vec<OsString>,
    pub(crate) directory: PathBuf,
    /// Known to start nothing that could outlive it.
    pub(crate) is_plain: bool,
    pub(crate) unconfined: bool,
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
}

/// Starts it.
pub(crate) fn spawn(program: &Program, surroundings: &Surroundings) -> io::Result<Process> {
    let number = CALLS.fetch_add(1, Ordering::Relaxed);
    let name = format!("{}.{number}.", std::process::id());
    let mut environment = surroundings.child_environment();
    let outer = environment.iter().find(|(name, _)| name == MARK).map(|(_, value)| value.clone());
    environment.retain(|(name, _)| name != MARK && name != "PWD");
    let mut mark = outer.unwrap_or_default();
    mark.push(&name);
    environment.push((MARK.into(), mark));
    environment.push(("PWD".into(), program.directory.clone().into()));
    let mut command = tokio::process::Command::from(command(program, &environment, surroundings)?);
    let child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    match Tree::of(&child, name, program.is_plain) {
        Some(tree) => Ok(Process { child, tree, is_plain: program.is_plain }),
        None => Err(io::Error::other("the process has no number")),
    }
}

fn command(
    program: &Program,
    environment: &[(OsString, OsString)],
    surroundings: &Surroundings,
) -> io::Result<std::process::Command> {
    use std::os::unix::process::CommandExt;
    // A session of its own keeps a process away from our terminal and its descendants together.
    let session = surroundings.session_program().filter(|_| needs_session(program));
    let mut arguments = Vec::with_capacity(program.arguments.len() + 1);
    let path = match &session {
        Some(session) => {
            arguments.push(program.path.clone().into_os_string());
            session.as_path()
        }
        None => program.path.as_path(),
    };
    arguments.extend(program.arguments.iter().cloned());
    let launch = Launch {
        program: path,
        arguments: &arguments,
        directory: &program.directory,
        environment,
        unconfined: program.unconfined,
    };
    let mut command = match &surroundings.launcher {
        Some(launcher) => launcher.command(&launch).map_err(io::Error::other)?,
        None => plain(&launch),
    };
    // The leader of a group cannot begin a session: it would start a second process for that.
    if session.is_none() || surroundings.launcher.is_some() {
        command.process_group(0);
    }
    Ok(command)
}

/// Just the program.
fn plain(launch: &Launch<'_>) -> std::process::Command {
    let mut command = std::process::Command::new(launch.program);
    command.args(launch.arguments).current_dir(launch.directory).env_clear();
    command.envs(launch.environment.iter().map(|(name, value)| (name, value)));
    command
}

/// A program that starts nothing needs no session where there is no terminal to protect; starting
/// it without is quicker.
fn needs_session(program: &Program) -> bool {
    !program.is_plain || std::fs::File::open("/dev/tty").is_ok()
}
