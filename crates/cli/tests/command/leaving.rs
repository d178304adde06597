//! Work that goes on by itself, and a client that has said its last.

use serde_json::{Value, json};
use windlass_rehearsal::{Script, ScriptedAnswer};

use crate::driven::StreamJsonProcess;
use crate::fixture::{TestDirs, play, wait_for_file};

/// An agent in the background that asks before it ends, and what the model does at its end.
fn script(dirs: &TestDirs) -> Script {
    let left =
        json!({ "description": "count", "prompt": "Count them.", "run_in_background": true });
    let told = json!({ "file_path": dirs.file("told"), "content": "three" });
    Script::new()
        .answer(ScriptedAnswer::call("Agent", left).when("start it"))
        .answer(ScriptedAnswer::text("LAUNCHED").when_result("in the background"))
        .answer(
            ScriptedAnswer::call("Bash", json!({ "command": "touch counted" })).when("Count them."),
        )
        .answer(ScriptedAnswer::text("three").when_result(""))
        .answer(ScriptedAnswer::call("Write", told).when("has ended"))
        .answer(ScriptedAnswer::text("FINISHED").when_result(""))
}

/// Two questions, in whatever order they come: the run wants to end, and the agent wants to run
/// something.
fn both(driven: &mut StreamJsonProcess) -> (Value, Value) {
    let is = |frame: &Value, kind: &str| frame["request"]["subtype"] == kind;
    let first = driven.until(|frame| is(frame, "hook_callback") || is(frame, "can_use_tool"));
    match is(&first, "hook_callback") {
        true => (first, driven.asked("can_use_tool")),
        false => (driven.asked("hook_callback"), first),
    }
}

/// Says yes.
fn allow(driven: &mut StreamJsonProcess, asked: &Value, tool: &str) {
    assert_eq!(asked["request"]["tool_name"], tool, "{asked}");
    driven.answer(asked, &json!({"behavior": "allow", "updatedInput": asked["request"]["input"]}));
}

/// Answers the hook that is asked when a run wants to end.
fn let_end(driven: &mut StreamJsonProcess) {
    let asked = driven.asked("hook_callback");
    driven.answer(&asked, &json!({}));
}

/// A client that has said its last keeps its ear open: the agent may end before or after the result
/// of the run that started it, the model is told either way, what it then asks is answered, and the
/// end comes by itself.
#[test]
fn a_client_that_said_its_last_is_asked_until_all_is_done() {
    for is_late in [false, true] {
        let dirs = TestDirs::new();
        let server = play(script(&dirs));
        let flags = ["--permission-prompt-tool", "stdio"];
        let mut driven = StreamJsonProcess::start(&dirs, &server.url(), &flags);
        let hooks = json!({
            "Stop": [{"matcher": null, "hookCallbackIds": ["stop"]}],
            "SessionEnd": [{"matcher": null, "hookCallbackIds": ["end"]}],
        });
        driven.ask(&json!({"subtype": "initialize", "hooks": hooks})).expect("a greeting");
        driven.prompt("start it");
        driven.ask(&json!({"subtype": "end_user_input"})).expect("it ends by itself then");
        let ended = |frame: &Value| frame["subtype"] == "task_notification";
        let (stop, question) = both(&mut driven);
        if is_late {
            driven.answer(&stop, &json!({}));
            driven.result();
            allow(&mut driven, &question, "Bash");
        } else {
            // Nothing more is asked of the model in this run, so it does not hear of the end.
            allow(&mut driven, &question, "Bash");
            driven.until(ended);
            driven.answer(&stop, &json!({}));
            driven.result();
        }
        let question = driven.asked("can_use_tool");
        allow(&mut driven, &question, "Write");
        let_end(&mut driven);
        let result = driven.result();
        assert_eq!(result["result"], "FINISHED", "{result}");
        assert_eq!(result["origin"]["kind"], "task-notification", "{result}");
        let asked = driven.asked("hook_callback");
        assert_eq!(asked["request"]["callback_id"], "end", "{asked}");
        driven.answer(&asked, &json!({}));
        let over = driven.over();
        assert_eq!(over.code, Some(0), "{over:?}");
        assert_eq!(over.results().len(), 2, "{over:?}");
        assert!(dirs.file("told").exists() && dirs.file("counted").exists());
    }
}

