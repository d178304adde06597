//! The cell and the sandbox on macOS: each command is started by `sandbox-exec` with a profile.
//!
//! Untested on macOS. So the probe tries on the user's machine whether a profile is enforced, and
//! finds nothing if it is not. Paths are compared by the kernel, also those that do not exist yet,
//! so protected names need neither placeholders nor supervision. Limits on memory and processes are
//! not set, and the proxy for allowed hosts is out of reach: there is no network.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::cell_plan::CellPlan;
use crate::error::{SandboxPlanRefusal, SandboxUnavailable};
use crate::failure::{self, SandboxFailure};
use crate::held_program_plan::HeldProgramPlan;
use crate::plan::SandboxPlan;
use crate::probe_options::{SandboxBackend, SandboxProbeOptions};
use crate::seatbelt::{render_cell_profile, render_profile};

const LAUNCHER: &str = "/usr/bin/sandbox-exec";

/// The exit code if the cell could not be entered; the reason is on standard error.
const EXIT_NOT_ENTERED: i32 = 125;

/// The shell's exit codes for a program that is missing, and one that cannot be executed.
const EXIT_NOT_FOUND: i32 = 127;
const EXIT_NOT_STARTED: i32 = 126;

/// A sandbox that works on this machine.
#[derive(Debug)]
pub struct Sandbox {
    launcher: PathBuf,
}

/// A command that is ready to start.
#[derive(Debug)]
pub struct SandboxLaunch {
    launcher: PathBuf,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    directory: PathBuf,
}

/// The result of cleaning up after a command. Protected files cannot change here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SandboxCleanup {
    pub reverted: Vec<RevertedProtectedFile>,
    pub left_alone: Vec<PathBuf>,
    pub problem: Option<String>,
    pub has_ended: bool,
}

/// A protected file that was moved aside: never one here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevertedProtectedFile {
    pub path: PathBuf,
    pub moved_to: Option<PathBuf>,
    /// Was the old content restored?
    pub is_restored: bool,
}

impl Sandbox {
    /// Checks by trying whether a profile is enforced here.
    ///
    /// # Errors
    ///
    /// It is not. The error says what happened.
    pub fn probe(options: &SandboxProbeOptions) -> Result<Self, SandboxUnavailable> {
        match options.backend {
            None | Some(SandboxBackend::Seatbelt) => {}
            Some(SandboxBackend::Bubblewrap | SandboxBackend::Landlock) => {
                return Err(SandboxUnavailable::new("there is only Seatbelt on this system"));
            }
        }
        let launcher = try_profiles(Path::new(LAUNCHER))?;
        Ok(Self { launcher })
    }

    #[must_use]
    pub fn backend(&self) -> SandboxBackend {
        SandboxBackend::Seatbelt
    }

    /// Describes the mechanism and its limits, for users.
    #[must_use]
    pub fn report(&self) -> &'static str {
        "Seatbelt (`sandbox-exec`), which was tried here just now, but which the tests of this \
         version do not cover; without limits on memory and processes, and without network also to \
         allowed hosts"
    }

    /// Prepares a command.
    ///
    /// # Errors
    ///
    /// A profile cannot say this plan.
    pub fn prepare_command<A: AsRef<OsStr>>(
        &self,
        plan: &SandboxPlan,
        program: impl AsRef<OsStr>,
        arguments: impl IntoIterator<Item = A>,
    ) -> Result<SandboxLaunch, SandboxPlanRefusal> {
        let profile = render_profile(plan).map_err(SandboxPlanRefusal::new)?;
        let mut words = list_launcher_words(profile);
        words.push(program.as_ref().to_owned());
        words.extend(arguments.into_iter().map(|argument| argument.as_ref().to_owned()));
        Ok(SandboxLaunch {
            launcher: self.launcher.clone(),
            arguments: words,
            environment: plan.environment.clone(),
            directory: plan.directory.clone(),
        })
    }

    /// Prepares a bash command.
    ///
    /// # Errors
    ///
    /// As for [`Sandbox::prepare_command`].
    pub fn prepare_shell(
        &self,
        plan: &SandboxPlan,
        bash: &Path,
        script: &OsStr,
    ) -> Result<SandboxLaunch, SandboxPlanRefusal> {
        let words = [OsStr::new("--noprofile"), OsStr::new("--norc"), OsStr::new("-c"), script];
        self.prepare_command(plan, bash, words)
    }

    /// Something else may have changed protected files: nothing watches them here.
    pub fn accept_protected_changes(&self) {}

    /// This file was created with permission.
    pub fn accept_protected_change(&self, _: &Path) {}

    /// Did a command fail because of the sandbox?
    #[must_use]
    pub fn explain_failure(
        &self,
        plan: &SandboxPlan,
        exit: Option<i32>,
        stderr: &str,
    ) -> Option<SandboxFailure> {
        failure::explain_failure(self.backend(), plan, exit, stderr)
    }
}

