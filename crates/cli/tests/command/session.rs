//! Sessions are kept without being asked for, and gone on with by id, name or age.

use std::os::unix::fs::PermissionsExt;

use rustix::process::Signal;
use serde_json::{Value, json};
use windlass_rehearsal::{Rehearsal, Script, ScriptedAnswer};

use crate::fixture::{RunningCommand, TestDirs, play, run, wait_for_file};

fn ask(dirs: &TestDirs, server: &Rehearsal, arguments: &[&str]) -> Value {
    let mut command = dirs.asking(&server.url(), &["--output-format", "json"]);
    let finished = run(command.args(arguments));
    serde_json::from_str(finished.answer()).expect("one object")
}

fn id(result: &Value) -> &str {
    result["session_id"].as_str().expect("an id")
}

fn said(server: &Rehearsal) -> String {
    server.requests().pop().expect("a request").json().expect("JSON")["messages"].to_string()
}

fn talkative() -> Rehearsal {
    play(Script::new().answer(ScriptedAnswer::text("Noted.").repeat(0)))
}

#[test]
fn every_run_is_kept_for_its_user_alone() {
    let dirs = TestDirs::new();
    let server = talkative();
    let result = ask(&dirs, &server, &["-p", "My colour is blue."]);
    let journals = dirs.journals();
    assert_eq!(journals.len(), 1, "{journals:?}");
    assert_eq!(journals[0].file_stem().expect("a name").to_string_lossy(), id(&result));
    let mode =
        |path: &std::path::Path| path.metadata().expect("it is there").permissions().mode() & 0o777;
    assert_eq!(mode(&journals[0]), 0o600);
    assert_eq!(mode(journals[0].parent().expect("a folder")), 0o700);
    // Without XDG_STATE_HOME they lie below the home directory.
    let mut command = dirs.asking(&server.url(), &["-p", "hi"]);
    run(command.env_remove("XDG_STATE_HOME")).answer();
    assert!(dirs.home().join(".local/state/windlass/sessions").is_dir());
    ask(&dirs, &server, &["-p", "hi", "--no-session-persistence"]);
    assert_eq!(dirs.journals().len(), 1);
    assert_eq!(dirs.leftovers(), ["home/.local"]);
}

#[test]
fn the_newest_session_of_the_directory_goes_on() {
    let dirs = TestDirs::new();
    let server = talkative();
    ask(&dirs, &server, &["-p", "The first is red."]);
    let second = ask(&dirs, &server, &["-p", "The second is blue."]);
    let third = ask(&dirs, &server, &["-c", "-p", "Which colour?"]);
    assert_eq!(id(&second), id(&third));
    let words = said(&server);
    assert!(words.contains("second is blue") && words.contains("Which colour"), "{words}");
    assert!(!words.contains("first is red"), "{words}");
    assert_eq!(dirs.journals().len(), 2);

    // Another directory has none yet: one begins there.
    let elsewhere = tempfile::tempdir().expect("a folder");
    let mut command = dirs.asking(&server.url(), &["-p", "go on", "-c"]);
    let finished = run(command.current_dir(elsewhere.path()));
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert!(!said(&server).contains("is blue"));
    assert_eq!(dirs.journals().len(), 3);
}

#[test]
fn a_session_is_resumed_by_id_beginning_of_id_and_name() {
    let dirs = TestDirs::new();
    let server = talkative();
    let named = ask(&dirs, &server, &["-p", "It is red.", "--name", "Date fix"]);
    let other = ask(&dirs, &server, &["-p", "It is blue."]);
    for wanted in [id(&named), &id(&named)[..13], "Date fix", "date fix"] {
        let result = ask(&dirs, &server, &["-p", "Go on.", "-r", wanted]);
        assert_eq!(id(&result), id(&named), "{wanted}");
        assert!(said(&server).contains("It is red."), "{wanted}");
    }
    // From elsewhere too.
    let elsewhere = tempfile::tempdir().expect("a folder");
    let mut command = dirs.asking(&server.url(), &["-p", "Go on.", "-r", id(&other)]);
    run(command.current_dir(elsewhere.path())).answer();
    assert!(said(&server).contains("It is blue."));
}

#[test]
fn what_may_mean_several_sessions_or_none_is_asked_back() {
    let dirs = TestDirs::new();
    let server = talkative();
    let one = ask(&dirs, &server, &["-p", "one", "--name", "fix the date"]);
    let two = ask(&dirs, &server, &["-p", "two", "--name", "fix the time"]);
    let count = server.request_count();
    let refused = |arguments: &[&str]| {
        run(&mut dirs.asking(&server.url(), arguments)).error_line(2).to_owned()
    };
    let line = refused(&["-p", "go on", "-r", "fix"]);
    assert!(line.contains("2 sessions"), "{line}");
    assert!(line.contains(id(&one)) && line.contains(id(&two)), "{line}");
    let line = refused(&["-p", "go on", "-r", "zzz"]);
    assert!(line.contains("no session `zzz`") && line.contains("fix the time"), "{line}");
    let line = refused(&["-p", "go on", "-r"]);
    assert!(line.contains("needs the id or the name") && line.contains(id(&one)), "{line}");
    assert_eq!(server.request_count(), count);
    assert_eq!(dirs.journals().len(), 2);
}

