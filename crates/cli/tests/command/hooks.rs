//! Hooks of settings files, with the real binary: real programs say no, change, add, hold up and end.

use std::path::Path;

use serde_json::{Value, json};
use windlass_rehearsal::{Rehearsal, Script, ScriptedAnswer};

use crate::fixture::{FinishedCommand, TestDirs, play, run};

#[allow(clippy::needless_pass_by_value, reason = "JSON is written where it is made")]
fn write(path: impl AsRef<Path>, value: Value) {
    let path = path.as_ref();
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    std::fs::write(path, value.to_string()).expect("a file");
}

fn hooks(parts: &[(&str, &str)]) -> Value {
    let mut events = serde_json::Map::new();
    for (event, command) in parts {
        let hook = json!([{ "hooks": [{ "type": "command", "command": command, "timeout": 60 }] }]);
        events.insert((*event).to_owned(), hook);
    }
    json!({ "hooks": events })
}

/// The user's own settings hold these hooks.
fn with(dirs: &TestDirs, parts: &[(&str, &str)]) {
    write(dirs.home().join(".claude/settings.json"), hooks(parts));
}

fn output_command(value: &Value) -> String {
    format!("cat > /dev/null; printf '%s' '{value}'")
}

fn bash(command: &str) -> ScriptedAnswer {
    ScriptedAnswer::call("Bash", json!({ "command": command }))
}

fn go(dirs: &TestDirs, server: &Rehearsal, flags: &[&str]) -> FinishedCommand {
    run(dirs.asking(&server.url(), &["-p", "go"]).args(flags))
}

const ALL: &str = "--dangerously-skip-permissions";

fn result(finished: &FinishedCommand) -> Value {
    serde_json::from_str(&finished.stdout).expect("a result")
}

#[test]
fn a_no_before_a_tool_is_a_no() {
    let dirs = TestDirs::new();
    with(&dirs, &[("PreToolUse", "grep -q made.txt && { echo 'keep out' >&2; exit 2; }; true")]);
    let server =
        play(Script::new().answer(bash("touch made.txt")).answer(ScriptedAnswer::text("Over.")));
    let finished = go(&dirs, &server, &[ALL]);
    assert_eq!(finished.stdout, "Over.\n", "{finished:?}");
    assert!(!dirs.file("made.txt").exists());
    assert!(server.requests()[1].body.contains("keep out"));
}

#[test]
fn a_changed_input_is_checked_again() {
    let rewrite = output_command(&json!({ "hookSpecificOutput": {
        "hookEventName": "PreToolUse", "permissionDecision": "allow",
        "updatedInput": { "command": "touch forbidden.txt" },
    } }));
    let dirs = TestDirs::new();
    let mut settings = hooks(&[("PreToolUse", &rewrite)]);
    settings["permissions"] = json!({ "deny": ["Bash(touch forbidden.txt)"] });
    write(dirs.home().join(".claude/settings.json"), settings);
    let server =
        play(Script::new().answer(bash("touch made.txt")).answer(ScriptedAnswer::text("Over.")));
    let finished = go(&dirs, &server, &[ALL]);
    assert!(finished.stdout.contains("Over."), "{finished:?}");
    assert!(!dirs.file("made.txt").exists() && !dirs.file("forbidden.txt").exists());
}

#[test]
fn a_guard_that_is_not_there_is_never_a_yes() {
    let dirs = TestDirs::new();
    with(&dirs, &[("PreToolUse", "./no-such-guard")]);
    let server =
        play(Script::new().answer(bash("touch made.txt")).answer(ScriptedAnswer::text("Over.")));
    let finished = go(&dirs, &server, &[ALL]);
    assert!(!dirs.file("made.txt").exists());
    assert!(finished.stderr.contains("no-such-guard"), "{finished:?}");
}