impl SandboxLaunch {
    /// Starts the command: `start` adds its own pipes and process group, and spawns it.
    ///
    /// # Errors
    ///
    /// The error of `start`.
    pub fn spawn<T>(&mut self, start: impl FnOnce(Command) -> io::Result<T>) -> io::Result<T> {
        let mut command = Command::new(&self.launcher);
        command.args(&self.arguments).env_clear().current_dir(&self.directory);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        start(command)
    }

    /// The command moves to the background, where the same profile holds it.
    pub fn continue_in_background(&mut self) -> bool {
        true
    }

    /// The caller has ended the process group; the profile holds what left it.
    #[must_use]
    pub fn clean_up(self) -> SandboxCleanup {
        SandboxCleanup { has_ended: true, ..SandboxCleanup::default() }
    }
}

/// A cell that works on this machine.
#[derive(Debug)]
pub struct Cell {
    launcher: PathBuf,
}

/// The start of a command in a cell.
#[derive(Debug)]
pub struct PreparedCell {
    launcher: PathBuf,
    arguments: Vec<OsString>,
}

impl Cell {
    /// Checks by trying whether a profile is enforced here.
    ///
    /// # Errors
    ///
    /// It is not. The error says what happened.
    pub fn probe() -> Result<Self, SandboxUnavailable> {
        Ok(Self { launcher: try_profiles(Path::new(LAUNCHER))? })
    }

    /// Describes the mechanism and its limits, for users.
    #[must_use]
    pub fn report(&self) -> &'static str {
        "a read-only cell by Seatbelt (`sandbox-exec`), which was tried here just now, but which \
         the tests of this version do not cover"
    }

    /// Prepares a cell for one command.
    ///
    /// # Errors
    ///
    /// A profile cannot say this plan.
    pub fn prepare(&self, plan: &CellPlan) -> Result<PreparedCell, SandboxPlanRefusal> {
        let profile = render_cell_profile(plan).map_err(SandboxPlanRefusal::new)?;
        let arguments = list_launcher_words(profile);
        Ok(PreparedCell { launcher: self.launcher.clone(), arguments })
    }
}

impl PreparedCell {
    /// The same command, started by `sandbox-exec`. Its environment must be set completely.
    #[must_use]
    // On Linux the command itself comes back.
    #[allow(clippy::needless_pass_by_value)]
    pub fn confine_command(&self, command: Command) -> Command {
        let mut confined = Command::new(&self.launcher);
        confined.args(&self.arguments).arg(command.get_program()).args(command.get_args());
        confined.env_clear();
        confined.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        if let Some(directory) = command.get_current_dir() {
            confined.current_dir(directory);
        }
        confined
    }

    /// Starts the command, which must be a confined one: see [`PreparedCell::confine_command`].
    ///
    /// # Errors
    ///
    /// The error of `start`.
    pub fn spawn<T: Send>(self, start: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        start()
    }
}

fn list_launcher_words(profile: String) -> Vec<OsString> {
    vec!["-p".into(), profile.into(), "--".into()]
}

/// Returns the launcher if a profile hides a file, keeps another one as it is, and lets a third be
/// read.
fn try_profiles(launcher: &Path) -> Result<PathBuf, SandboxUnavailable> {
    let fail = |why: String| SandboxUnavailable::new(format!("{}: {why}", launcher.display()));
    static TRIALS: AtomicU64 = AtomicU64::new(0);
    let (process, trial) = (std::process::id(), TRIALS.fetch_add(1, Ordering::Relaxed));
    let directory = std::env::temp_dir().join(format!("windlass-seatbelt-{process}-{trial}"));
    let tried = try_in(launcher, &directory);
    let _ = std::fs::remove_dir_all(&directory);
    tried.map_err(fail).map(|()| launcher.to_owned())
}

