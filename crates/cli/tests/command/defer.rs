//! A call that a hook defers, with the real binary: the run ends with it, and whatever takes the
//! session up settles it first. Every request that goes out has a result for each of its calls.

use serde_json::{Value, json};
use windlass_rehearsal::{Rehearsal, Script, ScriptedAnswer};

use crate::driven::{LINES, StreamJsonProcess};
use crate::fixture::{FinishedCommand, TestDirs, play, run};

const CALL: &str = "toolu_anchor";

/// A hook before tools that says what stands in a file, and writes down what it was asked.
fn test_dirs() -> TestDirs {
    let dirs = TestDirs::new();
    let hook = "cat >> asked; echo >> asked; cat verdict";
    let hooks = json!([{ "hooks": [{ "type": "command", "command": hook, "timeout": 60 }] }]);
    let path = dirs.home().join(".claude/settings.json");
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    std::fs::write(path, json!({ "hooks": { "PreToolUse": hooks } }).to_string()).expect("a file");
    dirs
}

fn decide(dirs: &TestDirs, decision: &str) {
    let output = json!({ "hookSpecificOutput": {
        "hookEventName": "PreToolUse",
        "permissionDecision": decision,
        "permissionDecisionReason": "the captain is asleep",
    } });
    std::fs::write(dirs.file("verdict"), output.to_string()).expect("a file");
}

fn drop_anchor() -> ScriptedAnswer {
    let input = json!({ "command": "touch dropped" });
    ScriptedAnswer::text("I will drop it.").tool_with_id(CALL, "Bash", input)
}

/// The calls that hooks were asked about, in order.
fn hook_call_ids(dirs: &TestDirs) -> Vec<String> {
    let text = std::fs::read_to_string(dirs.file("asked")).unwrap_or_default();
    let call = |line: &str| {
        let told: Value = serde_json::from_str(line).expect("JSON");
        assert_eq!(told["hook_event_name"], "PreToolUse");
        told["tool_use_id"].as_str().expect("an id").to_owned()
    };
    text.lines().filter(|line| !line.is_empty()).map(call).collect()
}

fn object(done: &FinishedCommand) -> Value {
    assert_eq!(done.code, Some(0), "{done:?}");
    serde_json::from_str(&done.stdout).expect("JSON")
}

/// The first run: it ends with the call open, and nothing has happened.
fn defer(dirs: &TestDirs, server: &Rehearsal) -> Value {
    decide(dirs, "defer");
    let flags = ["-p", "drop the anchor", "--allowedTools", "Bash", "--output-format", "json"];
    let done = run(&mut dirs.asking(&server.url(), &flags));
    let result = object(&done);
    assert_deferred(&result);
    assert_eq!(done.stderr, "", "a clean end");
    assert!(!dirs.file("dropped").exists());
    result
}

fn assert_deferred(result: &Value) {
    assert_eq!(result["subtype"], "success", "{result}");
    assert_eq!(result["is_error"], false, "{result}");
    assert_eq!(result["stop_reason"], "tool_deferred", "{result}");
    assert_eq!(result["terminal_reason"], "tool_deferred", "{result}");
    let call = json!({ "id": CALL, "name": "Bash", "input": { "command": "touch dropped" } });
    assert_eq!(result["deferred_tool_use"], call, "{result}");
}

/// Every call of every request is followed by its result, as a provider demands.
fn assert_paired(server: &Rehearsal) {
    for request in server.requests() {
        let body = request.json().expect("JSON");
        let mut open: Vec<&str> = Vec::new();
        for message in body["messages"].as_array().expect("messages") {
            let ids = |kind: &str, field: &str| -> Vec<&str> {
                let blocks = message["content"].as_array().map(Vec::as_slice).unwrap_or_default();
                let blocks = blocks.iter().filter(|block| block["type"] == kind);
                blocks.filter_map(|block| block[field].as_str()).collect()
            };
            assert_eq!(ids("tool_result", "tool_use_id"), open, "{body}");
            open = ids("tool_use", "id");
        }
        assert!(open.is_empty(), "{body}");
    }
}