#[test]
fn a_process_killed_before_its_first_word_leaves_its_id_free() {
    let dirs = TestDirs::new();
    let server = talkative();
    let uuid = "3f2a6c1e-51d0-4c0e-9b7e-0d2f4f6a8b1c";
    ask(&dirs, &server, &["-p", "hi", "--session-id", uuid]);
    let journal = dirs.journals().pop().expect("a journal");
    std::fs::write(&journal, "").expect("emptied");
    let result = ask(&dirs, &server, &["-p", "hi", "--session-id", uuid]);
    assert_eq!(id(&result), uuid);
    assert!(journal.metadata().expect("a journal").len() > 0);
}

#[test]
fn ids_are_checked_and_taken_once() {
    let dirs = TestDirs::new();
    let server = talkative();
    let uuid = "3F2A6C1E-51d0-4c0e-9b7e-0d2f4f6a8b1c";
    let result = ask(&dirs, &server, &["-p", "hi", "--session-id", uuid]);
    assert_eq!(id(&result), uuid.to_lowercase());
    let cases: &[(&[&str], &str)] = &[
        (&["--session-id", uuid], "--resume 3f2a6c1e"),
        (&["--session-id", "../../evil"], "not a UUID"),
        (&["--session-id", uuid, "-c"], "--fork-session"),
        (&["--fork-session"], "-c or -r"),
        (&["-c", "-r", "x"], "cannot be used with"),
        (&["-c", "--no-session-persistence"], "cannot be used with"),
    ];
    for (flags, words) in cases {
        let mut command = dirs.asking(&server.url(), &["-p", "hi"]);
        let finished = run(command.args(*flags));
        assert!(finished.error_line(2).contains(words), "{flags:?}: {finished:?}");
    }
    assert_eq!(server.request_count(), 1);
}

#[test]
fn a_fork_goes_its_own_way_and_can_read_what_was_kept() {
    let dirs = TestDirs::new();
    let script = Script::new()
        .answer(ScriptedAnswer::call("Bash", json!({"command": "seq 1 40000"})))
        .answer(ScriptedAnswer::text("Long.").repeat(0));
    let server = play(script);
    let first = ask(&dirs, &server, &["-p", "count", "--allowedTools", "Bash(seq:*)"]);
    let journal = &dirs.journals()[0];
    let before = std::fs::read(journal).expect("a journal");
    let fork = ask(
        &dirs,
        &server,
        &["-p", "go on", "-c", "--fork-session", "--allowedTools", "Bash(seq:*)"],
    );
    assert_ne!(id(&first), id(&fork));
    assert_eq!(std::fs::read(journal).expect("a journal"), before);
    let words = said(&server);
    assert!(words.contains("count") && words.contains("go on"), "{words}");
    // What the model was told it can read back is still there and may be read.
    let spill = format!("/{}.spill/", id(&first));
    let at = words.find(&spill).expect("a pointer");
    let start =
        words[..at].rfind(|c: char| c.is_whitespace() || "\"`(".contains(c)).map_or(0, |at| at + 1);
    let end = words[at..]
        .find(|c: char| c.is_whitespace() || "\"`)]\\,".contains(c))
        .map_or(words.len(), |end| at + end);
    let path = words[start..end].trim_end_matches('.');
    let script = Script::new()
        .answer(ScriptedAnswer::call("Read", json!({"file_path": path, "limit": 10})))
        .answer(ScriptedAnswer::text("Read.").repeat(0));
    let server = play(script);
    let newest = ask(&dirs, &server, &["-p", "which?", "-c"]);
    assert_eq!(id(&newest), id(&fork));
    let messages = server.requests().pop().expect("a request").json().expect("JSON");
    let last =
        messages["messages"].as_array().and_then(|all| all.last()).expect("a message").to_string();
    assert!(last.contains("tool_result") && !last.contains("is_error\":true"), "{path}: {last}");
}

