//! Sessions played again: every decision comes out the same, is shown step by step, is explained, and
//! can be given to another person without the conversation.

use rustix::process::Signal;
use serde_json::{Value, json};
use windlass_rehearsal::{Rehearsal, Script, ScriptedAnswer, ScriptedFault};

use crate::fixture::{RunningCommand, TestDirs, play, run, wait_for_file};

const SESSION: &str = "9b8a7c6d-5e4f-4a3b-8c2d-1e0f9a8b7c6d";

fn ask(dirs: &TestDirs, server: &Rehearsal, arguments: &[&str]) -> Value {
    let mut command = dirs.asking(&server.url(), &["--output-format", "json"]);
    let finished = run(command.args(arguments));
    serde_json::from_str(finished.answer()).expect("one object")
}

fn run_windlass(dirs: &TestDirs, arguments: &[&str]) -> String {
    run(&mut dirs.windlass(arguments)).answer().to_owned()
}

/// A session with something of everything: calls, a denial, a failure that passes, an interruption.
fn eventful(dirs: &TestDirs) -> Rehearsal {
    std::fs::write(dirs.file("CANARY-file"), "CANARY-content of it\n").expect("a file");
    std::fs::write(dirs.file("CLAUDE.md"), "CANARY-instructions").expect("a file");
    let read = json!({"file_path": dirs.file("CANARY-file").to_string_lossy()});
    let script = Script::new()
        .answer(
            ScriptedAnswer::text("CANARY-answer.")
                .thinking("CANARY-thought")
                .tool("Read", read)
                .tool("Bash", json!({"command": "echo CANARY-command | tr a b"})),
        )
        .answer(ScriptedAnswer::empty().fault(ScriptedFault::refuse(500)))
        .answer(ScriptedAnswer::call("Bash", json!({"command": "rm CANARY-denied"})))
        .answer(ScriptedAnswer::text("CANARY-end.").repeat(0));
    let server = play(script);
    let allowed = "Bash(echo:*),Bash(tr:*)";
    let flags = ["--session-id", SESSION, "--allowedTools", allowed, "-p", "CANARY-prompt"];
    let mut command = dirs.asking(&server.url(), &flags);
    run(command.env("ANTHROPIC_API_KEY", "sk-CANARY-key"));
    ask(dirs, &server, &["-c", "-n", "CANARY-name", "-p", "CANARY-again"]);
    server
}

#[test]
fn every_decision_comes_out_the_same() {
    let dirs = TestDirs::new();
    let _server = eventful(&dirs);
    let text = run_windlass(&dirs, &["replay"]);
    assert!(text.contains("Replay matches: all decisions identical."), "{text}");
    let object: Value =
        serde_json::from_str(&run_windlass(&dirs, &["replay", SESSION, "--json"])).expect("JSON");
    assert_eq!(object["difference"], Value::Null);
    assert_eq!(object["missing"], 0);
    assert!(object["same"].as_u64().is_some_and(|same| same >= 7), "{object}");
    let steps = run_windlass(&dirs, &["replay", SESSION, "--step"]);
    assert!(!steps.contains("a record was lost"), "none was: {steps}");
    for words in [
        "user said \"CANARY-prompt\"",
        "idle → streaming",
        "start Read",
        "next_turn",
        "end: completed",
    ] {
        assert!(steps.contains(words), "{words}: {steps}");
    }
    let steps = run_windlass(&dirs, &["replay", "--step", "--json"]);
    assert!(steps.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()));
    // A decision that was noted otherwise is found.
    let journal = dirs.journals().remove(0);
    let text = std::fs::read_to_string(&journal).expect("a journal");
    let other = dirs.file("other.jsonl");
    std::fs::write(&other, forged(&text)).expect("a copy");
    let finished = run(&mut dirs.windlass(&["replay", "other.jsonl"]));
    assert_eq!(finished.code, Some(1), "{finished:?}");
    assert!(finished.stdout.contains("Replay differs"), "{finished:?}");
}

/// The journal with one decision told otherwise, and the checksum made to fit.
fn forged(text: &str) -> String {
    let mut lines = Vec::new();
    for line in text.lines() {
        let Some((_, rec)) = line.split_once(r#""rec":"#) else { continue };
        let rec = rec.strip_suffix('}').expect("a record");
        let rec =
            rec.replace(r#""continued":["next_turn""#, r#""continued":["stop_hook_blocking""#);
        let crc = crc32(format!("2,{},{rec}", rec.len()).as_bytes());
        lines.push(format!(r#"{{"v":2,"len":{},"crc":"{crc:08x}","rec":{rec}}}"#, rec.len()));
    }
    lines.join("\n") + "\n"
}

fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0xEDB8_8320 } else { crc >> 1 };
        }
    }
    !crc
}

