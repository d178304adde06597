//! Finds out what works on this machine by trying it, and says so.
//!
//! Nothing is guessed from versions: containers, distributions and administrators forbid parts of
//! this in ways that only show when it is tried.

use std::io::Read as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Means;
use super::bubblewrap::{self, Proc};
use super::cgroup::Pool;
use super::layout::{Access, Layout};
use crate::plan::Plan;
use crate::refusal::Unavailable;
use crate::wanted::{Backend, Wanted};

/// A trial takes milliseconds.
const DEADLINE: Duration = Duration::from_secs(20);
const LOOK_AGAIN: Duration = Duration::from_millis(1);
const WORDS_MAX: u64 = 4096;

/// Not looked for on the search path, which a project may have a say in.
const BUBBLEWRAPS: &[&str] = &["/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap"];

/// What works, and why it is not something better.
pub(super) fn probe(wanted: &Wanted) -> Result<(Means, String), Unavailable> {
    let mut tried = Vec::new();
    if wanted.backend != Some(Backend::Landlock) {
        match wrapped(wanted) {
            Ok(found) => return Ok(found),
            Err(why) => tried.push(why),
        }
    }
    if wanted.backend != Some(Backend::Bubblewrap) {
        match landlocked(wanted) {
            Ok(is_full) => return Ok((Means::Landlock { is_full }, tried.concat())),
            Err(why) => tried.push(format!("Landlock does not work: {why}.")),
        }
    }
    Err(Unavailable::new(format!("There is no sandbox on this machine. {}", tried.join(" "))))
}

fn wrapped(wanted: &Wanted) -> Result<(Means, String), String> {
    let program = match &wanted.bubblewrap {
        Some(program) if program.exists() => program.clone(),
        Some(program) => return Err(format!("`{}` does not exist.", program.display())),
        None => {
            let found = BUBBLEWRAPS.iter().map(Path::new).find(|path| path.exists());
            found.map(PathBuf::from).ok_or(
                "Bubblewrap is missing: install the package `bubblewrap` (`apt-get install \
                 bubblewrap`, `dnf install bubblewrap`).",
            )?
        }
    };
    let first = match attempt(&program, Proc::Fresh) {
        Ok(()) => return Ok((Means::Bubblewrap { program, proc: Proc::Fresh }, String::new())),
        Err(why) => why,
    };
    match attempt(&program, Proc::OfTheHost) {
        Ok(()) => Ok((
            Means::Bubblewrap { program, proc: Proc::OfTheHost },
            format!("A fresh `/proc` is refused here ({first})."),
        )),
        Err(why) => Err(format!("Bubblewrap is there but does not work ({why}).")),
    }
}

fn attempt(program: &Path, proc: Proc) -> Result<(), String> {
    let plan = Plan::new("/", None);
    let layout = Layout {
        directory: "/".into(),
        writable: Vec::new(),
        hidden: Vec::new(),
        places: [(PathBuf::from("/"), Access::Read), (PathBuf::from("/tmp"), Access::Empty)].into(),
    };
    let mut command = Command::new(program);
    command.args(bubblewrap::arguments(&plan, &layout, proc));
    // Older ones do not know this option; an empty program would be refused, so none is given.
    command.args(["--", "/bin/sh", "-c", ":"]);
    run(command).map(drop)
}

fn landlocked(wanted: &Wanted) -> Result<bool, String> {
    let mut command = Command::new(&wanted.entry.program);
    command.args(&wanted.entry.arguments).arg("check");
    run(command).map(|words| words.trim() == "full")
}

/// Runs a trial without environment or input. Gives what it printed, or why it failed.
fn run(mut command: Command) -> Result<String, String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let wrong = |error: std::io::Error| format!("`{program}`: {error}");
    let mut child = command
        .env_clear()
        .current_dir("/")
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(wrong)?;
    let deadline = Instant::now() + DEADLINE;
    let status = loop {
        if let Some(status) = child.try_wait().map_err(wrong)? {
            break status;
        }
        if Instant::now() > deadline {
            let _ = child.kill();
            let _ = child.wait();
            return Err(format!("`{program}` did not end within {} s", DEADLINE.as_secs()));
        }
        std::thread::sleep(LOOK_AGAIN);
    };
    let mut words = String::new();
    let mut read = |pipe: Option<&mut dyn std::io::Read>| {
        if let Some(pipe) = pipe {
            let _ = pipe.take(WORDS_MAX).read_to_string(&mut words);
        }
    };
    if status.success() {
        read(child.stdout.as_mut().map(|pipe| pipe as _));
        return Ok(words);
    }
    read(child.stderr.as_mut().map(|pipe| pipe as _));
    let line = words.lines().find(|line| !line.trim().is_empty()).unwrap_or("no reason given");
    Err(line.trim().to_owned())
}

/// Which one, why, and what it does not cover.
pub(super) fn report(means: &Means, why: &str, groups: &Arc<Pool>) -> String {
    let mut lines = Vec::new();
    match means {
        Means::Bubblewrap { program, proc } => {
            lines.push(format!("Sandbox: bubblewrap (`{}`) with seccomp.", program.display()));
            if !why.is_empty() {
                lines.push(why.to_owned());
            }
            if *proc == Proc::OfTheHost {
                lines.push("Not covered: names and command lines of other processes.".into());
            }
            lines.push(
                "Not covered: protected names below the top of a writable directory, and sockets \
                 that other programs make while a command runs."
                    .into(),
            );
            lines.push(
                "Protected files that do not exist yet are moved aside after the command.".into(),
            );
        }
        Means::Landlock { is_full } => {
            lines.push("Sandbox: Landlock with seccomp.".to_owned());
            if !why.is_empty() {
                lines.push(why.to_owned());
            }
            if !is_full {
                lines.push(
                    "This kernel knows only a part of it: signals to other processes or cutting \
                     files short may not be covered."
                        .into(),
                );
            }
            lines.push(
                "Protected files are put back after the command, not held while it runs. No \
                 sockets at all. Modes, owners and times cannot be changed unless the plan gives \
                 leave."
                    .into(),
            );
            lines.push(
                "Not covered: names of hidden files, names and command lines of other processes, \
                 memory they share with everybody, an allow list of hosts (the network is on or \
                 off)."
                    .into(),
            );
        }
    }
    lines.push(bounds(groups));
    lines.join("\n")
}

fn bounds(groups: &Arc<Pool>) -> String {
    let is_root = rustix::process::geteuid().is_root();
    let counts = groups.take(&crate::plan::Limits::default()).counts_processes();
    match (counts, is_root) {
        (true, _) => "Processes and memory are bounded by a control group.".into(),
        (false, false) => "Processes are bounded; memory is bounded per process.".into(),
        (false, true) => "Not covered: the number of processes, because this is root and no \
                          control group can be made. Memory is bounded per process."
            .into(),
    }
}
