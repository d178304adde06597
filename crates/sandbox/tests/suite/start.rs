//! How long a start takes, beside bubblewrap's own in the same run.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use windlass_sandbox::{Backend, Plan, Sandbox, Wanted};

use crate::world::runner;

const ROUNDS: usize = 41;

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
];

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

#[test]
fn a_start_costs_at_most_a_third_more_than_bubblewraps_own() {
    let project = tempfile::tempdir().unwrap();
    let mut wanted = Wanted::any(runner(), ["enter"]);
    wanted.backend = Some(Backend::Bubblewrap);
    let sandbox = Sandbox::probe(&wanted).unwrap();
    let plan = Plan::new(project.path(), Some(project.path()));
    // The machine may be busy with other tests: a busy moment hits both alike, and one quiet
    // attempt of five is enough.
    let mut seen = Vec::new();
    for _ in 0..5 {
        let (mut plain, mut ours) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let began = Instant::now();
            let mut command = Command::new("/usr/bin/bwrap");
            command.args(PLAIN).arg("/bin/true").env_clear().stdin(Stdio::null());
            assert!(command.status().unwrap().success());
            plain.push(began.elapsed());
            let began = Instant::now();
            let t0 = began;
            let mut launch = sandbox.command(&plan, "/bin/true", [""; 0]).unwrap();
            let t1 = Instant::now();
            let mut child =
                launch.spawn(|mut command| command.stdin(Stdio::null()).spawn()).unwrap();
            let t2 = Instant::now();
            assert!(child.wait().unwrap().success());
            let t3 = Instant::now();
            assert_eq!(launch.settle().problem, None);
            ours.push(began.elapsed());
            if ours.len() % 8 == 0 {
                println!(
                    "prep {:?} spawn {:?} wait {:?} settle {:?}",
                    t1 - t0,
                    t2 - t1,
                    t3 - t2,
                    t3.elapsed()
                );
            }
        }
        let (plain, ours) = (median(plain), median(ours));
        let ratio = ours.as_secs_f64() / plain.as_secs_f64();
        println!("plain {plain:?}, ours {ours:?}: {ratio:.2}");
        seen.push(ratio);
        if ratio <= 1.3 {
            return;
        }
    }
    panic!("too slow every time: {seen:.2?}");
}
