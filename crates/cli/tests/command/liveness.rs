//! The liveness contract of `docs/wire/stream_json.md`, under every fault: exactly one result for each
//! prompt, a sign of life, and an end.

use std::time::Instant;

use rustix::process::Signal;
use serde_json::{Value, json};
use windlass_rehearsal::{Script, ScriptedAnswer, ScriptedFault};

use crate::driven::{FinishedProcess, LINES, StreamJsonProcess};
use crate::fixture::{NO_WAIT_MAX, TestDirs, play};

fn bash(command: &str) -> ScriptedAnswer {
    ScriptedAnswer::call("Bash", json!({ "command": command }))
}

/// Ends the input and holds the end against the contract: as many results as prompts, and soon.
fn over(driven: StreamJsonProcess, prompts: usize) -> FinishedProcess {
    let began = Instant::now();
    let over = driven.end();
    assert_eq!(over.results().len(), prompts, "{over:?}");
    assert!(began.elapsed() < NO_WAIT_MAX, "{over:?}");
    over
}

#[test]
fn the_end_of_input_and_work_is_the_end() {
    let dirs = TestDirs::new();
    let server = play(Script::new().answer(ScriptedAnswer::text("Fine.")));
    let mut driven = StreamJsonProcess::start(&dirs, &server.url(), &[]);
    driven.prompt("hi");
    driven.result();
    let began = Instant::now();
    let over = driven.end();
    assert_eq!((over.code, over.stderr.as_str()), (Some(0), ""), "{over:?}");
    assert!(began.elapsed() < NO_WAIT_MAX, "{:?}", began.elapsed());
}

#[test]
fn a_silent_process_gives_signs_of_life() {
    let dirs = TestDirs::new();
    let text = "I begin, and never come to an end of it all.";
    let stalled = ScriptedAnswer::text(text).fault(ScriptedFault::stall_after_event(4));
    let server = play(Script::new().answer(stalled));
    let mut command = dirs.asking(&server.url(), &LINES);
    let mut driven = StreamJsonProcess::spawn(command.env("WINDLASS_KEEP_ALIVE_MS", "50"));
    let is_beat = |frame: &Value| frame["type"] == "keep_alive";
    // Before there is anything to do, and while a model says nothing.
    driven.until(is_beat);
    driven.prompt("go");
    driven.until(|frame| frame["subtype"] == "init");
    driven.until(is_beat);
    driven.until(is_beat);
    driven.ask(&json!({"subtype": "interrupt"})).expect("it is heard");
    assert_eq!(driven.result()["terminal_reason"], "aborted_streaming");
    over(driven, 1);
}

#[test]
fn a_reader_that_comes_late_gets_everything() {
    let dirs = TestDirs::new();
    let long = bash("head -c 100000 /dev/zero | tr '\\0' x").when("go");
    let server = play(
        Script::new()
            .answer(long.repeat(0))
            .answer(ScriptedAnswer::text("Over.").repeat(0).when_result("x")),
    );
    let arguments: Vec<&str> = LINES.into_iter().chain(["--allowedTools", "Bash"]).collect();
    let mut driven = StreamJsonProcess::unread(&mut dirs.asking(&server.url(), &arguments));
    for _ in 0..20 {
        driven.prompt("go");
    }
    // The last prompt was taken long after its reader should have read.
    driven.read();
    let over = over(driven, 20);
    assert_eq!((over.code, over.stderr.as_str()), (Some(0), ""), "{over:?}");
}

#[test]
fn a_reader_that_goes_away_ends_it_quietly() {
    let dirs = TestDirs::new();
    let server = play(Script::new().answer(ScriptedAnswer::text("Fine.").repeat(0)));
    let mut driven = StreamJsonProcess::unread(&mut dirs.asking(&server.url(), &LINES));
    driven.close_output();
    driven.prompt("hi");
    let over = driven.end();
    assert_eq!((over.code, over.stderr.as_str()), (Some(0), ""), "{over:?}");
}

#[test]
fn a_server_that_dies_in_the_middle_is_a_result() {
    let dirs = TestDirs::new();
    let text = "I begin, and never come to an end of it all.";
    let stalled = ScriptedAnswer::text(text).fault(ScriptedFault::stall_after_event(4));
    let server = play(Script::new().answer(stalled.repeat(0)));
    let flags = ["--include-partial-messages", "--max-retries", "1"];
    let mut driven = StreamJsonProcess::start(&dirs, &server.url(), &flags);
    driven.prompt("go");
    driven.until(|frame| frame["event"]["type"] == "content_block_delta");
    drop(server);
    let result = driven.result();
    assert_eq!(result["terminal_reason"], "api_error", "{result}");
    assert_eq!((&result["subtype"], &result["is_error"]), (&json!("success"), &json!(true)));
    assert_eq!(over(driven, 1).code, Some(1));
}