fn try_in(launcher: &Path, directory: &Path) -> Result<(), String> {
    let place = |name: &str| directory.join(name);
    std::fs::create_dir_all(place("own")).map_err(|error| error.to_string())?;
    for name in ["hidden", "open"] {
        std::fs::write(place(name), "text").map_err(|error| error.to_string())?;
    }
    let plan = CellPlan {
        temporary_directory: place("own"),
        hidden: vec![place("hidden")],
        ..CellPlan::default()
    };
    let words = list_launcher_words(render_cell_profile(&plan)?);
    let run = |script: &str| {
        let mut command = Command::new(launcher);
        command.args(&words).args(["/bin/sh", "-c", script]).current_dir(directory).env_clear();
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().map(|status| status.success()).map_err(|error| error.to_string())
    };
    if !run("/bin/cat open && : >own/a")? {
        return Err("a command that a profile permits does not run".to_owned());
    }
    if run("/bin/cat hidden")? || run(": >other")? || run(": >>open")? {
        return Err("a profile is accepted, but not enforced".to_owned());
    }
    Ok(())
}

/// The entry of the binary: only programs of a command line that are confined one by one use it.
pub(crate) fn enter(arguments: &[OsString]) -> i32 {
    let entered = match arguments.split_first() {
        Some((role, rest)) if role == "cell" => run_held_program(Path::new(LAUNCHER), rest),
        _ => Err("this part of the sandbox is not for this system".to_owned()),
    };
    entered.unwrap_or_else(|problem| {
        eprintln!("windlass sandbox: {problem}");
        EXIT_NOT_ENTERED
    })
}

fn run_held_program(launcher: &Path, arguments: &[OsString]) -> Result<i32, String> {
    use std::os::unix::process::CommandExt as _;
    let (plan, program, rest) = HeldProgramPlan::read(arguments)?;
    let profile = render_cell_profile(&plan.cell)?;
    let mut command = Command::new(launcher);
    command.args(list_launcher_words(profile)).arg(program).args(rest).envs(plan.set);
    plan.unset.iter().for_each(|name| {
        command.env_remove(name);
    });
    let error = command.exec();
    eprintln!("windlass sandbox: {}: {error}", launcher.display());
    Ok(match error.kind() {
        io::ErrorKind::NotFound => EXIT_NOT_FOUND,
        _ => EXIT_NOT_STARTED,
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    /// Stands for `sandbox-exec`: runs what follows the profile, or refuses as it is told.
    fn write_launcher(directory: &Path, script: &str) -> PathBuf {
        let path = directory.join("launcher");
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    #[test]
    fn a_launcher_that_enforces_nothing_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        for script in ["shift 3; exec \"$@\"", "exit 1", "exec /nonexistent"] {
            let launcher = write_launcher(folder.path(), script);
            assert!(try_profiles(&launcher).is_err(), "{script}");
        }
        assert!(try_profiles(&folder.path().join("missing")).is_err());
        let strict =
            "case \"$6\" in *hidden*|*other*|*'>>open'*) exit 1;; esac; shift 3; exec \"$@\"";
        let launcher = write_launcher(folder.path(), strict);
        assert_eq!(try_profiles(&launcher).ok(), Some(launcher));
    }

    #[test]
    fn a_command_keeps_its_words_directory_and_environment_behind_the_launcher() {
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path().canonicalize().unwrap();
        let launcher =
            write_launcher(&directory, "[ \"$1$3\" = -p-- ] || exit 9; shift 3; exec \"$@\"");
        let cell = Cell { launcher: launcher.clone() };
        let plan = CellPlan { temporary_directory: directory.clone(), ..CellPlan::default() };
        let prepared = cell.prepare(&plan).unwrap();
        let script = "echo \"$1|$A|$(pwd)|$HOME\"";
        let mut command = Command::new("/bin/sh");
        command
            .args(["-c", script, "sh", "a b\n-p"])
            .env_clear()
            .env("A", "x")
            .current_dir(&directory);
        let mut confined = prepared.confine_command(command);
        let output = prepared.spawn(|| confined.output()).unwrap();
        let expected = format!("a b\n-p|x|{}|\n", directory.display());
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected);

        let sandbox = Sandbox { launcher };
        let mut plan = SandboxPlan::new(&directory, None);
        plan.environment.push(("A".into(), "y".into()));
        let words = ["-c", script, "sh", "c"];
        let mut launch = sandbox.prepare_command(&plan, "/bin/sh", words).unwrap();
        let output = launch.spawn(|mut command| command.output()).unwrap();
        let expected = format!("c|y|{}|\n", directory.display());
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
        plan.hidden.push("/w/a\nb".into());
        assert!(sandbox.prepare_command(&plan, "/bin/sh", words).is_err());
    }
}
