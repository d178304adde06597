//! What snapshots take on the disk is bounded and given up, and sessions that share it know of each other.

use serde_json::{Value, json};
use windlass_rehearsal::{Script, ScriptedAnswer};

use crate::fixture::{RunningCommand, TestDirs, play, run, wait_for_file};
use crate::recorded_session::{SESSION, diff, find_call, record_session, rewind};
use crate::work_files::{bash, text, write};

const OTHER: &str = "9a0e9d8c-7b6a-4958-8473-625140312233";

#[test]
fn snapshots_that_no_session_needs_any_more_are_given_up() {
    let dirs = TestDirs::new();
    let server = record_session(&dirs, &[&["head -c 3000000 /dev/urandom > big; echo a > a"]]);
    let journal = dirs.journals().pop().expect("a journal");
    let stores = || {
        let state = journal.ancestors().nth(3).expect("a folder");
        let root = state.join("workspaces");
        let stores =
            std::fs::read_dir(root).expect("stores").map(|entry| entry.expect("one").path());
        stores.collect::<Vec<_>>()
    };
    let measure = || -> u64 {
        let files =
            stores().into_iter().flat_map(|store| std::fs::read_dir(store).expect("a store"));
        files.map(|file| file.expect("a file").metadata().expect("metadata").len()).sum()
    };
    assert_eq!(stores().len(), 1, "one for each working directory");
    assert!(measure() > 3_000_000, "what was made is kept");
    std::fs::remove_file(dirs.file("big")).expect("removed");
    run(&mut dirs.windlass(&["sessions", "delete", SESSION])).answer();
    let again = "8a0e9d8c-7b6a-4958-8473-625140312233";
    let script = Script::new().answer(bash("echo b > b")).answer(ScriptedAnswer::text("Done."));
    let other = play(script);
    let mut command = dirs.asking(&other.url(), &["--dangerously-skip-permissions"]);
    run(command.args(["--session-id", again, "-p", "go"])).answer();
    assert!(measure() < 1_000_000, "{}", measure());
    run(&mut dirs.windlass(&["rewind", again, "--to", "1", "--files"])).answer();
    assert!(!dirs.file("b").exists() && dirs.file("a").exists());
    drop(server);
}

#[test]
fn snapshots_of_a_session_that_cannot_be_read_for_a_while_are_kept() {
    let dirs = TestDirs::new();
    write(&dirs.file("a"), "one\n");
    let server = record_session(&dirs, &[&["echo two > a"]]);
    let history = dirs.journals().pop().expect("a journal").with_extension("kept");
    let aside = history.with_extension("aside");
    std::fs::rename(&history, &aside).expect("moved");
    std::os::unix::fs::symlink(&history, &history).expect("a link to itself");
    let flags = ["--dangerously-skip-permissions", "-p", "go"];
    run(&mut dirs.asking(&server.url(), &flags)).answer();
    std::fs::remove_file(&history).expect("removed");
    std::fs::rename(&aside, &history).expect("back");
    run(&mut dirs.asking(&server.url(), &flags)).answer();
    rewind(&dirs, &["--to", "1", "--files"]);
    assert_eq!(text(&dirs.file("a")), "one\n");
}

#[test]
fn snapshots_are_bounded_by_settings() {
    let dirs = TestDirs::new();
    write(&dirs.file("a"), "one\n");
    let _server = record_session(&dirs, &[&["echo two > a"]]);
    let journal = dirs.journals().pop().expect("a journal");
    let folder = journal.parent().expect("a folder");
    let lists = std::fs::read_dir(folder).expect("a folder").flatten();
    let log = lists.map(|entry| entry.path().join("log")).find(|path| path.is_file());
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(3 * 24 * 60 * 60);
    let log = std::fs::File::options().write(true).open(log.expect("a list")).expect("a file");
    log.set_modified(old).expect("an older time");
    let looked = rewind(&dirs, &["--to", "1", "--files", "--dry-run"]);
    assert!(
        looked.contains("Would restore 1 file") && !looked.contains("were deleted"),
        "{looked}"
    );
    // Noise does not become smaller: more than a megabyte of it has no room.
    let script = Script::new()
        .answer(bash("head -c 3000000 /dev/urandom > noise; echo three > a"))
        .answer(bash("echo four > a"))
        .answer(ScriptedAnswer::text("Done.").repeat(0));
    let server = play(script);
    let settings = json!({"snapshotPeriodDays": 1, "snapshotMegabytesMax": 1}).to_string();
    let flags = ["--dangerously-skip-permissions", "--settings", &settings, "-p", "go"];
    let ended = run(&mut dirs.asking(&server.url(), &flags));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let given_up = rewind(&dirs, &["--to", "1", "--files", "--dry-run"]);
    assert!(given_up.contains("were deleted"), "{given_up}");
    let call = find_call(&dirs, "echo two > a");
    assert!(given_up.contains(&call), "what is not restored is named: {given_up}");
    assert!(rewind(&dirs, &[]).contains(&call), "in the list of prompts, too");
    let stats = run(&mut dirs.windlass(&["stats", "--json"])).answer().to_owned();
    let stats: Value = serde_json::from_str(&stats).expect("JSON");
    assert!(stats["snapshots"]["bytes"].as_u64().expect("a size") <= 1 << 20, "{stats}");
}

