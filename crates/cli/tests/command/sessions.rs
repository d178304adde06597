//! Sessions that were kept can be listed, shown, searched, exported, named and deleted.

use rustix::process::Signal;
use serde_json::{Value, json};
use windlass_rehearsal::{Rehearsal, Script, ScriptedAnswer, ScriptedFault};

use crate::driven::StreamJsonProcess;
use crate::fixture::{TestDirs, play, run, wait_for_file};

fn talk(dirs: &TestDirs, server: &Rehearsal, arguments: &[&str]) -> String {
    let mut command = dirs.asking(&server.url(), &["--output-format", "json"]);
    let result: Value = serde_json::from_str(run(command.args(arguments)).answer()).expect("JSON");
    result["session_id"].as_str().expect("an id").to_owned()
}

fn run_sessions(dirs: &TestDirs, arguments: &[&str]) -> String {
    let mut command = dirs.windlass(&["sessions"]);
    run(command.args(arguments)).answer().to_owned()
}

fn run_sessions_json(dirs: &TestDirs, arguments: &[&str]) -> Value {
    serde_json::from_str(&run_sessions(dirs, arguments)).expect("one object")
}

fn server() -> Rehearsal {
    play(Script::new().answer(ScriptedAnswer::text("The leap year is the cause.").repeat(0)))
}

#[test]
fn they_are_listed_the_newest_first_and_by_directory() {
    let dirs = TestDirs::new();
    let server = server();
    assert!(run_sessions(&dirs, &["list"]).starts_with("There are no sessions"));
    let first = talk(&dirs, &server, &["-p", "why does it fail?"]);
    let second = talk(&dirs, &server, &["-p", "and this?", "--name", "date fix"]);
    let list = run_sessions(&dirs, &["list"]);
    let lines: Vec<&str> = list.lines().collect();
    assert!(lines[0].starts_with("id") && lines[0].contains("cost"), "{list}");
    assert!(lines[1].starts_with(&second[..13]) && lines[1].contains("date fix"), "{list}");
    assert!(lines[2].starts_with(&first[..13]) && lines[2].contains("why does it fail?"), "{list}");
    let object = run_sessions_json(&dirs, &["list", "--json", "--limit", "1"]);
    assert_eq!(object["total"], 2);
    assert_eq!(object["sessions"][0]["session_id"], second.as_str());
    assert_eq!(object["sessions"][0]["messages"], 2);

    let elsewhere = tempfile::tempdir().expect("a folder");
    let mut command = dirs.windlass(&["sessions", "list"]);
    let finished = run(command.current_dir(elsewhere.path()));
    assert!(finished.answer().contains("--all lists all"), "{finished:?}");
    let mut command = dirs.windlass(&["sessions", "list", "--all"]);
    let finished = run(command.current_dir(elsewhere.path()));
    let work = dirs.work().canonicalize().expect("the folder");
    assert!(finished.answer().contains(&*work.to_string_lossy()), "{finished:?}");
}

