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

use windlass_sandbox::{Backend, Plan, Sandbox, Wanted};

const ROUNDS: usize = 31;
const ATTEMPTS: usize = 12;

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

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

#[test]
fn a_start_costs_at_most_a_third_more_than_bubblewraps_own() {
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
        // Once more as somebody who has no control groups.
        let nobody = programs.path().join("start");
        std::fs::copy(us, &nobody).unwrap();
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&nobody);
        command.args(["--exact", "--nocapture"]);
        command.arg("a_start_costs_at_most_a_third_more_than_bubblewraps_own");
        assert!(command.current_dir("/").status().unwrap().success(), "as nobody");
    }
    let project = tempfile::tempdir().unwrap();
    let mut wanted = Wanted::any(runner, ["enter"]);
    wanted.backend = Some(Backend::Bubblewrap);
    let sandbox = Sandbox::probe(&wanted).unwrap();
    let plan = Plan::new(project.path(), Some(project.path()));
    // The machine may be busy with other tests: a busy moment hits both alike, and one quiet
    // attempt is enough.
    let mut seen = Vec::new();
    for _ in 0..ATTEMPTS {
        let (mut plain, mut ours) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let began = Instant::now();
            let mut command = Command::new("/usr/bin/bwrap");
            command.args(PLAIN).env_clear().stdin(Stdio::null());
            assert!(command.status().unwrap().success());
            plain.push(began.elapsed());
            let began = Instant::now();
            let mut launch =
                sandbox.shell(&plan, Path::new("/bin/bash"), OsStr::new("true")).unwrap();
            let mut child =
                launch.spawn(|mut command| command.stdin(Stdio::null()).spawn()).unwrap();
            assert!(child.wait().unwrap().success());
            assert_eq!(launch.settle().problem, None);
            ours.push(began.elapsed());
        }
        let (plain, ours) = (median(plain), median(ours));
        let ratio = ours.as_secs_f64() / plain.as_secs_f64();
        println!("root: {}, plain {plain:?}, ours {ours:?}: {ratio:.2}", is_root());
        seen.push(ratio);
        if ratio <= 1.3 {
            return;
        }
    }
    panic!("too slow every time: {seen:.2?}");
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
