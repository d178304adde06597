//! Runs the sandbox from the command line: `windlass-sandbox run --write DIR -- program arguments`,
//! and the read-only cell: `windlass-sandbox cell --temporary DIR -- program arguments`.
//!
//! For trying what a command can do in it, and for this crate's tests, which need a process in the
//! role of the engine. It is also the smallest program that can be the entry.

use std::ffi::OsString;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use windlass_sandbox::{
    Cell, CellPlan, Sandbox, SandboxBackend, SandboxCleanup, SandboxNetwork, SandboxPlan,
    SandboxProbeOptions,
};

const USAGE: &str = "usage: windlass-sandbox run [option value ...] -- program [argument ...]
  --backend bubblewrap|landlock   only this one
  --bubblewrap PATH               where it is
  --entry PATH                    another program to enter through
  --directory DIR                 where to start (default: the first writable directory)
  --write DIR                     may be written; may be repeated
  --scratch DIR                   may be written, nothing in it is protected
  --read PATH                     may be read although it is below /tmp or /run
  --protect PATH, --hide PATH     stays as it is, cannot be read
  --home DIR                      hide the usual secrets of this home
  --env NAME                      hand this variable on
  --network off|open|SOCKET       whom it may talk to
  --processes N, --memory BYTES   how much it may use
  --metadata yes                  let modes and owners be changed under Landlock
  --lasting yes                   it will go on running beside other work
  --seconds N                     end it after this long (default: 60)
  --report yes                    say what the sandbox covers
usage: windlass-sandbox cell --temporary DIR [--hide PATH ...] [--show DIR ...] \
         [--repeat N] -- program [argument ...]
  --repeat N                      run it N times with and without the cell in turn, and say how
                                  long each took at the median";

const LOOK_AGAIN: Duration = Duration::from_millis(1);

/// How often a command that never started is tried again.
const TRIES: usize = 3;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let code = match arguments.split_first() {
        Some((word, rest)) if word == "enter" => windlass_sandbox::enter(rest),
        Some((word, rest)) if word == "run" => run_command(rest).unwrap_or_else(|problem| {
            eprintln!("windlass-sandbox: {problem}");
            125
        }),
        Some((word, rest)) if word == "cell" => run_in_cell(rest).unwrap_or_else(|problem| {
            eprintln!("windlass-sandbox: {problem}");
            125
        }),
        _ => {
            eprintln!("{USAGE}");
            2
        }
    };
    ExitCode::from(u8::try_from(code).unwrap_or(125))
}

fn run_in_cell(arguments: &[OsString]) -> Result<i32, String> {
    let mut plan = CellPlan::default();
    let mut repeat = None;
    let mut list = arguments.iter();
    let command: Vec<OsString> = loop {
        let word = list.next().ok_or(USAGE)?;
        if word == "--" {
            break list.cloned().collect();
        }
        let value = list.next().ok_or(USAGE)?;
        match word.to_str().unwrap_or_default() {
            "--temporary" => plan.temporary_directory = value.into(),
            "--hide" => plan.hidden.push(value.into()),
            "--show" => plan.shown.push(value.into()),
            "--repeat" => repeat = value.to_str().and_then(|text| text.parse().ok()),
            _ => return Err(USAGE.into()),
        }
    };
    let (program, arguments) = command.split_first().ok_or(USAGE)?;
    let cell = Cell::probe().map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    command.args(arguments).env("TMPDIR", &plan.temporary_directory);
    if let Some(times) = repeat {
        return compare_costs(&cell, &plan, &mut command, times);
    }
    let status = run_once(Some((&cell, &plan)), &mut command)?;
    Ok(status.code().or(status.signal().map(|signal| 128 + signal)).unwrap_or(125))
}

fn run_once(cell: Option<(&Cell, &CellPlan)>, command: &mut Command) -> Result<ExitStatus, String> {
    let child = match cell {
        Some((cell, plan)) => {
            let prepared = cell.prepare(plan).map_err(|error| error.to_string())?;
            prepared.spawn(|| command.spawn())
        }
        None => command.spawn(),
    };
    child.and_then(|mut child| child.wait()).map_err(|error| error.to_string())
}

/// Alternates between both, so that other load affects both equally.
fn compare_costs(
    cell: &Cell,
    plan: &CellPlan,
    command: &mut Command,
    times: usize,
) -> Result<i32, String> {
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut plain = Vec::new();
    let mut held = Vec::new();
    for _ in 0..times.max(1) {
        let begun = Instant::now();
        run_once(None, command)?;
        plain.push(begun.elapsed());
        let begun = Instant::now();
        run_once(Some((cell, plan)), command)?;
        held.push(begun.elapsed());
    }
    plain.sort_unstable();
    held.sort_unstable();
    let millis = |list: &[Duration], place: usize| {
        list.get(place).copied().unwrap_or_default().as_secs_f64() * 1_000.0
    };
    let middle = plain.len() / 2;
    let plain_median = millis(&plain, middle);
    let held_median = millis(&held, middle);
    // On a busy machine the median includes waiting for the processor; the shortest run does not.
    println!(
        "plain {plain_median:.3} ms, cell {held_median:.3} ms, of the shortest runs {:+.3} ms, \
         difference {:+.3} ms",
        millis(&held, 0) - millis(&plain, 0),
        held_median - plain_median
    );
    Ok(0)
}

