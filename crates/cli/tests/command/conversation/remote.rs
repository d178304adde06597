//! Servers of others in a conversation: what they want to know, and the prompts they have ready.

use serde_json::json;
use windlass_rehearsal::{Script, ScriptedAnswer};

use super::talk::{ASKED, READY, Talk};
use crate::fixture::{TestDirs, play, run};
use crate::remote::SERVER;

fn test_dirs() -> (TestDirs, String) {
    let dirs = TestDirs::new();
    std::fs::write(dirs.file("server.sh"), SERVER).expect("a file");
    let entry = json!({"command": "sh", "args": ["server.sh"]});
    (dirs, json!({"mcpServers": {"box": entry}}).to_string())
}

#[test]
fn a_servers_question_is_put_and_its_answer_goes_back() {
    let (dirs, config) = test_dirs();
    let script = Script::new()
        .answer(ScriptedAnswer::call("mcp__box__place", json!({"colour": 1})))
        .answer(ScriptedAnswer::text("Blue it is.").when_result("blue"))
        .answer(ScriptedAnswer::call("mcp__box__place", json!({"colour": 1})))
        .answer(ScriptedAnswer::text("None, then.").when_result("decline"));
    let server = play(script);
    let flags = ["--mcp-config", &config, "--allowedTools", "mcp__box", "--", "paint it"];
    let mut talk = Talk::begin(dirs.asking(&server.url(), &flags));
    talk.until("The MCP server `box` asks: Which colour?");
    talk.until(ASKED);
    talk.key("1");
    talk.until("Your answer:");
    talk.key("blue\r");
    talk.until("Blue it is.");
    talk.until(READY);
    talk.key("again\r");
    talk.until("The MCP server `box` asks: Which colour?");
    talk.until(ASKED);
    talk.key("\x1b");
    talk.until("None, then.");
    assert_eq!(talk.end(), Some(0));
}

#[test]
fn a_servers_prompts_stand_in_the_menu() {
    let (dirs, config) = test_dirs();
    // A session before has seen what it has.
    let server = play(Script::new().answer(ScriptedAnswer::text("ok").repeat(0)));
    let first = ["-p", "/mcp__box__greet them", "--mcp-config", &config];
    run(&mut dirs.asking(&server.url(), &first)).answer();
    let flags = ["--mcp-config", config.as_str()];
    let mut talk = Talk::begin(dirs.asking(&server.url(), &flags));
    talk.until(READY);
    talk.key("/mcp__b");
    talk.until("mcp__box__greet");
    talk.key("ox__greet everybody\r");
    talk.until("ok");
    assert_eq!(talk.end(), Some(0));
    let body = server.requests().pop().expect("a request").json().expect("JSON");
    assert!(body["messages"].to_string().contains("Greet everybody kindly."), "{body}");
}

#[test]
fn a_typed_command_appears_when_its_server_comes_late() {
    let (dirs, _) = test_dirs();
    let gate = dirs.file("gate");
    let made = std::process::Command::new("mkfifo").arg(&gate).status().expect("mkfifo");
    assert!(made.success());
    // The server says nothing before a line comes through the gate.
    let entry = json!({"command": "sh", "args": ["-c", "read -r line < gate; exec sh server.sh"]});
    let config = json!({"mcpServers": {"box": entry}}).to_string();
    let server = play(Script::new().answer(ScriptedAnswer::text("ok").repeat(0)));
    let mut talk = Talk::begin(dirs.asking(&server.url(), &["--mcp-config", &config]));
    talk.until(READY);
    talk.key("/mcp__b");
    let shown = talk.until("> /mcp__b");
    assert!(!shown.contains("mcp__box__greet"), "{shown}");
    std::fs::write(&gate, "\n").expect("the server reads the gate");
    talk.until("mcp__box__greet");
    talk.key("ox__greet everybody\r");
    talk.until("ok");
    assert_eq!(talk.end(), Some(0));
}
