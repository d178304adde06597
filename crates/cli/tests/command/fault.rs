//! What is told of faults that pass, at a terminal and away from it, and of those that do not.

use windlass_rehearsal::{Script, ScriptedAnswer, ScriptedFault};

use crate::fixture::{TestDirs, play, run};
use crate::terminal::{To, on_terminal};

/// What a person at a terminal sees beside the answer, which must come.
fn seen(script: Script, flags: &[&str]) -> String {
    let dirs = TestDirs::new();
    let server = play(script);
    let mut command = dirs.asking(&server.url(), &["-p", "hi"]);
    command.args(flags);
    let (code, screen) = on_terminal(command, To::Stderr);
    assert_eq!(code, Some(0), "{screen}");
    screen
}

#[test]
fn a_reset_before_the_answer_is_no_news_if_it_is_soon_mended() {
    for reset in [true, false] {
        let script = Script::new()
            .answer(ScriptedAnswer::from_fault(ScriptedFault::DropConnection { reset }))
            .answer(ScriptedAnswer::text("fine"));
        assert_eq!(seen(script, &[]), "");
    }
}

#[test]
fn a_reset_that_stays_is_told_once_with_its_cause() {
    let dirs = TestDirs::new();
    let server = play(Script::new().answer(
        ScriptedAnswer::from_fault(ScriptedFault::DropConnection { reset: true }).repeat(0),
    ));
    let finished = run(&mut dirs.asking(&server.url(), &["-p", "hi", "--max-retries", "1"]));
    let line = finished.error_line(1);
    assert_eq!(line.matches("the connection failed").count(), 1, "{line}");
    assert!(line.contains("reset by peer") && line.ends_with("check ANTHROPIC_BASE_URL"), "{line}");
    assert_eq!(server.request_count(), 2);
}

#[test]
fn an_overload_is_told_when_the_wait_is_long_and_counted() {
    for status in [529, 503] {
        let script = Script::new()
            .answer(ScriptedAnswer::from_fault(ScriptedFault::refuse_for(status, 3)))
            .answer(ScriptedAnswer::text("fine"));
        let screen = seen(script, &["--max-retries", "4"]);
        assert!(screen.contains("the model is overloaded"), "{screen}");
        assert!(screen.contains("trying again in 3.0 s, 1 of 4"), "{screen}");
        assert_eq!(screen.lines().count(), 1, "{screen}");
    }
    let dirs = TestDirs::new();
    let server = play(
        Script::new().answer(ScriptedAnswer::from_fault(ScriptedFault::refuse(529)).repeat(0)),
    );
    let finished = run(&mut dirs.asking(&server.url(), &["-p", "hi", "--max-retries", "0"]));
    let line = finished.error_line(1);
    assert!(
        line.contains("overloaded (status 529)") && line.contains("--fallback-model"),
        "{line}"
    );
}

#[test]
fn offline_is_said_in_words() {
    let dirs = TestDirs::new();
    let url = "https://no.such.host.invalid";
    let mut command = dirs.asking(url, &["-p", "hi", "--max-retries", "0"]);
    // A proxy of the machine's would hide that nobody is there.
    let finished = run(command.env("NO_PROXY", "*"));
    let line = finished.error_line(1);
    assert!(line.contains(&format!("offline? the server cannot be reached at {url}: ")), "{line}");
    assert_eq!(line.matches("cannot be reached").count(), 1, "{line}");
    assert!(line.ends_with("; check ANTHROPIC_BASE_URL"), "{line}");
}

#[test]
fn an_empty_answer_is_said_and_is_no_success() {
    let script = || Script::new().answer(ScriptedAnswer::text("").repeat(0));
    let dirs = TestDirs::new();
    let server = play(script());
    let finished = run(&mut dirs.asking(&server.url(), &["-p", "hi"]));
    let line = finished.error_line(1);
    assert!(line.contains("empty answer") && line.contains("try again"), "{line}");
    let arguments = ["-p", "hi", "--output-format", "json"];
    let finished = run(&mut dirs.asking(&server.url(), &arguments));
    let result: serde_json::Value = serde_json::from_str(&finished.stdout).expect("one object");
    assert_eq!((&result["outcome"], &result["is_error"]), (&"empty".into(), &true.into()));
}

/// A server that refuses one request with these words. Returns what was told of the repair, and the
/// requests before and after it.
fn repair_after(script: Script, words: &str) -> (String, Vec<serde_json::Value>) {
    let body = serde_json::json!({ "type": "error",
        "error": { "type": "invalid_request_error", "message": words } });
    let refusal = ScriptedAnswer::from_fault(ScriptedFault::refuse_with(400, body.to_string()));
    let script = script.answer(refusal).answer(ScriptedAnswer::text("fine"));
    let dirs = TestDirs::new();
    let server = play(script);
    let flags = ["-p", "hi", "--verbose", "--dangerously-skip-permissions"];
    let finished = run(&mut dirs.asking(&server.url(), &flags));
    assert_eq!((finished.code, finished.stdout.as_str()), (Some(0), "fine\n"), "{finished:?}");
    let mut told = finished.stderr.lines().filter(|line| line.contains("repaired"));
    let told = told.next().expect("a line").to_owned();
    let bodies = server.requests().into_iter().map(|request| request.json().expect("JSON"));
    (told, bodies.collect())
}

/// "Nothing could be left out" is said only if the same is sent again.
#[test]
fn what_is_said_of_a_repair_is_true() {
    let words = "messages.0.content.0: Invalid `signature` in `thinking` block";
    let (told, bodies) = repair_after(Script::new(), words);
    assert!(told.ends_with("it is no longer asked to reason"), "{told}");
    assert_ne!(bodies[0]["thinking"], bodies[1]["thinking"]);
    let (told, bodies) = repair_after(Script::new(), "this cannot be understood");
    assert!(told.ends_with("it is no longer asked to clear old results"), "{told}");
    assert_ne!(bodies[0], bodies[1]);
    let call = serde_json::json!({ "command": "echo forbidden words" });
    let script = Script::new().answer(ScriptedAnswer::call("Bash", call));
    let (told, bodies) = repair_after(script, "messages.2.content.0: text is not allowed here");
    assert!(told.ends_with("the result of a tool left out"), "{told}");
    let result = |body: &serde_json::Value| body["messages"][2].to_string();
    assert!(result(&bodies[1]).contains("forbidden words"), "{}", bodies[1]);
    assert!(!result(&bodies[2]).contains("forbidden words"), "{}", bodies[2]);
    assert!(bodies[2]["messages"][1].to_string().contains("echo forbidden words"));
}

#[test]
fn a_repair_that_changes_nothing_says_so() {
    let refusal = || {
        ScriptedAnswer::from_fault(ScriptedFault::refuse_with(
            400,
            r#"{"error":{"message":"this cannot be understood","type":"invalid_request_error"}}"#,
        ))
    };
    let server = play(Script::new().answer(refusal()).answer(ScriptedAnswer::text("fine")));
    let dirs = TestDirs::new();
    let flags = ["-p", "hi", "--verbose", "--model", "openai-chat/gpt-5.5"];
    let mut command = dirs.windlass(&flags);
    command.env("OPENAI_BASE_URL", server.url()).env("OPENAI_API_KEY", "test-key");
    let finished = run(&mut command);
    assert_eq!((finished.code, finished.stdout.as_str()), (Some(0), "fine\n"), "{finished:?}");
    assert!(finished.stderr.contains("nothing could be left out"), "{finished:?}");
    let bodies: Vec<_> = server.requests().into_iter().map(|request| request.body).collect();
    assert_eq!(bodies[0], bodies[1]);
}
