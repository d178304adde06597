//! `windlass doctor` asks the model server: once, for little, and not at all with `--offline`.

use std::net::TcpListener;

use serde_json::{Value, json};
use windlass_rehearsal::{Script, ScriptedAnswer, ScriptedFault};

use crate::fixture::{FinishedCommand, TestDirs, play, run};

fn report(finished: &FinishedCommand) -> Value {
    serde_json::from_str(&finished.stdout).expect("one object")
}

#[test]
fn the_server_is_asked_once_and_for_little() {
    let dirs = TestDirs::new();
    std::fs::write(dirs.file("CLAUDE.md"), "a long instruction").expect("a file");
    let server = play(Script::new().answer(ScriptedAnswer::text("ok").repeat(0)));
    let finished = run(&mut dirs.asking(&server.url(), &["doctor"]));
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert!(finished.stdout.contains(&format!("server: {} answers (", server.url())));
    let requests = server.requests();
    assert_eq!(requests.len(), 1);
    let body: Value = serde_json::from_str(&requests[0].body).expect("JSON");
    assert!(body["tools"].as_array().is_none_or(Vec::is_empty), "{body}");
    assert!(requests[0].body.len() < 2_000, "{body}");
    assert!(dirs.journals().is_empty(), "nothing is kept");
    let finished = run(&mut dirs.asking(&server.url(), &["doctor", "--json"]));
    assert_eq!(report(&finished)["server"]["answers"], true, "{finished:?}");
}

#[test]
fn offline_it_asks_nobody() {
    let dirs = TestDirs::new();
    let server = play(Script::new().answer(ScriptedAnswer::text("ok").repeat(0)));
    let finished = run(&mut dirs.asking(&server.url(), &["doctor", "--offline"]));
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert!(finished.stdout.contains("server: not asked (--offline)"), "{finished:?}");
    assert_eq!(server.requests().len(), 0);
}

/// A dead server, one that refuses the key, one that says nothing: one line each, with what to do.
#[test]
fn a_server_that_does_not_answer_is_one_line() {
    let dirs = TestDirs::new();
    let finished = run(&mut dirs.asking("http://127.0.0.1:9", &["doctor", "--json"]));
    assert_eq!(finished.code, Some(1), "{finished:?}");
    let wrong = report(&finished)["wrong"].clone();
    let line = wrong[0].as_str().expect("a line").to_owned();
    assert!(line.contains("http://127.0.0.1:9") && line.contains("ANTHROPIC_BASE_URL"), "{line}");
    assert_eq!(wrong.as_array().map(Vec::len), Some(1), "{wrong}");

    let body = json!({"type": "error", "error": {"type": "authentication_error", "message": "no"}});
    let refused = ScriptedFault::refuse_with(401, body.to_string());
    let server = play(Script::new().answer(ScriptedAnswer::from_fault(refused).repeat(0)));
    let finished = run(&mut dirs.asking(&server.url(), &["doctor"]));
    assert_eq!(finished.code, Some(1), "{finished:?}");
    assert!(finished.stdout.contains("server: does not answer; see below"), "{finished:?}");
    assert!(finished.stdout.contains("the key was refused (status 401)"), "{finished:?}");
    assert!(finished.stdout.contains("ANTHROPIC_API_KEY"), "{finished:?}");
    assert_eq!(server.requests().len(), 1, "it is not tried again");

    // It takes connections, and that is all.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", silent.local_addr().expect("an address"));
    let mut command = dirs.asking(&url, &["doctor"]);
    let finished = run(command.env("API_TIMEOUT_MS", "300"));
    assert_eq!(finished.code, Some(1), "{finished:?}");
    let lines = finished.stdout.lines().filter(|line| line.contains("the model server:"));
    assert_eq!(lines.count(), 1, "{finished:?}");
}

/// Without a key there is nobody to ask, and that is what is said.
#[test]
fn without_a_key_nobody_is_asked() {
    let finished = run(&mut TestDirs::new().windlass(&["doctor"]));
    assert_eq!(finished.code, Some(1), "{finished:?}");
    assert!(finished.stdout.contains("server: not asked: a model and its key"), "{finished:?}");
    assert!(finished.stdout.contains("no API key for anthropic"), "{finished:?}");
}
