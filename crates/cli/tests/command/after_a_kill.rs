//! A process that was killed leaves calls and rewinds whose end nobody saw. What they are proven to have
//! done goes back; anything else may be a person's by now, and is asked about.

use rustix::process::Signal;
use serde_json::json;
use windlass_rehearsal::{Rehearsal, Script, ScriptedAnswer};

use crate::fixture::{RunningCommand, TestDirs, play, run, wait_for_file};
use crate::recorded_session::{SESSION, diff, read_tree, record_session, rewind};
use crate::work_files::{bash, text, write};

const BACK: [&str; 5] = ["rewind", SESSION, "--to", "1", "--files"];

/// Begins a session that answers with this, and kills it when the file `begun` is there.
fn kill_session(dirs: &TestDirs, answer: ScriptedAnswer) -> Rehearsal {
    let script = Script::new().answer(answer).answer(ScriptedAnswer::text("Going on.").repeat(0));
    let server = play(script);
    let mut command = dirs.asking(&server.url(), &["--dangerously-skip-permissions"]);
    let process = RunningCommand::start(command.args(["--session-id", SESSION, "-p", "go"]));
    wait_for_file(&dirs.file("begun"));
    process.signal(Signal::KILL);
    process.finish();
    server
}

#[test]
fn what_a_killed_command_did_is_shown_and_goes_back_with_a_yes() {
    let dirs = TestDirs::new();
    write(&dirs.file("a"), "one\n");
    let server = kill_session(&dirs, bash("echo two > a; echo begun > begun; exec sleep 600"));
    run(&mut dirs.asking(&server.url(), &["-c", "-p", "go on"])).answer();
    assert!(diff(&dirs, &[]).contains("+two"), "the next look is its end");
    let refused = run(&mut dirs.windlass(&BACK));
    let line = refused.error_line(1);
    assert!(line.contains("that was cut off") && line.contains("--overwrite"), "{line}");
    assert_eq!(text(&dirs.file("a")), "two\n", "nothing was begun");
    rewind(&dirs, &["--to", "1", "--files", "--overwrite"]);
    assert_eq!(text(&dirs.file("a")), "one\n");
    assert!(!dirs.file("begun").exists());
}

#[test]
fn what_a_person_changes_after_a_kill_is_not_overwritten_unasked() {
    let dirs = TestDirs::new();
    for name in ["a", "b"] {
        write(&dirs.file(name), "one\n");
    }
    let change = "echo two > a; echo two > b; echo begun > begun; exec sleep 600";
    let server = kill_session(&dirs, bash(change));
    write(&dirs.file("b"), "by hand\n");
    write(&dirs.file("mine"), "mine\n");
    for is_resumed in [false, true] {
        if is_resumed {
            run(&mut dirs.asking(&server.url(), &["-c", "-p", "go on"])).answer();
        }
        let refused = run(&mut dirs.windlass(&BACK));
        let line = refused.error_line(1);
        assert!(line.contains("/b") && line.contains("/mine"), "{line}");
        rewind(&dirs, &["--to", "1", "--files", "--skip-changed"]);
        assert_eq!(text(&dirs.file("b")), "by hand\n", "resumed: {is_resumed}");
        assert_eq!(text(&dirs.file("mine")), "mine\n", "resumed: {is_resumed}");
    }
    let named = dirs.file("a").display().to_string();
    rewind(&dirs, &["--to", "1", "--files", "--overwrite-file", &named]);
    assert_eq!(text(&dirs.file("a")), "one\n");
    assert_eq!(text(&dirs.file("b")), "by hand\n", "a yes for one file is none for another");
}

#[test]
fn an_edit_that_was_announced_before_a_kill_goes_back_unasked() {
    let dirs = TestDirs::new();
    write(&dirs.file("a"), "one\n");
    let wait = json!({"type": "command", "command": "echo begun > begun; exec sleep 600"});
    let hooks = json!({"hooks": {"PostToolUse": [{"hooks": [wait]}]}});
    write(&dirs.home().join(".claude/settings.json"), &hooks.to_string());
    let edit = json!({"file_path": dirs.file("made"), "content": "made\n"});
    let server = kill_session(&dirs, ScriptedAnswer::call("Write", edit));
    std::fs::remove_file(dirs.file("begun")).expect("removed");
    assert_eq!(text(&dirs.file("made")), "made\n");
    rewind(&dirs, &["--to", "1", "--files"]);
    assert!(!dirs.file("made").exists(), "what was announced is ours");
    drop(server);
}

#[test]
fn what_a_person_changes_after_a_killed_rewind_is_not_overwritten_unasked() {
    let dirs = TestDirs::new();
    write(&dirs.file("a"), "one\n");
    write(&dirs.file("b"), "one\n");
    for number in 0..400 {
        write(&dirs.file(&format!("many/{number}")), "one\n");
    }
    let _server = record_session(&dirs, &[&["rm -r many; echo two > a; echo two > b"]]);
    let stores = dirs.work().with_file_name("state").join("windlass/workspaces");
    let store = stores.read_dir().expect("stores").flatten().next().expect("a store").path();
    let rewinding = RunningCommand::start(&mut dirs.windlass(&BACK));
    // The log of a restore is there from before its first operation until after its last.
    let status = format!("/proc/{}/stat", rewinding.id());
    let is_over = || text(status.as_ref()).contains(") Z ");
    while !store.join("restore-log").exists() && !is_over() {
        std::thread::yield_now();
    }
    rewinding.signal(Signal::KILL);
    rewinding.finish();
    let left = read_tree(&dirs.work());
    rewind(&dirs, &["--to", "1", "--files", "--dry-run"]);
    assert_eq!(read_tree(&dirs.work()), left, "a preview completes nothing");
    write(&dirs.file("a"), "by hand\n");
    let refused = run(&mut dirs.windlass(&BACK));
    assert!(refused.error_line(1).contains("/a"), "{refused:?}");
    assert_eq!(text(&dirs.file("a")), "by hand\n");
    rewind(&dirs, &["--to", "1", "--files", "--skip-changed"]);
    assert_eq!(text(&dirs.file("a")), "by hand\n");
    assert_eq!(text(&dirs.file("b")), "one\n", "what the rewind restored is no person's");
    assert_eq!(text(&dirs.file("many/399")), "one\n");
}
