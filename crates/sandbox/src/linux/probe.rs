//! Determines what works on this machine by trying it, and explains the result.
//!
//! Versions say too little: containers, distributions and administrators forbid parts of this in
//! ways that are noticed only by trying.

use std::io::Read as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::SandboxMechanism;
use super::bubblewrap::{self, ProcMount};
use super::cgroup::CgroupPool;
use super::mount_layout::{MountAccess, MountLayout};
use crate::error::SandboxUnavailable;
use crate::plan::SandboxPlan;
use crate::probe_options::{SandboxBackend, SandboxProbeOptions};

/// A trial normally takes milliseconds.
const DEADLINE: Duration = Duration::from_secs(20);
const LOOK_AGAIN: Duration = Duration::from_millis(1);
const WORDS_MAX: u64 = 4096;

/// `PATH` is not searched, because a project may influence it.
const BUBBLEWRAPS: &[&str] = &["/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap"];

/// The best mechanism that works, and why better ones do not.
pub(super) fn probe(
    probe_options: &SandboxProbeOptions,
) -> Result<(SandboxMechanism, String), SandboxUnavailable> {
    let mut tried = Vec::new();
    if probe_options.backend == Some(SandboxBackend::Seatbelt) {
        return Err(SandboxUnavailable::new("Seatbelt is a part of macOS, and this is Linux"));
    }
    if probe_options.backend != Some(SandboxBackend::Landlock) {
        match probe_bubblewrap(probe_options) {
            Ok(found) => return Ok(found),
            Err(why) => tried.push(why),
        }
    }
    if probe_options.backend != Some(SandboxBackend::Bubblewrap) {
        match probe_landlock(probe_options) {
            Ok(is_full) => return Ok((SandboxMechanism::Landlock { is_full }, tried.concat())),
            Err(why) => tried.push(format!("Landlock does not work: {why}.")),
        }
    }
    Err(SandboxUnavailable::new(format!(
        "There is no sandbox on this machine. {}",
        tried.join(" ")
    )))
}

fn probe_bubblewrap(
    probe_options: &SandboxProbeOptions,
) -> Result<(SandboxMechanism, String), String> {
    let program = match &probe_options.bubblewrap {
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
    let first = match try_bubblewrap(&program, ProcMount::Fresh) {
        Ok(()) => {
            return Ok((
                SandboxMechanism::Bubblewrap { program, proc: ProcMount::Fresh },
                String::new(),
            ));
        }
        Err(why) => why,
    };
    match try_bubblewrap(&program, ProcMount::Host) {
        Ok(()) => Ok((
            SandboxMechanism::Bubblewrap { program, proc: ProcMount::Host },
            format!("A fresh `/proc` is refused here ({first})."),
        )),
        Err(why) => Err(format!("Bubblewrap is there but does not work ({why}).")),
    }
}

fn try_bubblewrap(program: &Path, proc: ProcMount) -> Result<(), String> {
    let plan = SandboxPlan::new("/", None);
    let layout = MountLayout {
        directory: "/".into(),
        writable: Vec::new(),
        hidden: Vec::new(),
        mounts: [
            (PathBuf::from("/"), MountAccess::Read),
            (PathBuf::from("/tmp"), MountAccess::Empty),
        ]
        .into(),
    };
    let mut command = Command::new(program);
    command.args(bubblewrap::build_arguments(&plan, &layout, proc));
    // Older versions do not know this option, and would reject an empty program.
    command.args(["--", "/bin/sh", "-c", ":"]);
    run_trial(command).map(drop)
}

fn probe_landlock(probe_options: &SandboxProbeOptions) -> Result<bool, String> {
    let mut command = Command::new(&probe_options.entry.program);
    command.args(&probe_options.entry.arguments).arg("check");
    run_trial(command).map(|words| words.trim() == "full")
}

/// Runs a trial without environment and input. Returns its output, or why it failed.
fn run_trial(mut command: Command) -> Result<String, String> {
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

/// Describes the mechanism, why it was chosen, and its limits.
pub(super) fn render_report(
    means: &SandboxMechanism,
    is_supervised: bool,
    why: &str,
    groups: &Arc<CgroupPool>,
) -> String {
    let mut lines = Vec::new();
    match means {
        SandboxMechanism::Bubblewrap { program, proc } => {
            lines.push(format!("Sandbox: bubblewrap (`{}`) with seccomp.", program.display()));
            if !why.is_empty() {
                lines.push(why.to_owned());
            }
            if *proc == ProcMount::Host {
                lines.push("Not covered: names and command lines of other processes.".into());
            }
            lines.push(
                "Not covered: protected names below the top of a writable directory, and sockets \
                 that other programs make while a command runs."
                    .into(),
            );
            if !is_supervised {
                lines.push(
                    "Most protected files that do not exist yet can be created, and are moved \
                     aside at once. To prevent that needs Linux 5.19 with Landlock, and a fresh \
                     `/proc`."
                        .into(),
                );
            }
        }
        SandboxMechanism::Landlock { is_full } => {
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
                "Protected files are restored after the command, not protected while it runs. No \
                 sockets at all. Modes, owners and times cannot be changed unless the plan \
                 allows it."
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
    lines.push(describe_bounds(groups));
    lines.join("\n")
}

fn describe_bounds(groups: &Arc<CgroupPool>) -> String {
    let is_root = rustix::process::geteuid().is_root();
    let counts = groups.lease(&crate::plan::SandboxLimits::default()).counts_processes();
    match (counts, is_root) {
        (true, _) => "Processes and memory are bounded by a control group.".into(),
        (false, false) => "Processes are bounded; memory is bounded per process.".into(),
        (false, true) => "Not covered: the number of processes, because this is root and no \
                          control group can be made. Memory is bounded per process."
            .into(),
    }
}