fn flags<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["-p", "--allowedTools", "Bash", "--output-format", "json"], more].concat()
}

#[test]
fn a_no_is_told_to_the_model_when_the_session_goes_on_without_a_word() {
    let dirs = test_dirs();
    let server =
        play(Script::new().answer(drop_anchor()).answer(ScriptedAnswer::text("Then we drift.")));
    let first = defer(&dirs, &server);
    // Still asleep: the same end, and no request.
    let again = object(&run(&mut dirs.asking(&server.url(), &flags(&["-c"]))));
    assert_deferred(&again);
    assert_eq!(server.requests().len(), 1);
    decide(&dirs, "deny");
    let id = first["session_id"].as_str().expect("an id");
    let last = object(&run(&mut dirs.asking(&server.url(), &flags(&["--resume", id]))));
    assert_eq!(last["result"], "Then we drift.", "{last}");
    assert_eq!((&last["session_id"], &last["stop_reason"]), (&json!(id), &json!("end_turn")));
    assert_eq!(last["permission_denials"][0]["tool_use_id"], CALL, "{last}");
    assert!(last.get("deferred_tool_use").is_none(), "{last}");
    assert_eq!(hook_call_ids(&dirs), [CALL; 3]);
    assert!(!dirs.file("dropped").exists());
    assert!(server.requests()[1].body.contains("the captain is asleep"));
    assert_paired(&server);
    // Nothing is deferred any more, so there must be a prompt again.
    let refused = run(&mut dirs.asking(&server.url(), &flags(&["-c"])));
    refused.error_line(2);
}

#[test]
fn a_prompt_is_heard_after_the_call_that_was_put_off() {
    let dirs = test_dirs();
    let server = play(Script::new().answer(drop_anchor()).answer(ScriptedAnswer::text("It lies.")));
    defer(&dirs, &server);
    decide(&dirs, "allow");
    let more = ["-p", "hurry up", "-c", "--output-format", "json"];
    let last = object(&run(&mut dirs.asking(&server.url(), &more)));
    assert_eq!(last["result"], "It lies.");
    assert!(dirs.file("dropped").exists());
    assert_paired(&server);
    let body = &server.requests()[1].body;
    let places = (body.find("tool_result"), body.find("hurry up"));
    assert!(places.0.is_some() && places.0 < places.1, "{body}");
}

#[test]
fn a_copy_of_a_session_has_the_call_too_and_history_is_compacted_behind_it() {
    let dirs = test_dirs();
    let server = play(
        Script::new()
            .answer(drop_anchor())
            .answer(ScriptedAnswer::text("Copied.").when_result("captain"))
            .answer(ScriptedAnswer::text("The anchor was to be dropped.").repeat(0)),
    );
    let first = defer(&dirs, &server);
    let id = first["session_id"].as_str().expect("an id");
    decide(&dirs, "deny");
    let fork =
        object(&run(&mut dirs.asking(&server.url(), &flags(&["--resume", id, "--fork-session"]))));
    assert_eq!(fork["result"], "Copied.", "{fork}");
    assert_ne!(fork["session_id"], id);
    let compact = ["-p", "/compact", "--resume", id, "--output-format", "json"];
    let done = run(&mut dirs.asking(&server.url(), &compact));
    assert!(!done.stdout.contains("tool_deferred"), "{done:?}");
    assert_eq!(hook_call_ids(&dirs), [CALL; 3]);
    assert_paired(&server);
    assert!(!dirs.file("dropped").exists());
}

