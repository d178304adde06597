//! The demonstration, played by a small agent that really runs what it is told.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use windlass_rehearsal::{Rehearsal, Script, demo};
use windlass_vocabulary::WireFormat;

use crate::client::{Client, End, play, prompt};

/// One answer of the model: its text and its calls.
struct Turn {
    blocks: Vec<Value>,
    text: String,
}

/// Asks until an answer comes through. Counts what went wrong on the way.
fn ask(rehearsal: &Rehearsal, messages: &[Value], mishaps: &mut Vec<String>) -> Turn {
    let mut body = prompt("");
    body["messages"] = Value::from(messages.to_vec());
    for _ in 0..3 {
        let seen = Client::connect(rehearsal.address()).ask(&body);
        if seen.status == Some(200) && seen.end == End::Complete {
            return turn(&seen.payloads());
        }
        let retry_after = seen.header("retry-after").unwrap_or("-").to_owned();
        let status = seen.status.unwrap_or(0);
        mishaps.push(format!("{status} {:?} {retry_after} {:?}", seen.end, seen.said()));
    }
    panic!("three mishaps in a row: {mishaps:?}");
}

fn turn(payloads: &[Value]) -> Turn {
    let mut blocks: Vec<Value> = Vec::new();
    let mut input = String::new();
    let mut text = String::new();
    for payload in payloads {
        if let Some(block) = payload.get("content_block") {
            blocks.push(block.clone());
        }
        if let Some(piece) = payload.pointer("/delta/partial_json") {
            input.push_str(piece.as_str().expect("text"));
        }
        if let Some(piece) = payload.pointer("/delta/text").and_then(Value::as_str) {
            text.push_str(piece);
        }
        if payload["type"] == "content_block_stop" {
            let block = blocks.last_mut().expect("a block");
            match block["type"].as_str() {
                Some("tool_use") => {
                    block["input"] = serde_json::from_str(&input).expect("arguments in JSON");
                    input.clear();
                }
                Some("text") => block["text"] = Value::from(text.as_str()),
                _ => {}
            }
        }
    }
    Turn { blocks, text }
}

/// Does what a call says.
fn perform(call: &Value, project: &Path) -> String {
    let argument = |name: &str| call["input"][name].as_str().expect("an argument").to_owned();
    match call["name"].as_str().expect("a name") {
        "Bash" => {
            let run = Command::new("sh")
                .args(["-c", &argument("command")])
                .current_dir(project)
                .stdin(Stdio::null())
                .output();
            String::from_utf8(run.expect("run the test").stdout).expect("words")
        }
        "Read" => std::fs::read_to_string(argument("file_path")).expect("a file to read"),
        "Edit" => {
            let path = argument("file_path");
            assert!(Path::new(&path).is_absolute());
            let before = std::fs::read_to_string(&path).expect("a file to edit");
            assert_eq!(before.matches(&argument("old_string")).count(), 1, "found exactly once");
            let after = before.replace(&argument("old_string"), &argument("new_string"));
            std::fs::write(&path, after).expect("write");
            "The file was edited.".to_owned()
        }
        other => panic!("unknown tool {other}"),
    }
}

#[test]
fn the_conversation_mends_the_project() {
    let project = tempfile::tempdir().expect("a directory");
    demo::write_project(project.path()).expect("lay out");
    let rehearsal = play(demo::build_script(project.path()).pace(Duration::ZERO));
    let mut messages = vec![json!({"role": "user", "content": demo::prompt()})];
    let mut mishaps = Vec::new();
    let mut asked = Vec::new();
    let last = loop {
        let turn = ask(&rehearsal, &messages, &mut mishaps);
        let calls: Vec<_> =
            turn.blocks.iter().filter(|block| block["type"] == "tool_use").cloned().collect();
        if calls.is_empty() {
            break turn;
        }
        let results: Vec<_> = calls
            .iter()
            .map(|call| {
                let content = perform(call, project.path());
                json!({"type": "tool_result", "tool_use_id": call["id"], "content": content})
            })
            .collect();
        let names: Vec<_> = calls.iter().filter_map(|call| call["name"].as_str()).collect();
        asked.push(names.join("+"));
        messages.push(json!({"role": "assistant", "content": turn.blocks}));
        messages.push(json!({"role": "user", "content": results}));
        assert!(messages.len() < 20, "the conversation must end");
    };
    assert_eq!(asked, ["Bash", "Read+Read", "Edit", "Bash"]);
    assert_eq!(mishaps.len(), 2, "{mishaps:?}");
    assert_eq!(mishaps[0], "529 Complete 1 \"\"");
    assert!(mishaps[1].starts_with("200 Closed - \"The script takes every"), "{mishaps:?}");
    assert!(last.text.starts_with("All six months are right now."), "{}", last.text);
    let results = messages.last().expect("results").to_string();
    assert!(results.contains("6 passed, 0 failed"), "{results}");
    // The label, which nobody asked for, and the answer for what was not foreseen.
    assert_eq!(rehearsal.answers_left().len(), 2);
}

#[test]
fn the_project_is_broken_in_one_place() {
    let project = tempfile::tempdir().expect("a directory");
    demo::write_project(project.path()).expect("lay out");
    let run = Command::new("./test.sh").current_dir(project.path()).stdin(Stdio::null()).output();
    let run = run.expect("a program");
    assert_eq!(run.status.code(), Some(1));
    let said = String::from_utf8(run.stdout).expect("words");
    assert_eq!(said.matches("FAIL").count(), 1, "{said}");
    assert!(said.contains("FAIL  1900-2 has 28 days, but days_in_month.sh says 29"), "{said}");
    assert!(said.ends_with("5 passed, 1 failed\n"), "{said}");
}

#[test]
fn a_step_that_is_denied_ends_the_demonstration_politely() {
    let rehearsal = play(demo::build_script(Path::new("/nowhere")).pace(Duration::ZERO));
    let mut messages = vec![json!({"role": "user", "content": demo::prompt()})];
    let mut mishaps = Vec::new();
    for _ in 0..10 {
        let turn = ask(&rehearsal, &messages, &mut mishaps);
        let calls = turn.blocks.iter().filter(|block| block["type"] == "tool_use");
        let denied = |call: &Value| {
            json!({
                "type": "tool_result", "tool_use_id": call["id"], "content": "denied", "is_error": true,
            })
        };
        let results: Vec<_> = calls.map(denied).collect();
        if results.is_empty() {
            assert!(turn.text.contains("not in it"), "{}", turn.text);
            return;
        }
        messages.push(json!({"role": "assistant", "content": turn.blocks}));
        messages.push(json!({"role": "user", "content": results}));
    }
    panic!("the conversation must end");
}

#[test]
fn it_can_be_watched_and_does_not_bore() {
    let script: Script = demo::build_script(Path::new("/home/someone/demo"));
    // The last answer is for what was not foreseen.
    let played = &script.answers()[..script.answers().len() - 1];
    let events: usize = played
        .iter()
        .map(|answer| answer.encode_events(WireFormat::AnthropicMessages, 1).len())
        .sum();
    let pauses = Duration::from_millis(40) * u32::try_from(events).expect("few events");
    // To which the client adds its two waits before it tries again, and the tools their time.
    assert!((4.0..8.0).contains(&pauses.as_secs_f32()), "{pauses:?} for {events} events");
}
