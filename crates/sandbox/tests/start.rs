//! How long a start takes, beside bubblewrap's own in the same run.
//!
//! A program of its own, so that `cargo test` runs nothing else of ours meanwhile.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use windlass_sandbox::{Sandbox, SandboxBackend, SandboxPlan, SandboxProbeOptions};

/// Enough for figures that stand still while the machine is busy.
const ROUNDS: usize = 16;
/// Starts measured at a time.
const STARTS: usize = 10;
/// A series may coincide with the work of others; one that does not is enough.
const SERIES_MAX: usize = 3;
/// As the promise says.
const RATIO_MAX: f64 = 1.5;

/// What anybody would type to get as much.
const PLAIN: &[&str] = &[
    "--unshare-all",
    "--die-with-parent",
    "--new-session",
    "--ro-bind",
    "/",
    "/",
    "--dev",
    "/dev",
    "--proc",
    "/proc",
    "--tmpfs",
    "/tmp",
    "--tmpfs",
    "/run",
    "--",
    "/bin/bash",
    "--noprofile",
    "--norc",
    "-c",
    "true",
];

/// What a number of starts took.
#[derive(Clone, Copy, Debug, Default)]
struct Cost {
    /// By the clock.
    passed: Duration,
    /// Of the processor, by us and by everything we started, in the ticks of the system.
    worked: u64,
}

impl Cost {
    fn of(start: impl Fn()) -> Self {
        let (began, before) = (Instant::now(), worked());
        (0..STARTS).for_each(|_| start());
        Self { passed: began.elapsed(), worked: worked() - before }
    }
}

/// The processor's time so far of this process and of those that have ended below it.
fn worked() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields = stat.rsplit_once(") ").unwrap().1.split(' ');
    fields.skip(11).take(4).map(|ticks| ticks.parse::<u64>().unwrap()).sum()
}

/// The middle one.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

#[test]
fn a_start_costs_at_most_half_more_than_bubblewraps_own() {
    assert!(
        Path::new("/usr/bin/bwrap").exists(),
        "bubblewrap is missing; install it with: apt-get install -y bubblewrap"
    );
    let programs = tempfile::tempdir().unwrap();
    let readable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(programs.path(), readable).unwrap();
    let us = std::env::current_exe().unwrap();
    // As nobody, who may not look at where we were built, it stands beside us.
    let beside = us.with_file_name("windlass-sandbox");
    let runner = if beside.exists() { beside } else { runner_in(programs.path()) };
    if is_root() {
        // Once more as a user without control groups.
        let nobody = programs.path().join("start");
        std::fs::copy(us, &nobody).unwrap();
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&nobody);
        command.args(["--exact", "--nocapture"]);
        command.arg("a_start_costs_at_most_half_more_than_bubblewraps_own");
        assert!(command.current_dir("/").status().unwrap().success(), "as nobody");
    }
    let project = tempfile::tempdir().unwrap();
    let mut wanted = SandboxProbeOptions::best_available(runner, ["enter"]);
    wanted.backend = Some(SandboxBackend::Bubblewrap);
    let sandbox = Sandbox::probe(&wanted).unwrap();
    let plan = SandboxPlan::new(project.path(), Some(project.path()));
    let plain = || {
        let mut command = Command::new("/usr/bin/bwrap");
        command.args(PLAIN).env_clear().stdin(Stdio::null());
        assert!(command.status().unwrap().success());
    };
    let ours = || {
        let mut launch =
            sandbox.prepare_shell(&plan, Path::new("/bin/bash"), OsStr::new("true")).unwrap();
        let mut child = launch.spawn(|mut command| command.stdin(Stdio::null()).spawn()).unwrap();
        assert!(child.wait().unwrap().success());
        assert_eq!(launch.clean_up().problem, None);
    };
    let series = (0..SERIES_MAX).map(|_| ratio(plain, ours));
    let seen: Vec<f64> = series.take_while(|ratio| *ratio > RATIO_MAX).collect();
    assert!(seen.len() < SERIES_MAX, "too slow every time: {seen:.2?}");
}

/// How many times as long ours takes.
fn ratio(plain: impl Fn() + Copy, ours: impl Fn() + Copy) -> f64 {
    let (mut ratios, mut worked) = (Vec::new(), (0, 0));
    for round in 0..ROUNDS {
        // They take turns at going first, so that a busy moment hits both alike.
        let (plain, ours) = match round % 2 {
            0 => (Cost::of(plain), Cost::of(ours)),
            _ => {
                let ours = Cost::of(ours);
                (Cost::of(plain), ours)
            }
        };
        ratios.push(ours.passed.as_secs_f64() / plain.passed.as_secs_f64());
        worked = (worked.0 + plain.worked, worked.1 + ours.worked);
    }
    // On a quiet machine the clock tells. Where others wait for the processor as well, it tells how
    // often one had to queue, and only the work that was done can be compared.
    let by_clock = median(ratios);
    let by_work = worked.1 as f64 / worked.0 as f64;
    println!("root: {}, by the clock {by_clock:.2}, by work {by_work:.2}", is_root());
    by_clock.min(by_work)
}

/// The program under test, in a place where everybody can read it.
fn runner_in(place: &Path) -> PathBuf {
    let program = place.join("windlass-sandbox");
    std::fs::copy(env!("CARGO_BIN_EXE_windlass-sandbox"), &program).unwrap();
    program
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// As the promise says, with and without a cell in turn; a build for debugging has room in it.
const CELL_ADDS_MAX_MILLIS: f64 = 2.0;

#[test]
fn a_cell_adds_at_most_two_milliseconds() {
    let (place, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut command = Command::new(env!("CARGO_BIN_EXE_windlass-sandbox"));
    command.args(["cell", "--repeat", "60", "--temporary"]).arg(place.path());
    for secret in windlass_sandbox::secrets::list_home_secrets(home.path()) {
        command.arg("--hide").arg(secret);
    }
    command.args(["--", "/bin/cat", "/dev/null"]);
    let mut measure = || {
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        eprintln!("{}", text.trim());
        let read_millis = |words: &str| {
            let (_, rest) = text.split_once(words).unwrap_or_else(|| panic!("{output:?}"));
            rest.split_once(" ms").unwrap().0.parse::<f64>().unwrap()
        };
        // On a quiet machine the median tells; beside other work only the shortest runs can be compared.
        read_millis("difference ").min(read_millis("shortest runs "))
    };
    let series: Vec<f64> = std::iter::repeat_with(&mut measure).take(SERIES_MAX).collect();
    let least = series.iter().copied().fold(f64::INFINITY, f64::min);
    assert!(least <= CELL_ADDS_MAX_MILLIS, "{series:?}");
}