#[test]
fn it_says_why() {
    let dirs = TestDirs::new();
    let _server = eventful(&dirs);
    let why = run_windlass(&dirs, &["why"]);
    for words in [
        "You: CANARY-prompt",
        "All tool calls had results",
        "did not run",
        "Waited",
        "stopped (completed)",
        "The model had nothing more to do.",
    ] {
        assert!(why.contains(words), "{words}: {why}");
    }
    let object: Value =
        serde_json::from_str(&run_windlass(&dirs, &["why", SESSION, "1", "--json"])).expect("JSON");
    let reasons = object["reasons"].as_array().expect("reasons");
    assert!(reasons.iter().all(|reason| reason["run"] == 2 && reason["turn"] == 1), "{object}");
    run(&mut dirs.windlass(&["why", SESSION, "99"])).error_line(2);
}

#[test]
fn a_bug_report_says_nothing_and_replays_the_same() {
    let dirs = TestDirs::new();
    let _server = eventful(&dirs);
    let said = run_windlass(&dirs, &["bugreport", SESSION, "-o", "report.jsonl"]);
    assert!(said.contains("It replays like the session"), "{said}");
    let report = std::fs::read_to_string(dirs.file("report.jsonl")).expect("a report");
    assert!(!report.to_lowercase().contains("canary"), "{report}");
    let home = dirs.home().to_string_lossy().into_owned();
    assert!(!report.contains(&home) && !report.contains(SESSION));
    // Somewhere else, where nothing of the session is.
    let other = TestDirs::new();
    std::fs::copy(dirs.file("report.jsonl"), other.file("report.jsonl")).expect("a copy");
    assert!(run_windlass(&other, &["replay", "report.jsonl"]).contains("Replay matches"));
    let reasons = |dirs: &TestDirs, of: &str| -> Vec<(Value, Value, Value)> {
        let object: Value =
            serde_json::from_str(&run_windlass(dirs, &["why", of, "--json"])).expect("JSON");
        let reasons = object["reasons"].as_array().expect("reasons").clone();
        let named = reasons.into_iter().filter(|reason| !reason["name"].is_null());
        named.map(|r| (r["run"].clone(), r["turn"].clone(), r["name"].clone())).collect()
    };
    let ours = reasons(&dirs, SESSION);
    let theirs = reasons(&other, "report.jsonl");
    assert!(ours.len() >= 4, "{ours:?}");
    assert_eq!(ours, theirs);
    run(&mut dirs.windlass(&["bugreport", SESSION, "-o", "report.jsonl"])).error_line(1);
}

#[test]
fn a_run_that_was_cut_off_goes_on_where_it_was() {
    let dirs = TestDirs::new();
    let command = "echo run >> runs; echo $$ > pid; exec sleep 100";
    let script = Script::new()
        .answer(ScriptedAnswer::call("Bash", json!({"command": "echo first"})))
        .answer(ScriptedAnswer::call("Bash", json!({"command": command})))
        .answer(ScriptedAnswer::text("Both done.").repeat(0));
    let server = play(script);
    let flags = ["--session-id", SESSION, "--dangerously-skip-permissions", "-p", "work"];
    let running = RunningCommand::start(&mut dirs.asking(&server.url(), &flags));
    wait_for_file(&dirs.file("pid"));
    running.signal(Signal::KILL);
    assert_eq!(running.finish().code, None);
    let mut command = dirs.asking(
        &server.url(),
        &["resume", SESSION, "--continue-run", "--", "--output-format", "json"],
    );
    let finished = run(&mut command);
    let result: Value = serde_json::from_str(finished.answer()).expect("one object");
    assert_eq!(result["result"], "Both done.");
    assert_eq!(result["num_turns"], 3, "turns count on: {result}");
    let request = server.requests().pop().expect("a request").json().expect("JSON");
    let words = request["messages"].to_string();
    assert!(words.contains("first") && words.contains("outcome"), "{words}");
    assert_eq!(words.matches(r#""work""#).count(), 1, "{words}");
    assert_eq!(std::fs::read_to_string(dirs.file("runs")).expect("a file"), "run\n");
    // There is nothing left to go on with.
    let finished = run(&mut dirs.asking(&server.url(), &["resume", "--continue-run"]));
    assert!(finished.error_line(2).contains("has ended"), "{finished:?}");
    let limits = ["-p", "hi", "--continue-run"];
    run(&mut dirs.asking(&server.url(), &limits)).error_line(2);
}