/// An agent does nothing by being started: what it calls is asked about, it is not.
#[test]
fn an_agent_is_started_without_a_question() {
    let dirs = TestDirs::new();
    let call = json!({ "description": "look", "prompt": "Look around." });
    let server = play(
        Script::new()
            .answer(ScriptedAnswer::call("Agent", call).when("start it"))
            .answer(
                ScriptedAnswer::call("Bash", json!({ "command": "touch x" })).when("Look around."),
            )
            .answer(ScriptedAnswer::text("Nothing.").when_result(""))
            .answer(ScriptedAnswer::text("Over.").when_result("")),
    );
    let mut driven = StreamJsonProcess::start(&dirs, &server.url(), &[]);
    driven.prompt("start it");
    let result = driven.result();
    assert_eq!(result["result"], "Over.", "{result}");
    assert!(!dirs.file("x").exists(), "its calls are judged");
    assert_eq!(driven.end().code, Some(0));
}

/// An agent that is waited for may be ended by name, or sent into the background; the run goes on
/// either way.
#[test]
fn an_agent_that_is_waited_for_is_stopped_or_left() {
    let call = json!({ "description": "look", "prompt": "Look around." });
    for is_left in [false, true] {
        let dirs = TestDirs::new();
        let told = if is_left { "in the background" } else { "was stopped" };
        let server = play(
            Script::new()
                .answer(ScriptedAnswer::call("Agent", call.clone()).when("start it"))
                .answer(
                    ScriptedAnswer::call("Bash", json!({ "command": "touch x" }))
                        .when("Look around."),
                )
                .answer(ScriptedAnswer::text("Going on.").when_result(told))
                .answer(ScriptedAnswer::text("Seen.").when_result(""))
                .answer(ScriptedAnswer::text("Heard.").when("has ended")),
        );
        let flags = ["--permission-prompt-tool", "stdio"];
        let mut driven = StreamJsonProcess::start(&dirs, &server.url(), &flags);
        driven.prompt("start it");
        let started = driven.until(|frame| frame["subtype"] == "task_started");
        let question = driven.asked("can_use_tool");
        if is_left {
            let other = json!({"subtype": "background_tasks", "tool_use_id": "another"});
            assert_eq!(driven.ask(&other).expect("an answer")["backgrounded"], false);
            let all = json!({"subtype": "background_tasks"});
            assert_eq!(driven.ask(&all).expect("an answer")["backgrounded"], true);
        } else {
            let stop = json!({"subtype": "stop_task", "task_id": started["task_id"]});
            driven.ask(&stop).expect("it stops");
        }
        let result = driven.result();
        assert_eq!(result["result"], "Going on.", "{result}");
        if is_left {
            allow(&mut driven, &question, "Bash");
            let result = driven.result();
            assert_eq!(result["result"], "Heard.", "{result}");
        }
        let over = driven.end();
        assert_eq!(over.code, Some(0), "{over:?}");
        assert_eq!(dirs.file("x").exists(), is_left);
    }
}

/// A command that is waited for may be sent into the background too, by the name of its call.
#[test]
fn a_command_that_is_waited_for_is_left() {
    let dirs = TestDirs::new();
    let command = "echo begun > begun; while [ ! -e go ]; do sleep 0.05; done; echo over";
    let server = play(
        Script::new()
            .answer(ScriptedAnswer::call("Bash", json!({ "command": command })).when("start it"))
            .answer(ScriptedAnswer::text("Going on.").when_result("Runs in the background as `b1`"))
            .answer(ScriptedAnswer::text("Heard.").when("has ended")),
    );
    let flags = ["--dangerously-skip-permissions"];
    let mut driven = StreamJsonProcess::start(&dirs, &server.url(), &flags);
    driven.prompt("start it");
    let is_call = |frame: &Value| frame["message"]["content"][0]["type"] == "tool_use";
    let id = driven.until(is_call)["message"]["content"][0]["id"].clone();
    wait_for_file(&dirs.file("begun"));
    let other = json!({"subtype": "background_tasks", "tool_use_id": "another"});
    assert_eq!(driven.ask(&other).expect("an answer")["backgrounded"], false);
    let this = json!({"subtype": "background_tasks", "tool_use_id": id});
    // It may have begun a moment before it is waited for.
    while driven.ask(&this).expect("an answer")["backgrounded"] != true {}
    let result = driven.result();
    assert_eq!(result["result"], "Going on.", "{result}");
    std::fs::write(dirs.file("go"), "").expect("a file");
    let result = driven.result();
    assert_eq!(result["result"], "Heard.", "{result}");
    assert_eq!(driven.end().code, Some(0));
}