#[test]
fn they_are_shown_searched_and_exported() {
    let dirs = TestDirs::new();
    let server = server();
    let id = talk(&dirs, &server, &["-p", "why does it fail?"]);
    let shown = run_sessions(&dirs, &["show", &id[..8]]);
    for words in [id.as_str(), "> why does it fail?", "The leap year is the cause."] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    let object = run_sessions_json(&dirs, &["show", "--json"]);
    assert_eq!(object["said"][0]["who"], "user");
    let found = run_sessions(&dirs, &["search", "LEAP YEAR"]);
    assert!(found.starts_with(&id[..8]) && found.contains("leap year"), "{found}");
    assert!(run_sessions(&dirs, &["search", "no such words"]).starts_with("No session contains"));
    let hits = run_sessions_json(&dirs, &["search", "leap", "--json", "--all"]);
    assert_eq!(hits["hits"][0]["session"]["session_id"], id.as_str());
    let page = run_sessions(&dirs, &["export"]);
    assert!(page.starts_with(&format!("# Session {id}")), "{page}");
    assert!(page.contains("## Model") && page.contains("leap year"), "{page}");
    let lines = run_sessions(&dirs, &["export", &id, "--format", "jsonl"]);
    assert!(lines.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{lines}");
}

#[test]
fn they_are_named_and_only_a_whole_id_is_deleted() {
    let dirs = TestDirs::new();
    let server = server();
    let id = talk(&dirs, &server, &["-p", "one"]);
    let other = talk(&dirs, &server, &["-p", "two"]);
    assert_eq!(run_sessions(&dirs, &["rename", &id, "the first"]), "");
    assert!(run_sessions(&dirs, &["list"]).contains("the first"));
    let mut command = dirs.windlass(&["sessions", "delete", &id[..13]]);
    let finished = run(&mut command);
    assert!(finished.error_line(2).contains(&id), "{finished:?}");
    let mut command = dirs.windlass(&["sessions", "delete", "the first"]);
    run(&mut command).error_line(2);
    assert_eq!(dirs.journals().len(), 2);
    assert_eq!(run_sessions(&dirs, &["delete", &id]), "");
    let journals = dirs.journals();
    assert_eq!(journals.len(), 1);
    assert!(journals[0].to_string_lossy().contains(&other), "{journals:?}");
    let folder = journals[0].parent().expect("a folder");
    let left = std::fs::read_dir(folder).expect("a folder").flatten();
    let left: Vec<_> = left.map(|entry| entry.file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().contains(&id)), "{left:?}");
}

#[test]
fn hundreds_of_them_are_listed_and_the_newest_is_found() {
    let dirs = TestDirs::new();
    let server = server();
    let id = talk(&dirs, &server, &["-p", "the only real one"]);
    let journal = &dirs.journals()[0];
    let text = std::fs::read_to_string(journal).expect("a journal");
    for number in 0..400 {
        let copy = format!("00000000-0000-4000-8000-{number:012}");
        let path = journal.with_file_name(format!("{copy}.jsonl"));
        std::fs::write(path, &text).expect("a copy");
    }
    let object = run_sessions_json(&dirs, &["list", "--json", "--limit", "0"]);
    assert_eq!(object["total"], 401);
    assert_eq!(object["sessions"].as_array().map(Vec::len), Some(401));
    talk(&dirs, &server, &["-p", "go on", "-r", &id]);
    let object = run_sessions_json(&dirs, &["list", "--json", "--limit", "1"]);
    assert_eq!(object["sessions"][0]["session_id"], id.as_str());
}

#[test]
fn calls_stand_before_their_results_and_those_that_did_not_run_are_told() {
    let dirs = TestDirs::new();
    let answer = ScriptedAnswer::text("Looking.")
        .tool("Glob", serde_json::json!({"pattern": "*"}))
        .tool("Bash", serde_json::json!({"command": "rm -rf elsewhere"}))
        .text_after("And more to say, so that the tool ends before the answer does.");
    let server = play(Script::new().answer(answer).answer(ScriptedAnswer::text("Done.").repeat(0)));
    run(&mut dirs.asking(&server.url(), &["-p", "look"]));
    let object = run_sessions_json(&dirs, &["show", "--json"]);
    let said = object["said"].as_array().expect("what was said");
    for (place, spoken) in said.iter().enumerate().filter(|(_, spoken)| spoken["who"] == "tool") {
        let is_call =
            |earlier: &Value| earlier["who"] == "call" && earlier["call"] == spoken["call"];
        assert!(said[..place].iter().any(is_call), "{spoken}: {object}");
    }
    assert_eq!(said.iter().filter(|spoken| spoken["who"] == "call").count(), 2, "{object}");
    assert_eq!(said.iter().filter(|spoken| spoken["who"] == "tool").count(), 2, "{object}");
    assert!(run_sessions(&dirs, &["show"]).contains("it did not run"));
}