#[test]
fn a_call_that_was_running_when_the_process_was_killed_has_an_unknown_outcome() {
    let dirs = TestDirs::new();
    // It ends when the folder of the test is gone.
    let command = "echo run >> runs; touch hold; while [ -e hold ]; do sleep 0.1; done";
    let server =
        play(Script::new().answer(ScriptedAnswer::call("Bash", json!({"command": command}))));
    let flags = ["-p", "begin", "--dangerously-skip-permissions"];
    let running = RunningCommand::start(&mut dirs.asking(&server.url(), &flags));
    wait_for_file(&dirs.file("runs"));
    running.signal(Signal::KILL);
    running.finish();
    let server = play(Script::new().answer(ScriptedAnswer::text("I look first.")));
    let flags = ["-p", "go on", "-c", "--dangerously-skip-permissions"];
    let finished = run(&mut dirs.asking(&server.url(), &flags));
    assert_eq!(finished.answer(), "I look first.\n");
    let words = said(&server);
    assert!(words.contains("unknown"), "{words}");
    assert_eq!(std::fs::read_to_string(dirs.file("runs")).expect("a file"), "run\n");
}

#[test]
fn a_session_that_cannot_be_kept_is_not_begun() {
    let dirs = TestDirs::new();
    let server = talkative();
    std::fs::write(dirs.file("a-file"), "").expect("a file");
    let cases: [(Option<&str>, &str); 2] =
        [(Some("a-file"), "sessions cannot be saved in"), (None, "HOME is not set")];
    for (state, words) in cases {
        let mut command = dirs.asking(&server.url(), &["-p", "hi"]);
        match state {
            Some(name) => command.env("XDG_STATE_HOME", dirs.file(name)),
            None => command.env_remove("XDG_STATE_HOME").env_remove("HOME"),
        };
        let finished = run(&mut command);
        let line = finished.error_line(1);
        assert!(line.contains(words) && line.contains("--no-session-persistence"), "{line}");
        let mut command = dirs.asking(&server.url(), &["-p", "hi", "--no-session-persistence"]);
        command.env_remove("XDG_STATE_HOME").env_remove("HOME");
        assert_eq!(run(&mut command).answer(), "Noted.\n");
    }
    assert_eq!(server.request_count(), 2);
}

#[test]
fn two_processes_do_not_write_one_session() {
    let dirs = TestDirs::new();
    let command = "echo $$ > pid; exec sleep 100";
    let server =
        play(Script::new().answer(ScriptedAnswer::call("Bash", json!({"command": command}))));
    let flags = ["-p", "begin", "--dangerously-skip-permissions"];
    let running = RunningCommand::start(&mut dirs.asking(&server.url(), &flags));
    wait_for_file(&dirs.file("pid"));
    let finished = run(&mut dirs.asking(&server.url(), &["-p", "me too", "-c"]));
    let line = finished.error_line(1);
    assert!(line.contains("another process (pid ") && line.contains("fork"), "{line}");
    running.signal(Signal::TERM);
    assert_eq!(running.finish().code, Some(143));
}

#[test]
fn a_session_goes_on_as_it_was_under_other_flags_and_files() {
    let dirs = TestDirs::new();
    std::fs::write(dirs.file("CLAUDE.md"), "The first instructions.").expect("a file");
    let script = Script::new()
        .answer(ScriptedAnswer::call("Bash", json!({"command": "touch made && echo it-was-made"})))
        .answer(ScriptedAnswer::text("Made."))
        .answer(ScriptedAnswer::text("Going on.").repeat(0));
    let server = play(script);
    ask(&dirs, &server, &["-p", "make it", "--allowedTools", "Bash(touch:*)", "Bash(echo:*)"]);
    let before = server.requests()[1].json().expect("JSON")["messages"].to_string();
    assert!(before.contains("it-was-made"), "{before}");
    std::fs::write(dirs.file("CLAUDE.md"), "Other instructions.").expect("a file");
    // What ran then ran, whatever may run now; another model, other limits, other tools.
    let flags = ["--tools", "Read", "--model", "haiku", "--max-turns", "3", "--bare"];
    for flags in [&flags[..0], &flags[..2], &flags[..4], &flags] {
        let mut arguments = vec!["-p", "go on", "-c"];
        arguments.extend(flags);
        ask(&dirs, &server, &arguments);
        let words = said(&server);
        assert!(words.contains("it-was-made") && words.contains("Made."), "{flags:?}: {words}");
        assert!(words.contains("The first instructions."), "{flags:?}: {words}");
    }
}

#[test]
fn what_sessions_survive_is_configured_by_name() {
    let dirs = TestDirs::new();
    let server = talkative();
    let path = dirs.config("sessions_survive = \"power_loss\"\n");
    ask(&dirs, &server, &["-p", "hi"]);
    std::fs::write(path, "sessions_survive = \"fire\"\n").expect("a file");
    let finished = run(&mut dirs.asking(&server.url(), &["-p", "hi"]));
    assert!(finished.error_line(2).contains("power_loss"), "{finished:?}");
}