#[test]
fn only_a_single_call_is_deferred() {
    let dirs = test_dirs();
    decide(&dirs, "defer");
    let two = drop_anchor().tool("Bash", json!({ "command": "touch second" }));
    let server = play(Script::new().answer(two).answer(ScriptedAnswer::text("Both.")));
    let more = ["-p", "go", "--allowedTools", "Bash", "--verbose"];
    let done = run(&mut dirs.asking(&server.url(), &more));
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "Both.\n"), "{done:?}");
    assert!(done.stderr.contains("permission decides as usual"), "{done:?}");
    assert!(dirs.file("dropped").exists() && dirs.file("second").exists());
    // Nobody takes a session up again that is not kept.
    std::fs::remove_file(dirs.file("dropped")).expect("it is there");
    let server = play(Script::new().answer(drop_anchor()).answer(ScriptedAnswer::text("One.")));
    let more = [&more[..], &["--no-session-persistence"]].concat();
    let done = run(&mut dirs.asking(&server.url(), &more));
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "One.\n"), "{done:?}");
    assert!(dirs.file("dropped").exists());
}

/// A client with a hook of its own.
fn greet(driven: &mut StreamJsonProcess) {
    let hooks = json!({ "PreToolUse": [{ "matcher": "Bash", "hookCallbackIds": ["h1"] }] });
    driven.ask(&json!({ "subtype": "initialize", "hooks": hooks })).expect("an answer");
}

fn say(driven: &mut StreamJsonProcess, decision: &str) {
    let question = driven.asked("hook_callback");
    assert_eq!(question["request"]["tool_use_id"], CALL, "{question}");
    let output = json!({ "hookEventName": "PreToolUse", "permissionDecision": decision });
    driven.answer(&question, &json!({ "hookSpecificOutput": output }));
}

#[test]
fn a_client_that_only_reads_is_asked_and_gets_one_result() {
    for how in ["reads", "says that it is done", "ends its input"] {
        let dirs = TestDirs::new();
        let server =
            play(Script::new().answer(drop_anchor()).answer(ScriptedAnswer::text("Drifting.")));
        let url = server.url();
        let mut driven = StreamJsonProcess::start(&dirs, &url, &["--allowedTools", "Bash"]);
        greet(&mut driven);
        driven.prompt("drop the anchor");
        say(&mut driven, "defer");
        let first = driven.result();
        assert_deferred(&first);
        let told = driven.seen.iter().any(|frame| {
            frame["type"] == "assistant" && frame.to_string().contains("\"id\":\"toolu_anchor\"")
        });
        assert!(told, "the answer with the call is told: {:#?}", driven.seen);
        assert_eq!(driven.end().results().len(), 1);
        let id = first["session_id"].as_str().expect("an id");
        let resume = ["--allowedTools", "Bash", "--resume", id];
        let results = if how == "ends its input" {
            // Nobody can be asked any more: that is never a yes.
            let arguments = [&LINES[..], &resume].concat();
            let mut driven = StreamJsonProcess::spawn(&mut dirs.asking(&url, &arguments));
            greet(&mut driven);
            driven.end()
        } else {
            let mut driven = StreamJsonProcess::start(&dirs, &url, &resume);
            greet(&mut driven);
            if how == "says that it is done" {
                driven.ask(&json!({ "subtype": "end_user_input" })).expect("it is taken");
            }
            say(&mut driven, "deny");
            let result = driven.result();
            assert_eq!(result["result"], "Drifting.", "{result}");
            driven.end()
        };
        assert_eq!(results.results().len(), 1, "{results:#?}");
        assert_eq!(results.code, Some(0), "{results:#?}");
        assert!(!dirs.file("dropped").exists());
        assert_paired(&server);
    }
}

#[test]
fn a_prompt_in_the_same_process_settles_the_call_first() {
    let dirs = TestDirs::new();
    let server = play(Script::new().answer(drop_anchor()).answer(ScriptedAnswer::text("It lies.")));
    let mut driven = StreamJsonProcess::start(&dirs, &server.url(), &["--allowedTools", "Bash"]);
    greet(&mut driven);
    driven.prompt("drop the anchor");
    say(&mut driven, "defer");
    assert_deferred(&driven.result());
    driven.prompt("the captain is awake");
    say(&mut driven, "allow");
    let last = driven.result();
    assert_eq!(last["result"], "It lies.", "{last}");
    assert!(dirs.file("dropped").exists());
    assert_paired(&server);
    assert_eq!(driven.end().results().len(), 2);
}