#[test]
fn without_a_command_it_says_what_there_is() {
    let dirs = TestDirs::new();
    let finished = run(&mut dirs.windlass(&["sessions"]));
    assert!(finished.answer().contains("windlass sessions list"), "{finished:?}");
}

#[test]
fn a_full_disk_is_told_to_everybody() {
    let dirs = TestDirs::new();
    let long = serde_json::json!({"command": "head -c 29000 /dev/zero | tr '\\0' x"});
    let script: Script = (0..20).map(|_| ScriptedAnswer::call("Bash", long.clone())).collect();
    let server = play(script);
    let flags = ["--dangerously-skip-permissions", "--output-format", "json", "-p", "fill it"];
    let plain = dirs.asking(&server.url(), &flags);
    let mut command = std::process::Command::new("bash");
    command.args(["-c", r#"trap "" XFSZ; ulimit -f 160; exec "$0" "$@""#]);
    command.arg(plain.get_program()).args(plain.get_args()).env_clear().current_dir(dirs.work());
    command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    use std::process::Stdio;
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let finished = run(&mut command);
    assert_eq!(finished.code, Some(1), "{finished:?}");
    assert!(finished.stderr.contains("the session ends, because"), "{finished:?}");
    let result: Value = serde_json::from_str(&finished.stdout).expect("one object");
    assert_eq!(result["is_error"], true, "{result}");
    assert!(result.to_string().contains("could not be written"), "{result}");
}

/// What becomes of a session is seen from outside, also when its process is killed.
#[test]
fn they_say_whether_they_work_wait_failed_or_are_done() {
    let dirs = TestDirs::new();
    let states = || {
        let list = run_sessions_json(&dirs, &["list", "--json"]);
        let sessions = list["sessions"].as_array().expect("a list").clone();
        sessions.iter().map(|one| one["state"].as_str().expect("a state").to_owned()).collect()
    };
    let states: &dyn Fn() -> Vec<String> = &states;
    let server = play(
        Script::new()
            .answer(ScriptedAnswer::text("It is done.").when("what?"))
            .answer(ScriptedAnswer::call(
                "Bash",
                json!({ "command": "echo > begun; while [ ! -e stop ]; do sleep 0.05; done" }),
            ))
            .answer(ScriptedAnswer::call("Write", json!({ "file_path": "a", "content": "b" }))),
    );
    talk(&dirs, &server, &["-p", "what?"]);
    assert_eq!(states(), ["done"]);
    let url = server.url();
    let client = ["--allowedTools", "Bash", "--permission-prompt-tool", "stdio"];
    let mut driven = StreamJsonProcess::start(&dirs, &url, &client);
    driven.prompt("go");
    wait_for_file(&dirs.file("begun"));
    assert_eq!(states(), ["working", "done"]);
    let list = run_sessions(&dirs, &["list"]);
    assert!(list.contains("state") && list.contains("working"), "{list}");
    driven.signal(Signal::KILL);
    driven.end();
    std::fs::write(dirs.file("stop"), "").expect("a file");
    assert_eq!(states(), ["interrupted", "done"]);
    let mut driven = StreamJsonProcess::start(&dirs, &url, &client);
    driven.prompt("again");
    let question = driven.asked("can_use_tool");
    assert_eq!(states(), ["waiting", "interrupted", "done"]);
    driven.answer(&question, &json!({ "behavior": "deny", "message": "no", "interrupt": true }));
    driven.result();
    assert_eq!(states(), ["waiting", "interrupted", "done"], "for the next prompt");
    driven.end();
    assert_eq!(states(), ["interrupted", "interrupted", "done"]);
    let refused = play(
        Script::new().answer(ScriptedAnswer::from_fault(ScriptedFault::refuse(401)).repeat(0)),
    );
    run(&mut dirs.asking(&refused.url(), &["-p", "hi"]));
    assert_eq!(states()[0], "failed");
}