#[test]
fn a_stop_hook_that_never_ends_is_overridden() {
    let dirs = TestDirs::new();
    with(&dirs, &[("Stop", "printf '%s\\n' \"$(cat)\" >> log; wc -l < log >&2; exit 2")]);
    let server = play(Script::new().answer(ScriptedAnswer::text("Done.").repeat(30)));
    let finished = go(&dirs, &server, &["--output-format", "json"]);
    assert_eq!(result(&finished)["terminal_reason"], "stop_hook_prevented", "{finished:?}");
    assert_eq!(server.requests().len(), 9);
    let log = std::fs::read_to_string(dirs.file("log")).expect("a log");
    let last: Value = serde_json::from_str(log.lines().last().expect("a line")).expect("JSON");
    assert_eq!(last["stop_hook_overridden"], true, "{log}");
}

#[test]
fn words_go_beside_the_prompt_and_a_refused_prompt_costs_nothing() {
    let dirs = TestDirs::new();
    with(&dirs, &[("UserPromptSubmit", "echo 'the tide is out'"), ("SessionStart", "echo Monday")]);
    let server = play(Script::new().answer(ScriptedAnswer::text("Over.")));
    assert_eq!(go(&dirs, &server, &[]).answer(), "Over.\n");
    let body = &server.requests()[0].body;
    assert!(body.contains("the tide is out") && body.contains("Monday"), "{body}");
    with(&dirs, &[("UserPromptSubmit", "echo 'not today' >&2; exit 2")]);
    let server = play(Script::new().answer(ScriptedAnswer::text("Over.")));
    let finished = go(&dirs, &server, &["--output-format", "json"]);
    let result = result(&finished);
    assert_eq!(result["terminal_reason"], "hook_stopped", "{finished:?}");
    assert!(finished.stderr.contains("not today"), "{finished:?}");
    assert!(server.requests().is_empty());
}

#[test]
fn the_same_hooks_run_in_sub_agents() {
    let dirs = TestDirs::new();
    with(
        &dirs,
        &[("PreToolUse", "grep -q agent_id && { echo 'not below deck' >&2; exit 2; }; true")],
    );
    let server = play(
        Script::new()
            .answer(ScriptedAnswer::call(
                "Agent",
                json!({ "description": "a", "prompt": "touch it" }),
            ))
            .answer(bash("touch made.txt").when("touch it"))
            .answer(ScriptedAnswer::text("I could not").when_result("not below deck"))
            .answer(ScriptedAnswer::text("Over.").when_result("I could not")),
    );
    let finished = go(&dirs, &server, &[ALL]);
    assert!(finished.stdout.contains("Over."), "{finished:?}");
    assert!(!dirs.file("made.txt").exists());
}

#[test]
fn feedback_after_a_tool_and_an_end_by_a_hook() {
    let dirs = TestDirs::new();
    with(&dirs, &[("PostToolUse", "echo 'format it' >&2; exit 2")]);
    let server =
        play(Script::new().answer(bash("touch made.txt")).answer(ScriptedAnswer::text("Over.")));
    assert!(go(&dirs, &server, &[ALL]).stdout.contains("Over."));
    assert!(server.requests()[1].body.contains("format it"));
    with(
        &dirs,
        &[("PostToolUse", &output_command(&json!({ "continue": false, "stopReason": "enough" })))],
    );
    let server =
        play(Script::new().answer(bash("touch made.txt")).answer(ScriptedAnswer::text("Over.")));
    let finished = go(&dirs, &server, &[ALL, "--output-format", "json"]);
    assert_eq!(result(&finished)["terminal_reason"], "hook_stopped", "{finished:?}");
    assert_eq!(server.requests().len(), 1);
    // The hook ended it on purpose: no failure, in the result and in the code.
    assert_eq!((&result(&finished)["is_error"], finished.code), (&json!(false), Some(0)));
    assert!(finished.stderr.contains("enough"), "{finished:?}");
}

