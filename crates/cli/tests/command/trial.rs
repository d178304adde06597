//! Work on trial: a dry run changes nothing until it is applied, what people do meanwhile is a conflict,
//! a command can be tried from a permission prompt, and several continuations run side by side.

use std::path::{Path, PathBuf};

use rustix::process::Signal;
use serde_json::Value;
use windlass_rehearsal::{Rehearsal, Script, ScriptedAnswer};

use crate::conversation::talk::{ASKED, Talk};
use crate::fixture::{
    FinishedCommand, RunningCommand, TestDirs, play, run, wait_for_file, wait_until_gone,
};
use crate::work_files::{bash, count_trials, folders_that_stay, text, write};

const SESSION: &str = "7a0e9d8c-7b6a-4958-8473-625140312244";

/// A dry run of one command.
fn dry_run(dirs: &TestDirs, command: &str, flags: &[&str]) -> (Rehearsal, FinishedCommand) {
    let script =
        Script::new().answer(bash(command)).answer(ScriptedAnswer::text("Tried.").repeat(0));
    let server = play(script);
    let asked = ["--dry-run", "--dangerously-skip-permissions", "--session-id", SESSION];
    let mut asking = dirs.asking(&server.url(), &asked);
    let ended = run(asking.args(flags).args(["-p", "change it"]));
    (server, ended)
}

/// Standard output of a run that succeeded; what is left to do stands on standard error.
fn output(ended: &FinishedCommand) -> &str {
    assert_eq!(ended.code, Some(0), "{ended:?}");
    &ended.stdout
}

