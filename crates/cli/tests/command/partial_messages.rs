//! `--include-partial-messages`: an answer as it comes, over every wire. Clients put it together from its
//! pieces, and match finished blocks with what streamed since the last one.

use serde_json::{Value, json};
use windlass_rehearsal::{Rehearsal, Script, ScriptedAnswer};

use crate::fixture::{TestDirs, play, run};

const MODELS: [&str; 4] =
    ["claude-sonnet-5-5", "openai-chat/gpt-4.1", "openai/gpt-5.5", "gemini/gemini-3.8-flash"];

fn ask_model(model: &str, script: Script) -> Vec<Value> {
    let dirs = TestDirs::new();
    let server = play(script);
    let url = server.url();
    let flags = [
        "-p",
        "hi",
        "--model",
        model,
        "--allowedTools",
        "Bash",
        "--output-format",
        "stream-json",
        "--verbose",
        "--include-partial-messages",
    ];
    let mut command = dirs.asking(&url, &flags);
    for (name, value) in server_variables(&server) {
        command.env(name, value);
    }
    let finished = run(&mut command);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    finished.stdout.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
}

fn server_variables(server: &Rehearsal) -> [(&'static str, String); 4] {
    [
        ("OPENAI_BASE_URL", format!("{}/v1", server.url())),
        ("OPENAI_API_KEY", "test-key".to_owned()),
        ("GOOGLE_GEMINI_BASE_URL", server.url()),
        ("GEMINI_API_KEY", "test-key".to_owned()),
    ]
}

/// What one who adds up pieces has: the blocks of every message, each with its content.
fn put_together(frames: &[Value]) -> Vec<(String, String)> {
    let mut blocks: Vec<(String, String)> = Vec::new();
    for event in frames.iter().map(|frame| &frame["event"]) {
        match event["type"].as_str() {
            Some("content_block_start") => {
                let block = &event["content_block"];
                let kind = block["type"].as_str().expect("a kind").to_owned();
                let text = ["text", "thinking"].iter().filter_map(|key| block[*key].as_str());
                blocks.push((kind, text.collect()));
            }
            Some("content_block_delta") => {
                let delta = &event["delta"];
                let piece = ["text", "thinking", "partial_json"]
                    .iter()
                    .filter_map(|key| delta[*key].as_str());
                blocks.last_mut().expect("an open block").1.extend(piece);
            }
            _ => {}
        }
    }
    blocks
}

#[test]
fn a_block_streams_once_over_every_wire() {
    let look = || json!({ "command": "true" });
    for model in MODELS {
        let first = ScriptedAnswer::text("Let me look.")
            .thinking("Two commands will do.")
            .tool("Bash", look())
            .tool("Bash", look());
        let script =
            Script::new().answer(first).answer(ScriptedAnswer::text("Done.").thinking("Over."));
        let frames = ask_model(model, script);
        let blocks = put_together(&frames);
        let of = |wanted: &str| -> Vec<&str> {
            let some = blocks.iter().filter(|(kind, _)| kind == wanted);
            some.map(|(_, text)| text.as_str()).collect()
        };
        assert_eq!(of("text"), ["Let me look.", "Done."], "{model}: {blocks:?}");
        assert_eq!(of("thinking"), ["Two commands will do.", "Over."], "{model}: {blocks:?}");
        let inputs: Vec<Value> =
            of("tool_use").iter().map(|text| serde_json::from_str(text).expect("JSON")).collect();
        assert_eq!(inputs, [look(), look()], "{model}: {blocks:?}");
    }
}

/// A client that matches the blocks of a frame with what streamed since the last frame, and shows again
/// what is not among it, as adapters for editors do.
#[test]
fn a_finished_block_comes_before_the_next_one_streams() {
    for model in MODELS {
        let answer = ScriptedAnswer::text("Hello there.").thinking("Let me see.");
        let frames = ask_model(model, Script::new().answer(answer));
        let mut streamed = String::new();
        let mut shown = String::new();
        let mut told = Vec::new();
        for frame in &frames {
            if let Some(piece) = frame["event"]["delta"]["text"].as_str() {
                streamed.push_str(piece);
                shown.push_str(piece);
            }
            if frame["type"] == "assistant" {
                let block = &frame["message"]["content"][0];
                told.push(block["type"].as_str().expect("a kind").to_owned());
                if let Some(text) = block["text"].as_str().filter(|text| *text != streamed) {
                    shown.push_str(text);
                }
                streamed.clear();
            }
        }
        assert_eq!(shown, "Hello there.", "{model}: {frames:#?}");
        assert_eq!(told.len(), 2, "{model}: each block is told once: {told:?}");
        assert_eq!(told[1], "text", "{model}");
    }
}

/// The block that was told at the end has the name it has in the transcript.
#[test]
fn the_last_block_has_the_name_of_its_line() {
    let dirs = TestDirs::new();
    let answer = ScriptedAnswer::text("Hello there.").thinking("Let me see.").repeat(0);
    let server = play(Script::new().answer(answer));
    let lines = ["--output-format", "stream-json", "--verbose", "--include-partial-messages"];
    let told = run(dirs.asking(&server.url(), &lines).args(["-p", "hi"]));
    let frames = told.stdout.lines().map(|line| serde_json::from_str::<Value>(line).expect(line));
    let name = frames
        .filter(|frame| frame["message"]["content"][0]["type"] == "text")
        .find_map(|frame| Some(frame["uuid"].as_str()?.to_owned()))
        .expect("a frame");
    let flags = ["-c", "--resume-session-at", &name, "-p", "on"];
    let resumed = run(&mut dirs.asking(&server.url(), &flags));
    assert_eq!(resumed.answer(), "Hello there.\n");
    let body = server.requests().pop().expect("a request").body;
    assert!(body.contains("Hello there."), "the answer is kept: {body}");
}