#[test]
fn h5_hooks_are_those_of_the_beginning_and_a_project_needs_trust() {
    let dirs = TestDirs::new();
    let project = dirs.file(".claude/settings.json");
    // A hook that plants another one: it counts for nothing in this run, and the project's hooks
    // count only once they are trusted.
    let planted = hooks(&[("PreToolUse", "touch planted.txt")]).to_string();
    let plant = format!("mkdir -p .claude; printf '%s' '{planted}' > .claude/settings.json");
    with(&dirs, &[("PreToolUse", &plant)]);
    let script = || {
        Script::new()
            .answer(bash("echo one"))
            .answer(bash("echo two"))
            .answer(ScriptedAnswer::text("Over."))
    };
    let server = play(script());
    assert!(go(&dirs, &server, &[ALL]).stdout.contains("Over."));
    assert!(project.exists() && !dirs.file("planted.txt").exists());
    let server = play(script());
    let finished = go(&dirs, &server, &[ALL]);
    assert!(!dirs.file("planted.txt").exists(), "{finished:?}");
    let server = play(script());
    go(&dirs, &server, &[ALL, "--trust-project"]);
    assert!(dirs.file("planted.txt").exists());
}

#[test]
fn a_hook_that_cannot_be_read_costs_one_line() {
    let dirs = TestDirs::new();
    let mut settings = hooks(&[("SessionStart", "echo Monday")]);
    settings["hooks"]["Stop"] = json!([{ "hooks": [{ "type": "prompt" }] }]);
    settings["hooks"]["NoSuchEvent"] = json!([]);
    write(dirs.home().join(".claude/settings.json"), settings);
    let server = play(Script::new().answer(ScriptedAnswer::text("Over.")));
    let finished = go(&dirs, &server, &[]);
    assert_eq!(finished.stdout, "Over.\n", "{finished:?}");
    for words in ["hooks.Stop[0].hooks[0]: `prompt` is missing", "hooks.NoSuchEvent"] {
        let lines = finished.stderr.lines().filter(|line| line.contains(words)).count();
        assert_eq!(lines, 1, "{words}: {finished:?}");
    }
    assert!(server.requests()[0].body.contains("Monday"), "everything else works");
}

#[test]
fn hooks_can_be_listed_and_tried() {
    let dirs = TestDirs::new();
    let finished = run(&mut dirs.windlass(&["hooks", "list"]));
    assert_eq!(finished.answer(), "No hooks.\n");
    let guard = "grep -q 'rm -rf' && { echo 'too broad' >&2; exit 2; }; true";
    with(&dirs, &[("PreToolUse", guard), ("SessionStart", "echo hello; exit 1")]);
    let listed = run(&mut dirs.windlass(&["hooks", "list"]));
    assert!(listed.answer().contains("PreToolUse") && listed.stdout.contains("settings.json"));
    let test = |arguments: &[&str]| {
        let mut all = vec!["hooks", "test"];
        all.extend(arguments);
        run(&mut dirs.windlass(&all))
    };
    let broad = ["PreToolUse", "--tool", "Bash", "--input", r#"{"command":"rm -rf /"}"#];
    let finished = test(&broad);
    assert_eq!(finished.code, Some(1), "{finished:?}");
    assert!(finished.stdout.contains("together: no: too broad"), "{finished:?}");
    assert!(finished.stdout.contains("exit code 2") && finished.stdout.contains(" ms"));
    let finished = test(&["PreToolUse", "--json"]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert_eq!(result(&finished)["verdict"]["decision"], "pass");
    let finished = test(&["SessionStart"]);
    assert_eq!(finished.code, Some(1), "{finished:?}");
    assert!(finished.stdout.contains("failed: ended with exit code 1"), "{finished:?}");
    assert!(test(&["Stop"]).stdout.contains("No hook matches"));
    assert!(test(&["PreTool"]).error_line(2).contains("PreToolUse"));
    assert!(test(&["Stop", "--input", "[]"]).error_line(2).contains("--input"));
}