fn git(dirs: &TestDirs, arguments: &[&str]) -> String {
    let output = std::process::Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@example.org"])
        .args(arguments)
        .current_dir(dirs.work())
        .env("HOME", dirs.home())
        .output()
        .expect("git");
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_dry_run_changes_nothing_until_it_is_applied_ignored_folders_too() {
    let dirs = TestDirs::new();
    write(&dirs.file("a.txt"), "one\n");
    write(&dirs.file("gone.txt"), "gone\n");
    write(&dirs.file("moved/deep/x"), "x\n");
    write(&dirs.file(".gitignore"), "build/\n");
    write(&dirs.file("build/old"), "old\n");
    write(&dirs.file("build/stale"), "stale\n");
    let command = "sed -i s/one/two/ a.txt; rm gone.txt; mv moved renamed; ln -s a.txt link; \
                   echo new > build/new; rm build/stale; mkdir -p build/sub; echo s > build/sub/s";
    let (_server, ended) = dry_run(&dirs, command, &[]);
    let shown = output(&ended);
    assert!(shown.starts_with("Tried.\n"), "{shown}");
    assert!(shown.contains("+two") && shown.contains("a.txt (modified, +1 -1)"), "{shown}");
    assert!(shown.contains("build: 3 paths, not shown"), "{shown}");
    assert_eq!(text(&dirs.file("a.txt")), "one\n");
    assert!(dirs.file("gone.txt").exists() && dirs.file("moved/deep/x").exists());
    assert!(!dirs.file("build/new").exists() && !dirs.file("renamed").exists());
    let again = run(&mut dirs.windlass(&["apply", "7a0e", "--show"])).answer().to_owned();
    assert!(again.contains("+two"), "{again}");
    let applied = run(&mut dirs.windlass(&["apply"])).answer().to_owned();
    assert!(applied.starts_with("Applied: "), "{applied}");
    assert_eq!(text(&dirs.file("a.txt")), "two\n");
    assert_eq!(text(&dirs.file("renamed/deep/x")), "x\n");
    assert!(!dirs.file("gone.txt").exists() && !dirs.file("moved").exists());
    assert_eq!(std::fs::read_link(dirs.file("link")).expect("a link"), Path::new("a.txt"));
    assert_eq!(text(&dirs.file("build/new")), "new\n");
    assert_eq!(text(&dirs.file("build/sub/s")), "s\n");
    assert!(dirs.file("build/old").exists() && !dirs.file("build/stale").exists());
    assert_eq!(count_trials(&dirs), 0);
    run(&mut dirs.windlass(&["apply"])).error_line(2);
    // What was applied is a part of the session, and is taken back like everything else.
    run(&mut dirs.windlass(&["rewind", SESSION, "--to", "1", "--files"])).answer();
    assert_eq!(text(&dirs.file("a.txt")), "one\n");
    assert!(dirs.file("moved/deep/x").exists() && dirs.file("gone.txt").exists());
}

#[test]
fn w33_what_a_person_changed_meanwhile_is_a_conflict_and_is_told() {
    let dirs = TestDirs::new();
    write(&dirs.file("a"), "one\n");
    write(&dirs.file("b"), "one\n");
    write(&dirs.file("c"), "one\n");
    let (_server, ended) = dry_run(&dirs, "echo two > a; echo two > b; echo n > new", &[]);
    output(&ended);
    write(&dirs.file("a"), "mine\n");
    // The trial did not touch this one: a change by others is not a conflict.
    write(&dirs.file("c"), "mine\n");
    let refused = run(&mut dirs.windlass(&["apply"]));
    let line = refused.error_line(1);
    assert!(line.contains("nothing was applied") && line.contains("work/a"), "{line}");
    assert!(!line.contains("work/c") && !line.contains("work/b"), "{line}");
    assert_eq!((text(&dirs.file("b")), dirs.file("new").exists()), ("one\n".to_owned(), false));
    run(&mut dirs.windlass(&["apply", "--skip-changed"])).answer();
    let held = ["a", "b", "c", "new"].map(|name| text(&dirs.file(name)));
    assert_eq!(held, ["mine\n", "two\n", "mine\n", "n\n"]);
    let (_server, ended) = dry_run(&dirs, "echo three > a", &["--apply", "--fork-session", "-c"]);
    assert_eq!(ended.code, Some(2), "a session id cannot be given twice: {}", ended.stderr);
}

#[test]
fn a_dry_run_applies_itself_or_is_dropped() {
    let dirs = TestDirs::new();
    write(&dirs.file("a"), "one\n");
    let (_server, ended) = dry_run(&dirs, "echo two > a", &["--apply", "--output-format", "json"]);
    let object: Value = serde_json::from_str(output(&ended)).expect("JSON alone");
    assert_eq!(object["result"], "Tried.");
    assert!(ended.stderr.contains("Applied: 1 file changed"), "{}", ended.stderr);
    assert_eq!(text(&dirs.file("a")), "two\n");
    let script =
        Script::new().answer(bash("echo x > x")).answer(ScriptedAnswer::text("No.").repeat(0));
    let server = play(script);
    let flags = ["--dry-run", "--dangerously-skip-permissions", "-p", "more"];
    let ended = run(&mut dirs.asking(&server.url(), &flags));
    assert!(output(&ended).contains("+++ b/x"), "{}", ended.stdout);
    assert_eq!(count_trials(&dirs), 1);
    run(&mut dirs.windlass(&["apply", "--discard"])).answer();
    assert_eq!((count_trials(&dirs), dirs.file("x").exists()), (0, false));
}

#[test]
fn a_dry_run_can_be_applied_when_its_session_is_gone_and_snapshots_are_given_up() {
    let dirs = TestDirs::new();
    write(&dirs.file("a"), "one\n");
    let command = "echo two > a; head -c 3000000 /dev/urandom > noise; mkdir -p d; echo d > d/d";
    let (_server, ended) = dry_run(&dirs, command, &[]);
    output(&ended);
    run(&mut dirs.windlass(&["sessions", "delete", SESSION])).answer();
    // What no session needs is given up when the next one begins.
    for round in ["first", "second"] {
        let flags = ["--dangerously-skip-permissions", "-p", "go"];
        let script = Script::new().answer(bash(&format!("head -c 2000000 /dev/urandom > {round}")));
        let other = play(script.answer(ScriptedAnswer::text("Done.").repeat(0)));
        let id = run(dirs.asking(&other.url(), &flags).args(["--output-format", "json"]));
        let object: Value = serde_json::from_str(output(&id)).expect("JSON");
        std::fs::remove_file(dirs.file(round)).expect("a file");
        let id = object["session_id"].as_str().expect("an id");
        run(&mut dirs.windlass(&["sessions", "delete", id])).answer();
    }
    let applied = run(&mut dirs.windlass(&["apply"]));
    assert_eq!(applied.code, Some(0), "{applied:?}");
    assert_eq!((text(&dirs.file("a")), text(&dirs.file("d/d"))), ("two\n".into(), "d\n".into()));
    assert_eq!(dirs.file("noise").metadata().expect("a file").len(), 3_000_000);
    assert_eq!(count_trials(&dirs), 0);
}

#[test]
fn everything_else_is_read_only_in_a_dry_run() {
    let (folder, [home, work, state]) = folders_that_stay();
    let command = "echo in > in; echo out > ../out || echo HELD; echo out > $HOME/out || echo HELD";
    let server =
        play(Script::new().answer(bash(command)).answer(ScriptedAnswer::text("Over.").repeat(0)));
    let dirs = TestDirs::new();
    let flags = ["--dry-run", "--dangerously-skip-permissions", "-p", "go"];
    let mut asking = dirs.asking(&server.url(), &flags);
    asking.current_dir(&work).env("HOME", &home).env("XDG_STATE_HOME", &state);
    let ended = run(&mut asking);
    assert!(output(&ended).contains("+++ b/in"), "{} {}", ended.stdout, ended.stderr);
    assert!(!folder.path().join("out").exists() && !home.join("out").exists());
    assert!(!work.join("in").exists());
    assert!(!ended.stderr.contains("cannot"), "{}", ended.stderr);
}

#[test]
fn a_dry_run_can_write_its_own_session_and_no_other_state_of_ours() {
    let (_folder, [home, work, state]) = folders_that_stay();
    let dirs = TestDirs::new();
    let command = "cd $STATE/windlass; for f in trust.json workspaces/other/s sessions/other/x.jsonl \
                   sessions/*work/7a0e*; do echo spoilt >> $f && echo WROTE $f; mv $f $f.moved && echo MOVED $f; \
                   done; echo spoilt > new.json && echo WROTE new; echo one > $OLDPWD/tried; \
                   for f in trials/*.session; do echo ../../other > $f; done";
    let script = Script::new()
        .answer(ScriptedAnswer::text("First.").when("first"))
        .answer(bash(command).when("second"))
        .answer(ScriptedAnswer::text("Second.").when_result(""))
        .answer(bash("echo two > tried").when("third"))
        .answer(ScriptedAnswer::text("Third.").when_result(""));
    let server = play(script);
    let ask = |flags: &[&str]| {
        let mut asking = dirs.asking(&server.url(), &["--dangerously-skip-permissions"]);
        asking.current_dir(&work).env("HOME", &home).env("XDG_STATE_HOME", &state);
        run(asking.env("STATE", &state).args(flags))
    };
    let others = ["trust.json", "workspaces/other/s", "sessions/other/x.jsonl"];
    for name in others {
        write(&state.join("windlass").join(name), "kept");
    }
    output(&ask(&["--session-id", SESSION, "-p", "first"]));
    let first = dirs_journal(&state, SESSION);
    let held = text(&first);
    let ended = ask(&["--dry-run", "-p", "second"]);
    assert!(output(&ended).contains("+++ b/tried"), "{} {}", ended.stdout, ended.stderr);
    for name in others {
        assert_eq!(text(&state.join("windlass").join(name)), "kept", "{name}");
    }
    assert_eq!(text(&first), held, "the other session of this directory");
    assert!(!state.join("windlass/new.json").exists());
    let spoilt = ["WROTE sessions/", "MOVED sessions/", "WROTE trust", "WROTE work"];
    let mut journals = journals_beside(&first);
    journals.retain(|path| *path != first);
    let own = text(journals.first().expect("the journal of the dry run"));
    assert!(own.contains("Second.") && !spoilt.iter().any(|words| own.contains(words)), "{own}");
    // What programs wrote into the file with the session's id is not believed.
    let name = ended.stderr.rsplit(' ').next().unwrap_or_default().trim();
    assert!(name.starts_with("run-"), "{}", ended.stderr);
    let unnamed = ask(&["--dry-run", "-r", "-p", "third"]);
    assert!(unnamed.error_line(2).contains("--resume needs the id"), "{unnamed:?}");
    assert_eq!(journals_beside(&first).len(), 2, "nothing was begun");
    // The session itself can be continued in a dry run, and then it is the one that may be written.
    let ended = ask(&["--dry-run", "-r", SESSION, "-p", "third"]);
    assert!(output(&ended).contains("+two"), "{} {}", ended.stdout, ended.stderr);
    assert!(ended.stderr.trim_end().ends_with(SESSION), "{}", ended.stderr);
    assert!(text(&first).contains("Third."), "it is written down");
}

fn dirs_journal(state: &Path, session: &str) -> PathBuf {
    let projects = std::fs::read_dir(state.join("windlass/sessions")).expect("sessions").flatten();
    let mut journals = projects.map(|one| one.path().join(format!("{session}.jsonl")));
    journals.find(|path| path.is_file()).expect("a journal")
}

fn journals_beside(journal: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(journal.parent().expect("a folder")).expect("a folder");
    let paths = entries.flatten().map(|entry| entry.path());
    paths.filter(|path| path.extension().is_some_and(|kind| kind == "jsonl")).collect()
}

#[test]
fn trials_are_known_by_their_real_place_and_those_of_other_sessions_are_left_alone() {
    let dirs = TestDirs::new();
    write(&dirs.file("a"), "one\n");
    // By its real name the state is inside the directory; its usual name does not show that.
    std::fs::create_dir(dirs.file("inside")).expect("a folder");
    let link = dirs.home().join("state-link");
    std::os::unix::fs::symlink(dirs.file("inside"), &link).expect("a link");
    let server = play(Script::new().answer(bash("echo two > a")));
    let flags = ["--dry-run", "--dangerously-skip-permissions", "-p", "go"];
    let refused = run(dirs.asking(&server.url(), &flags).env("XDG_STATE_HOME", &link));
    assert!(refused.error_line(1).contains("inside the directory"), "{refused:?}");
    assert_eq!(server.request_count(), 0);
    // A command's trial belongs to the session that asks about it.
    let (_server, ended) = dry_run(&dirs, "echo two > a", &[]);
    output(&ended);
    let trials = dirs.work().parent().expect("a folder").join("state/windlass/trials");
    let run_trial = std::fs::read_dir(&trials)
        .expect("trials")
        .flatten()
        .find(|entry| entry.file_name().to_string_lossy().starts_with("run-"));
    let command_trial = trials.join("call-1-0");
    std::fs::rename(run_trial.expect("a trial").path(), &command_trial).expect("renamed");
    run(&mut dirs.windlass(&["apply"])).error_line(2);
    run(&mut dirs.windlass(&["apply", "--discard", SESSION])).error_line(2);
    assert!(command_trial.join("trial.json").exists());
}

#[test]
fn a_commit_on_trial_is_accepted_with_its_objects() {
    let dirs = TestDirs::new();
    git(&dirs, &["init", "-q"]);
    write(&dirs.file("a"), "one\n");
    git(&dirs, &["add", "."]);
    git(&dirs, &["commit", "-qm", "first"]);
    let command = "echo two > a; git -c user.name=t -c user.email=t@example.org commit -qam second";
    let (_server, ended) = dry_run(&dirs, command, &[]);
    assert!(output(&ended).contains("git's own state too"), "{}", ended.stdout);
    assert_eq!(git(&dirs, &["log", "--format=%s"]), "first\n");
    run(&mut dirs.windlass(&["apply"])).answer();
    assert_eq!(git(&dirs, &["log", "--format=%s"]), "second\nfirst\n");
    assert_eq!(git(&dirs, &["status", "--porcelain"]), "");
    git(&dirs, &["fsck", "--strict"]);
}

#[test]
fn a_command_is_tried_first_and_then_applied_or_dropped() {
    let dirs = TestDirs::new();
    write(&dirs.file("a.txt"), "one\n");
    let script = Script::new()
        .answer(bash("sed -i s/one/two/ a.txt; echo finished"))
        .answer(bash("rm a.txt").when_result("then applied: 1 file changed"))
        .answer(ScriptedAnswer::text("I see.").when_result("Tried only").repeat(0));
    let server = play(script);
    let mut talk = Talk::sized(dirs.asking(&server.url(), &["change it"]), 40, 100);
    let asked = talk.until(ASKED);
    assert!(asked.contains("Try it first"), "{asked}");
    talk.key("t");
    let tried = talk.until("Apply what this command changed?");
    let tried = if tried.contains(ASKED) { tried } else { talk.until(ASKED) };
    assert!(tried.contains("exit code 0, 1 file changed"), "{tried}");
    assert!(tried.contains("finished") && tried.contains("+two"), "{tried}");
    assert_eq!(text(&dirs.file("a.txt")), "one\n", "not yet");
    talk.key("y");
    talk.until("rm a.txt");
    talk.until(ASKED);
    assert_eq!(text(&dirs.file("a.txt")), "two\n");
    talk.key("t");
    talk.until("Apply what this command changed?");
    talk.until(ASKED);
    talk.key("n");
    talk.until("I see.");
    assert_eq!(text(&dirs.file("a.txt")), "two\n", "refused, so it is there");
    assert_eq!(talk.end(), Some(0));
    assert_eq!(count_trials(&dirs), 0);
}

#[test]
fn w33_a_dry_run_that_is_killed_ends_its_commands_and_can_still_be_applied() {
    let dirs = TestDirs::new();
    write(&dirs.file("a"), "one\n");
    let ready = dirs.home().join("ready");
    let wait = format!("echo two > a; echo $$ > {}; while :; do sleep 0.05; done", ready.display());
    let server = play(Script::new().answer(bash(&wait)));
    let flags = ["--dry-run", "--dangerously-skip-permissions", "-p", "go"];
    let running = RunningCommand::start(&mut dirs.asking(&server.url(), &flags));
    let shell = wait_for_file(&ready);
    let busy = run(&mut dirs.windlass(&["apply", "--discard"]));
    assert!(busy.error_line(1).contains("has not ended"), "{busy:?}");
    running.signal(Signal::KILL);
    running.finish();
    wait_until_gone(&shell);
    assert_eq!(text(&dirs.file("a")), "one\n");
    let applied = run(&mut dirs.windlass(&["apply"]));
    assert_eq!(applied.code, Some(0), "{applied:?}");
    assert_eq!(text(&dirs.file("a")), "two\n");
    assert_eq!(count_trials(&dirs), 0);
}
