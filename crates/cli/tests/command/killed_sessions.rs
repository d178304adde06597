//! Two sessions work in one directory, with dry runs beside them, and processes of all of them are
//! killed at random moments: in a command, a snapshot, a rewind, an acceptance. Everything can be taken
//! back exactly.

use std::process::Command;

use rustix::process::Signal;
use windlass_rehearsal::{Rehearsal, Script, ScriptedAnswer};

use crate::fixture::{FinishedCommand, RunningCommand, TestDirs, play, run, wait_until_gone};
use crate::recorded_session::read_tree;
use crate::work_files::{bash, text, write};

const FIRST: &str = "aa0e9d8c-7b6a-4958-8473-625140312233";
const SECOND: &str = "bb0e9d8c-7b6a-4958-8473-625140312233";
const ROUNDS: u64 = 4;
const FILES: u64 = 25;
const SPINS: u64 = 300_000;

/// A small deterministic random number generator.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// A command that changes every file of a folder, and its name is where it says its process.
fn change(dirs: &TestDirs, folder: &str, round: u64) -> Rehearsal {
    let pid = pid_file(dirs, folder);
    let command = format!(
        "echo $$ > '{}'; for f in {folder}/f*; do printf '{folder} {round}' > $f.new; mv $f.new $f; \
         done; rm -rf {folder}/sub; mkdir -m 750 {folder}/sub; echo {round} > {folder}/sub/{round}; \
         ln -sfn sub/{round} {folder}/link",
        pid.display()
    );
    play(Script::new().answer(bash(&command)).answer(ScriptedAnswer::text("Done.").repeat(0)))
}

fn pid_file(dirs: &TestDirs, folder: &str) -> std::path::PathBuf {
    dirs.home().join(format!("pid-{folder}"))
}

fn ask(dirs: &TestDirs, server: &Rehearsal, flags: &[&str]) -> Command {
    let flags = [&["--dangerously-skip-permissions", "-p", "go"], flags].concat();
    dirs.asking(&server.url(), &flags)
}

fn is_changed(dirs: &TestDirs, folder: &str, file: u64, round: u64) -> bool {
    text(&dirs.file(&format!("{folder}/f{file}"))) == format!("{folder} {round}")
}

/// Starts a command, waits until this is so, and kills it after so many spins. Returns whether it was
/// killed before its end.
pub(crate) fn kill_when(command: &mut Command, spins: u64, is_time: impl Fn() -> bool) -> bool {
    let running = RunningCommand::start(command);
    let stat = format!("/proc/{}/stat", running.id());
    let is_over = || std::fs::read_to_string(&stat).map_or(true, |stat| stat.contains(") Z "));
    while !is_time() && !is_over() {
        std::thread::yield_now();
    }
    for spin in 0..spins {
        std::hint::black_box(spin);
    }
    running.signal(Signal::KILL);
    running.finish().code.is_none()
}

fn check_files_are_whole(dirs: &TestDirs, about: &str) {
    for folder in ["a", "b", "c"] {
        for file in 0..FILES {
            let held = text(&dirs.file(&format!("{folder}/f{file}")));
            let is_whole = (0..=ROUNDS).any(|round| held == format!("{folder} {round}"));
            assert!(is_whole, "{about}: {folder}/f{file} holds {held:?}");
        }
    }
}

fn check_seed(seed: u64) {
    let dirs = TestDirs::new();
    let mut random = Random(seed);
    for folder in ["a", "b", "c"] {
        for file in 0..FILES {
            write(&dirs.file(&format!("{folder}/f{file}")), &format!("{folder} 0"));
        }
    }
    let original = read_tree(&dirs.work());
    for (id, folder) in [(FIRST, "a"), (SECOND, "b")] {
        let begin = play(
            Script::new()
                .answer(bash(&format!("echo begun > {folder}/begun")))
                .answer(ScriptedAnswer::text("Begun.").repeat(0)),
        );
        run(&mut ask(&dirs, &begin, &["--session-id", id])).answer();
    }
    let mut kills = 0;
    for round in 1..=ROUNDS {
        let about = format!("seed {seed}, round {round}");
        let [first, second, tried] = ["a", "b", "c"].map(|folder| change(&dirs, folder, round));
        let beside = RunningCommand::start(&mut ask(&dirs, &second, &["-r", SECOND]));
        let at = random.below(FILES);
        let mut killed = ask(&dirs, &first, &["-r", FIRST]);
        kills += u32::from(kill_when(&mut killed, random.below(SPINS), || {
            is_changed(&dirs, "a", at, round)
        }));
        wait_until_gone(&text(&pid_file(&dirs, "a")));
        assert_eq!(beside.finish().code, Some(0), "{about}");
        check_files_are_whole(&dirs, &about);

        let mut rewinding = dirs.windlass(&["rewind", SECOND, "--to", "1", "--files"]);
        let at = random.below(FILES);
        rewinding.arg("--skip-changed");
        kills += u32::from(kill_when(&mut rewinding, random.below(SPINS), || {
            !is_changed(&dirs, "b", at, round)
        }));
        check_files_are_whole(&dirs, &about);

        let dry = ["--dry-run", "--output-format", "json"];
        let ended: FinishedCommand = run(&mut ask(&dirs, &tried, &dry));
        assert_eq!(ended.code, Some(0), "{about}: {ended:?}");
        let object: serde_json::Value = serde_json::from_str(&ended.stdout).expect("JSON");
        let id = object["session_id"].as_str().expect("an id").to_owned();
        let at = random.below(FILES);
        let mut applying = dirs.windlass(&["apply", &id]);
        let is_killed =
            kill_when(&mut applying, random.below(SPINS), || is_changed(&dirs, "c", at, round));
        kills += u32::from(is_killed);
        check_files_are_whole(&dirs, &about);
        let again = run(&mut dirs.windlass(&["apply", &id]));
        let is_done = again.code == Some(0) || again.stderr.contains("no dry run");
        assert!(is_done, "{about}, killed {is_killed}: {again:?}");
        assert!((0..FILES).all(|file| is_changed(&dirs, "c", file, round)), "{about}: {again:?}");
        // What only this one needs is given up when another one begins.
        if random.below(2) == 0 {
            run(&mut dirs.windlass(&["sessions", "delete", &id])).answer();
        }
    }
    assert!(kills > 0, "seed {seed}: nothing was killed");
    let back = ["rewind", FIRST, "--to", "1", "--files", "--overwrite"];
    let report = run(&mut dirs.windlass(&back));
    assert_eq!(report.code, Some(0), "seed {seed}: {report:?}");
    let found = read_tree(&dirs.work());
    let differ = found.iter().filter(|entry| !original.contains(entry)).collect::<Vec<_>>();
    assert_eq!(found, original, "seed {seed}: {differ:?} {report:?}");
}

#[test]
fn sessions_rewinds_and_acceptances_killed_beside_each_other_lose_nothing() {
    for seed in 1..=3 {
        check_seed(seed * 6_151);
    }
}