#[test]
fn a_tool_that_hangs_ends_by_its_limit_or_by_an_interrupt() {
    let dirs = TestDirs::new();
    let limited = json!({ "command": "sleep 600", "timeout": 300 });
    let server = play(
        Script::new()
            .answer(ScriptedAnswer::call("Bash", limited))
            .answer(ScriptedAnswer::text("Over.")),
    );
    let mut driven = StreamJsonProcess::start(&dirs, &server.url(), &["--allowedTools", "Bash"]);
    driven.prompt("go");
    assert_eq!(over(driven, 1).code, Some(0));
    let server = play(Script::new().answer(bash("sleep 600")));
    let mut driven = StreamJsonProcess::start(&dirs, &server.url(), &["--allowedTools", "Bash"]);
    driven.prompt("go");
    driven.until(|frame| frame["type"] == "assistant");
    driven.ask(&json!({"subtype": "interrupt"})).expect("it is heard");
    assert_eq!(driven.result()["terminal_reason"], "aborted_tools");
    over(driven, 1);
}

#[test]
fn a_hook_that_hangs_does_not_hold_the_run() {
    let dirs = TestDirs::new();
    std::fs::create_dir_all(dirs.home().join(".claude")).expect("a folder");
    let slow = json!([{"hooks": [{"type": "command", "command": "sleep 600", "timeout": 1}]}]);
    let hooks = json!({"hooks": {"PostToolUse": slow, "Stop": slow, "SessionEnd": slow}});
    std::fs::write(dirs.home().join(".claude/settings.json"), hooks.to_string()).expect("a file");
    let server = play(Script::new().answer(bash("true")).answer(ScriptedAnswer::text("Over.")));
    let mut driven = StreamJsonProcess::start(&dirs, &server.url(), &["--allowedTools", "Bash"]);
    driven.prompt("go");
    let result = driven.result();
    assert_eq!(result["result"], "Over.", "{result}");
    over(driven, 1);
}

#[test]
fn a_signal_in_the_middle_still_gives_the_result() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::INT, 130)] {
        let dirs = TestDirs::new();
        let server = play(Script::new().answer(bash("sleep 600")));
        let mut driven =
            StreamJsonProcess::start(&dirs, &server.url(), &["--allowedTools", "Bash"]);
        driven.prompt("go");
        driven.until(|frame| frame["type"] == "assistant");
        driven.signal(signal);
        assert_eq!(driven.result()["terminal_reason"], "aborted_tools");
        assert_eq!(over(driven, 1).code, Some(code));
    }
}

#[test]
fn every_line_is_short_enough_whatever_stands_in_it() {
    let dirs = TestDirs::new();
    let long = "long ".repeat(1_000_000);
    let server = play(Script::new().answer(ScriptedAnswer::text(long.clone()).chunk(500_000)));
    let flags = ["--replay-user-messages", "--session-mirror", "--include-partial-messages"];
    let mut driven = StreamJsonProcess::start(&dirs, &server.url(), &flags);
    // Each line is measured where it is read.
    driven.prompt(&long[..3_000_000]);
    let result = driven.result();
    assert!(result["result"].as_str().is_some_and(|text| text.contains("left out")), "too short");
    over(driven, 1);
}

#[test]
fn lines_that_mean_nothing_are_named_and_left_out() {
    let dirs = TestDirs::new();
    let server = play(Script::new().answer(ScriptedAnswer::text("Fine.").repeat(0)));
    let mut driven = StreamJsonProcess::start(&dirs, &server.url(), &[]);
    driven.say(&json!("only a text"));
    driven.say(&json!({"type": "something_new", "x": 1}));
    driven.say(&json!({"type": "user"}));
    driven.say(&json!({"type": "user", "message": {"content": [{"type": "video"}]}}));
    driven.prompt("hi");
    let over = over(driven, 3);
    assert!(over.stderr.contains("line 1 ") && over.stderr.contains("line 3 "), "{over:?}");
    assert_eq!(over.stderr.lines().count(), 2, "{over:?}");
    let errors: Vec<bool> =
        over.results().iter().map(|result| result["is_error"] == true).collect();
    assert_eq!(errors, [true, true, false]);
}
