//! What runs in the background: counted, listed, stopped, moved there, and warned of on the way out.

use serde_json::json;
use windlass_rehearsal::{ReceivedRequest, Rehearsal, Script, ScriptedAnswer};

use super::talk::{READY, Talk};
use crate::fixture::{TestDirs, play};

const WAIT: &str = "while [ ! -e go ]; do sleep 0.05; done";

fn begin(dirs: &TestDirs, server: &Rehearsal) -> Talk {
    let flags = ["--dangerously-skip-permissions", "--", "begin"];
    Talk::sized(dirs.asking(&server.url(), &flags), 24, 100)
}

#[test]
fn a_background_command_is_counted_until_it_ends() {
    let dirs = TestDirs::new();
    let input = json!({"command": WAIT, "run_in_background": true});
    let script = Script::new()
        .answer(ScriptedAnswer::call("Bash", input).when("begin"))
        .answer(ScriptedAnswer::text("It runs.").repeat(0));
    let server = play(script);
    let mut talk = begin(&dirs, &server);
    talk.until("It runs.");
    // The model is told more than people need to know.
    let shown = talk.until("Runs in the background as b1 · /tasks lists it");
    assert!(!shown.contains("Monitor"), "{shown}");
    talk.until("· 1 background task ·");
    talk.key("/tasks\r");
    let shown = talk.until("Background tasks");
    assert!(shown.contains("while [ ! -e go ]"), "{shown}");
    talk.key("\u{1b}");
    talk.until(READY);
    std::fs::write(dirs.file("go"), "").expect("a file");
    // Nobody presses a key.
    talk.until_gone("1 background task");
    assert_eq!(talk.end(), Some(0));
}

#[test]
fn leaving_warns_once_of_what_would_be_stopped() {
    let dirs = TestDirs::new();
    let input = json!({"command": "echo $$ > id; sleep 600", "run_in_background": true});
    let script = Script::new()
        .answer(ScriptedAnswer::call("Bash", input).when("begin"))
        .answer(ScriptedAnswer::text("It runs.").repeat(0));
    let server = play(script);
    let mut talk = begin(&dirs, &server);
    talk.until("It runs.");
    talk.until("· 1 background task ·");
    talk.key("/exit\r");
    talk.until("1 background task is running and will be stopped. Exit again to leave.");
    talk.until(READY);
    talk.key("/exit\r");
    assert_eq!(talk.over().code(), Some(0));
}

#[test]
fn ctrl_b_moves_an_agent_to_the_background() {
    let dirs = TestDirs::new();
    let agent = json!({"description": "look", "prompt": "search the garden", "subagent_type": "general-purpose"});
    let script = Script::new()
        .answer(ScriptedAnswer::call("Agent", agent).when("begin"))
        .answer(
            ScriptedAnswer::call("Bash", json!({"command": format!("touch begun; {WAIT}")}))
                .when("search the garden"),
        )
        .answer(ScriptedAnswer::text("I go on without it.").repeat(0));
    let server = play(script);
    let mut talk = begin(&dirs, &server);
    // The command of the agent runs, and could be moved itself.
    talk.when("a command", |_| dirs.file("begun").exists());
    talk.key("\u{2}");
    talk.until("I go on without it.");
    talk.until("· 1 background task ·");
    // The agent still waits for its command, which did not move by itself.
    let moved_alone = |request: &ReceivedRequest| {
        request.body.to_string().contains("Runs in the background as `b1`")
    };
    assert!(!server.requests().iter().any(moved_alone));
    std::fs::write(dirs.file("go"), "").expect("a file");
    talk.until_gone("1 background task");
    assert!(!server.requests().iter().any(moved_alone));
    assert_eq!(talk.end(), Some(0));
}

#[test]
fn ctrl_b_moves_a_command_to_the_background() {
    let dirs = TestDirs::new();
    let command = format!("echo begun; {WAIT}; echo over");
    let script = Script::new()
        .answer(ScriptedAnswer::call("Bash", json!({"command": command})).when("begin"))
        .answer(ScriptedAnswer::text("I go on without it.").repeat(0));
    let server = play(script);
    let mut talk = begin(&dirs, &server);
    talk.until("Ctrl-B to run in the background");
    talk.until("│ begun");
    talk.key("\u{2}");
    talk.until("I go on without it.");
    talk.until("· 1 background task ·");
    let told = server.requests().last().expect("a request").body.to_string();
    // As one that was begun there.
    assert!(told.contains("Runs in the background as `b1`"), "{told}");
    talk.key("/tasks\r");
    let shown = talk.until("Background tasks");
    assert!(shown.contains("echo begun"), "{shown}");
    talk.key("\u{1b}");
    talk.until(READY);
    std::fs::write(dirs.file("go"), "").expect("a file");
    talk.until_gone("1 background task");
    assert_eq!(talk.end(), Some(0));
}

#[test]
fn ctrl_b_says_when_there_is_nothing_to_move() {
    let dirs = TestDirs::new();
    let input = json!({"command": WAIT, "run_in_background": true});
    let script = Script::new()
        .answer(ScriptedAnswer::call("Bash", input).when("begin"))
        .answer(ScriptedAnswer::call("Monitor", json!({"task_id": "b1"})))
        .answer(ScriptedAnswer::text("Done with it.").repeat(0));
    let server = play(script);
    let mut talk = begin(&dirs, &server);
    talk.until("Monitor(");
    talk.key("\u{2}");
    talk.until("Nothing to move to the background");
    std::fs::write(dirs.file("go"), "").expect("a file");
    talk.until("Done with it.");
    assert_eq!(talk.end(), Some(0));
}