#[test]
fn w24_of_two_sessions_in_a_directory_each_takes_back_its_own() {
    let dirs = TestDirs::new();
    write(&dirs.file("both"), "at first\n");
    let wait = "echo 1 > a1; echo r > ready; until [ -e go ]; do sleep 0.02; done; echo 2 > a2";
    let slow =
        play(Script::new().answer(bash(wait)).answer(ScriptedAnswer::text("First.").repeat(0)));
    let quick = play(
        Script::new()
            .answer(bash("echo b > b; echo by the other > both"))
            .answer(ScriptedAnswer::text("Second.").repeat(0)),
    );
    let flags = |id| ["--dangerously-skip-permissions", "--session-id", id, "-p", "go"];
    let first = RunningCommand::start(&mut dirs.asking(&slow.url(), &flags(SESSION)));
    wait_for_file(&dirs.file("ready"));
    let mut second = dirs.asking(&quick.url(), &flags(OTHER));
    let second = run(second.arg("--verbose"));
    assert!(second.stderr.contains("another session works in this directory"), "{second:?}");
    write(&dirs.file("go"), "");
    assert_eq!(first.finish().code, Some(0));

    let shown = diff(&dirs, &["--stat"]);
    assert!(shown.contains("created   a1") && shown.contains("created   a2"), "{shown}");
    assert!(!shown.contains("created   b") && !shown.contains("both"), "the other's: {shown}");
    let others = run(&mut dirs.windlass(&["diff", OTHER, "--stat"])).answer().to_owned();
    assert!(others.contains("created   b") && others.contains("both"), "{others}");
    assert!(!others.contains("a1") && !others.contains("a2"), "{others}");
    let refused = run(&mut dirs.windlass(&["rewind", SESSION, "--to", "1", "--files"]));
    let line = refused.error_line(1);
    assert!(line.contains("/b") && line.contains("--skip-changed"), "{line}");
    rewind(&dirs, &["--to", "1", "--files", "--skip-changed"]);
    assert!(!dirs.file("a1").exists() && !dirs.file("a2").exists(), "its own go");
    assert_eq!(
        (text(&dirs.file("b")), text(&dirs.file("both"))),
        ("b\n".into(), "by the other\n".into())
    );
    let skip = ["rewind", OTHER, "--to", "1", "--files", "--skip-changed"];
    run(&mut dirs.windlass(&skip)).answer();
    assert!(!dirs.file("a1").exists() && !dirs.file("b").exists());
    assert_eq!(text(&dirs.file("both")), "at first\n");
}

#[test]
fn a_restore_that_was_interrupted_does_not_keep_a_session_from_being_undone() {
    let dirs = TestDirs::new();
    write(&dirs.file("a"), "one\n");
    let server = record_session(&dirs, &[&["echo two > a"]]);
    let journal = dirs.journals().pop().expect("a journal");
    let stores = journal.ancestors().nth(3).expect("a folder").join("workspaces");
    let store =
        std::fs::read_dir(stores).expect("stores").flatten().next().expect("a store").path();
    run(&mut dirs.windlass(&["sessions", "delete", SESSION])).answer();
    write(&store.join("restore-log"), "of a process that was killed");
    let script = Script::new().answer(bash("echo three > a")).answer(ScriptedAnswer::text("Done."));
    let other = play(script);
    let flags = ["--dangerously-skip-permissions", "--verbose", "--session-id", OTHER, "-p", "go"];
    let ended = run(&mut dirs.asking(&other.url(), &flags));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(!ended.stderr.contains("cannot be undone"), "{}", ended.stderr);
    std::fs::remove_file(store.join("restore-log")).expect("removed");
    run(&mut dirs.windlass(&["rewind", OTHER, "--to", "1", "--files"])).answer();
    assert_eq!(text(&dirs.file("a")), "two\n");
    drop(server);
}