struct SandboxRunOptions {
    wanted: SandboxProbeOptions,
    plan: SandboxPlan,
    limit: Duration,
    wants_report: bool,
    command: Vec<OsString>,
}

fn run_command(arguments: &[OsString]) -> Result<i32, String> {
    let SandboxRunOptions { wanted, plan, limit, wants_report, command } =
        parse_options(arguments)?;
    let sandbox = Sandbox::probe(&wanted).map_err(|error| error.to_string())?;
    if wants_report {
        eprintln!("{}", sandbox.report());
    }
    for _ in 0..TRIES {
        let (status, cleanup) = try_command(&sandbox, &plan, &command, limit)?;
        for taken in &cleanup.reverted {
            let kept = taken.moved_to.as_deref().unwrap_or(Path::new("nothing"));
            eprintln!("taken back: {} (now {})", taken.path.display(), kept.display());
        }
        for path in &cleanup.left_alone {
            eprintln!("left alone: {}", path.display());
        }
        if let Some(problem) = cleanup.problem {
            return Err(problem);
        }
        let Some(status) = status else {
            return Ok(124);
        };
        let code = status.code().or(status.signal().map(|signal| 128 + signal)).unwrap_or(125);
        // A socket of the host disappeared while the sandbox was being created.
        if code != 1 || cleanup.has_ended {
            return Ok(code);
        }
    }
    Err("it was never entered".into())
}

fn try_command(
    sandbox: &Sandbox,
    plan: &SandboxPlan,
    command: &[OsString],
    limit: Duration,
) -> Result<(Option<ExitStatus>, SandboxCleanup), String> {
    let (program, arguments) = command.split_first().ok_or(USAGE)?;
    let launch = match arguments {
        [option, script] if option == "-c" && program == "bash" => {
            sandbox.prepare_shell(plan, Path::new("/bin/bash"), script)
        }
        _ => sandbox.prepare_command(plan, program, arguments),
    };
    let mut launch = launch.map_err(|error| error.to_string())?;
    let mut child = launch
        .spawn(|mut command| command.process_group(0).stdin(Stdio::null()).spawn())
        .map_err(|error| format!("the launcher: {error}"))?;
    let status = wait_until_deadline(&mut child, limit);
    Ok((status, launch.clean_up()))
}

/// At the deadline the whole group is killed, which must end the sandbox too.
fn wait_until_deadline(child: &mut Child, limit: Duration) -> Option<ExitStatus> {
    let deadline = Instant::now() + limit;
    loop {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(status);
        }
        if Instant::now() > deadline {
            kill_group(child);
            let _ = child.wait();
            return None;
        }
        std::thread::sleep(LOOK_AGAIN);
    }
}

#[cfg(target_os = "linux")]
fn kill_group(child: &Child) {
    let group = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw);
    if let Some(group) = group {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
}

#[cfg(not(target_os = "linux"))]
fn kill_group(child: &mut Child) {
    let _ = child.kill();
}

fn parse_options(arguments: &[OsString]) -> Result<SandboxRunOptions, String> {
    let us = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut wanted = SandboxProbeOptions::best_available(us, ["enter"]);
    let mut plan = SandboxPlan::new("/", None);
    plan.roots.clear();
    let mut directory = None;
    let mut limit = Duration::from_secs(60);
    let mut wants_report = false;
    let mut list = arguments.iter();
    while let Some(word) = list.next() {
        if word == "--" {
            let first = plan.roots.first().cloned().unwrap_or_else(|| "/".into());
            plan.directory = directory.unwrap_or(first);
            let command = list.cloned().collect();
            return Ok(SandboxRunOptions { wanted, plan, limit, wants_report, command });
        }
        let value = list.next().ok_or(USAGE)?;
        let number = || value.to_str().and_then(|text| text.parse::<u64>().ok()).ok_or(USAGE);
        match word.to_str().unwrap_or_default() {
            "--backend" if value == "landlock" => wanted.backend = Some(SandboxBackend::Landlock),
            "--backend" if value == "bubblewrap" => {
                wanted.backend = Some(SandboxBackend::Bubblewrap);
            }
            "--bubblewrap" => wanted.bubblewrap = Some(value.into()),
            "--entry" => wanted.entry.program = value.into(),
            "--directory" => directory = Some(PathBuf::from(value)),
            "--write" => plan.roots.push(value.into()),
            "--scratch" => plan.scratch.push(value.into()),
            "--read" => plan.readable.push(value.into()),
            "--protect" => plan.protected.push(value.into()),
            "--hide" => plan.hidden.push(value.into()),
            "--home" => {
                plan.hidden.extend(windlass_sandbox::secrets::list_home_secrets(Path::new(value)));
            }
            "--env" => {
                plan.environment.extend(std::env::var_os(value).map(|set| (value.clone(), set)));
            }
            "--network" if value == "off" => plan.network = SandboxNetwork::Off,
            "--network" if value == "open" => plan.network = SandboxNetwork::Open,
            "--network" => plan.network = SandboxNetwork::ViaProxy(value.into()),
            "--processes" => plan.limits.processes = number()?,
            "--memory" => plan.limits.memory = number()?,
            "--metadata" => plan.may_change_metadata = value == "yes",
            "--lasting" => plan.is_background = value == "yes",
            "--seconds" => limit = Duration::from_secs(number()?),
            "--report" => wants_report = value == "yes",
            _ => return Err(USAGE.into()),
        }
    }
    Err(USAGE.into())
}
