//! More prompts than anybody waits for: none is refused, and control requests get through meanwhile.

use serde_json::{Value, json};

use crate::driven::{LINES, StreamJsonProcess};
use crate::fixture::{ManualServer, TestDirs};

#[test]
fn two_thousand_prompts_have_two_thousand_results() {
    const PROMPTS: usize = 2_000;
    let dirs = TestDirs::new();
    let manual = ManualServer::open();
    let mut driven = StreamJsonProcess::start(&dirs, &manual.url(), &[]);
    driven.prompt("the first takes a while");
    let mut held = manual.request();
    for number in 0..PROMPTS {
        let said = json!({"role": "user", "content": format!("note {number}")});
        driven.say(&json!({"type": "user", "message": said, "uuid": format!("n{number}"),
            "shouldQuery": false}));
    }
    // Behind all of them, and answered before the first has ended.
    let answer = driven.ask(&json!({"subtype": "mcp_status"}));
    assert!(answer.is_ok(), "{answer:?}");
    let results = driven.seen.iter().filter(|frame| frame["type"] == "result").count();
    assert_eq!(results, 0, "the first prompt has not ended");
    ManualServer::answer(&mut held, "done");
    let finished = driven.end();
    let results: Vec<&Value> = finished.results();
    assert_eq!(results.len(), PROMPTS + 1);
    assert!(results.iter().all(|result| result["is_error"] == false), "{:?}", results.last());
    assert_eq!(finished.code, Some(0), "{finished:?}");
}

/// Each prompt is a question to the model, and all are written before the first answer is read. The
/// window is small, so that history is summarised on the way and no request grows.
#[test]
fn two_thousand_questions_have_two_thousand_answers() {
    const PROMPTS: usize = 2_000;
    let dirs = TestDirs::new();
    let server = ManualServer::open();
    let url = server.url();
    std::thread::spawn(move || {
        loop {
            ManualServer::answer(&mut server.request(), "ok");
        }
    });
    let arguments: Vec<&str> = LINES.iter().copied().chain(["--bare", "--tools", ""]).collect();
    let mut command = dirs.asking(&url, &arguments);
    command.env("CLAUDE_CODE_MAX_OUTPUT_TOKENS", "100");
    command.env("CLAUDE_CODE_MAX_CONTEXT_TOKENS", "8200");
    let mut driven = StreamJsonProcess::unread(&mut command);
    let mut stdin = driven.take_input();
    let writing = std::thread::spawn(move || {
        use std::io::Write;
        for number in 0..PROMPTS {
            let said = json!({"role": "user", "content": format!("{number}?")});
            let line = json!({"type": "user", "message": said, "uuid": format!("q{number}")});
            writeln!(stdin, "{line}").expect("it reads");
        }
        stdin
    });
    driven.read();
    for number in 0..PROMPTS {
        assert_eq!(driven.result()["result"], "ok", "{number}");
    }
    let memory = driven.memory_max();
    assert!(memory < 256 << 20, "{memory} bytes");
    drop(writing.join().expect("all were taken"));
    let finished = driven.over();
    assert_eq!(finished.code, Some(0), "{:?}", finished.stderr);
    assert_eq!(finished.results().len(), PROMPTS);
}

/// What does not fit is not read, and is answered all the same.
#[test]
fn prompts_that_do_not_fit_are_held_back_and_answered() {
    const BYTES: usize = 11 << 20;
    const PROMPTS: usize = 7;
    let dirs = TestDirs::new();
    let manual = ManualServer::open();
    let mut driven = StreamJsonProcess::start(&dirs, &manual.url(), &[]);
    driven.prompt("the first takes a while");
    let mut held = manual.request();
    let (sent, written) = std::sync::mpsc::channel();
    let mut stdin = driven.take_input();
    let writing = std::thread::spawn(move || {
        use std::io::Write;
        for number in 0..PROMPTS {
            let text = "x".repeat(BYTES);
            let said = json!({"role": "user", "content": text});
            let line = json!({"type": "user", "message": said, "shouldQuery": false});
            writeln!(stdin, "{line}").expect("it reads");
            let _ = sent.send(number);
        }
    });
    // Some are taken while the first is worked on.
    for _ in 0..3 {
        written.recv().expect("it reads");
    }
    ManualServer::answer(&mut held, "done");
    writing.join().expect("all were taken");
    let finished = driven.end();
    assert_eq!(finished.results().len(), PROMPTS + 1);
    assert_eq!(finished.code, Some(0), "{:?}", finished.stderr);
}
