//! `-p` in every format is one run of the same event loop: agents, schemas and results are the same.

use serde_json::{Value, json};
use windlass_rehearsal::{Script, ScriptedAnswer};

use crate::fixture::{FinishedCommand, TestDirs, play, run};

fn object(finished: &FinishedCommand) -> Value {
    serde_json::from_str(&finished.stdout).unwrap_or_else(|error| panic!("{error}: {finished:?}"))
}

const SCHEMA: &str =
    r#"{"type":"object","properties":{"count":{"type":"integer"}},"required":["count"]}"#;

#[test]
fn an_object_is_the_answer_in_every_format() {
    let script = || {
        Script::new()
            .answer(ScriptedAnswer::call("StructuredOutput", json!({ "count": "two" })))
            .answer(ScriptedAnswer::call("StructuredOutput", json!({ "count": 2 })))
            .answer(ScriptedAnswer::text("Handed over."))
    };
    for format in ["text", "json", "stream-json"] {
        let dirs = TestDirs::new();
        let server = play(script());
        let arguments = ["-p", "count", "--json-schema", SCHEMA, "--output-format", format];
        let finished = run(&mut dirs.asking(&server.url(), &arguments));
        let answer = finished.answer();
        match format {
            "text" => assert_eq!(answer, "{\"count\":2}\n"),
            _ => {
                let last = answer.lines().last().expect("a result");
                let result: Value = serde_json::from_str(last).expect("JSON");
                assert_eq!(result["structured_output"], json!({ "count": 2 }), "{result}");
                assert_eq!(result["result"], "Handed over.", "{result}");
            }
        }
    }
}

#[test]
fn an_object_that_never_fits_is_an_error_with_a_name() {
    let dirs = TestDirs::new();
    let wrong = ScriptedAnswer::call("StructuredOutput", json!({ "count": "two" })).repeat(0);
    let server = play(Script::new().answer(wrong));
    let arguments = ["-p", "count", "--json-schema", SCHEMA, "--output-format", "json"];
    let mut command = dirs.asking(&server.url(), &arguments);
    let finished = run(command.env("MAX_STRUCTURED_OUTPUT_RETRIES", "1"));
    assert_eq!(finished.code, Some(1), "{finished:?}");
    assert_eq!(object(&finished)["subtype"], "error_max_structured_output_retries");
    assert_eq!(finished.stderr.lines().count(), 1, "{finished:?}");
    let arguments = ["-p", "count", "--json-schema", "{", "--output-format", "json"];
    assert!(run(&mut dirs.windlass(&arguments)).error_line(2).contains("--json-schema"));
}

#[test]
fn a_session_is_an_agent_of_the_command_line() {
    let dirs = TestDirs::new();
    let server = play(Script::new().answer(ScriptedAnswer::text("Arr.").repeat(0)));
    let agents = r#"{"pirate":{"description":"Talks","prompt":"Talk like a pirate."}}"#;
    for format in ["text", "json"] {
        let arguments =
            ["-p", "hi", "--agents", agents, "--agent", "pirate", "--output-format", format];
        run(&mut dirs.asking(&server.url(), &arguments)).answer();
    }
    for request in server.requests() {
        assert!(request.body.contains("Talk like a pirate."), "{}", request.body);
        assert!(request.body.contains("- pirate: Talks"), "{}", request.body);
    }
    let arguments = ["-p", "hi", "--agent", "nobody"];
    let finished = run(&mut dirs.asking(&server.url(), &arguments));
    assert!(finished.error_line(2).contains("nobody"), "{finished:?}");
    let arguments = ["-p", "hi", "--agents", "[1"];
    assert!(run(&mut dirs.asking(&server.url(), &arguments)).error_line(2).contains("--agents"));
    assert_eq!(server.request_count(), 2);
}

#[test]
fn the_object_is_the_result_that_clients_read() {
    let dirs = TestDirs::new();
    let other = TestDirs::new();
    let script = || Script::new().answer(ScriptedAnswer::text("Fine."));
    let server = play(script());
    let finished = run(&mut dirs.asking(&server.url(), &["-p", "hi", "--output-format", "json"]));
    let alone = object(&finished);
    let server = play(script());
    let arguments = ["-p", "hi", "--output-format", "stream-json"];
    let finished = run(&mut other.asking(&server.url(), &arguments));
    let framed: Value =
        serde_json::from_str(finished.answer().lines().last().expect("a result")).expect("JSON");
    let keys = |value: &Value| -> Vec<String> {
        value.as_object().expect("an object").keys().cloned().collect()
    };
    assert_eq!(keys(&alone), keys(&framed));
    for key in ["modelUsage", "usage", "result", "stop_reason", "permission_denials", "uuid"] {
        assert!(alone.get(key).is_some(), "{key}: {alone}");
    }
}

#[test]
fn what_models_used_counts_nested_sessions_and_sums_to_the_total() {
    let dirs = TestDirs::new();
    let agents = r#"{"scout":{"description":"Looks","prompt":"Look.","model":"sonnet"}}"#;
    let call = json!({ "description": "a", "prompt": "look there", "subagent_type": "scout" });
    let script = Script::new()
        .answer(ScriptedAnswer::call("Agent", call).when("send somebody"))
        .answer(ScriptedAnswer::text("Nothing there.").when("look there"))
        .answer(ScriptedAnswer::text("Over.").repeat(0));
    let server = play(script);
    let arguments = ["-p", "send somebody", "--agents", agents, "--output-format", "json"];
    let mut command = dirs.asking(&server.url(), &arguments);
    let result = object(&run(command.args(["--allowedTools", "Agent", "--model", "opus"])));
    let used = result["modelUsage"].as_object().expect("an object");
    let names: Vec<&str> = used.keys().map(String::as_str).collect();
    assert!(
        names.len() == 2 && names[0].contains("opus") && names[1].contains("sonnet"),
        "{result}"
    );
    for one in used.values() {
        assert!(one["contextWindow"].as_u64().is_some_and(|window| window > 0), "{result}");
        assert!(one["maxOutputTokens"].as_u64().is_some_and(|most| most > 0), "{result}");
    }
    let sum: f64 = used.values().map(|one| one["costUSD"].as_f64().expect("a cost")).sum();
    let total = result["total_cost_usd"].as_f64().expect("a total");
    assert!(total > 0.0 && (sum - total).abs() < 1e-9, "{result}");
}
