//! The worst case, as the command tells it.

use serde_json::{Value, json};
use windlass_driver::engine_settings::{Limits, Settings, bound};
use windlass_rehearsal::{Script, ScriptedAnswer};
use windlass_vocabulary::{ModelFacts, Prices, Tokens};

use crate::fixture::{TestDirs, play, run};

fn run_bound(arguments: &[&str]) -> Value {
    let mut all = vec!["bound", "--json"];
    all.extend_from_slice(arguments);
    let finished = run(&mut TestDirs::new().windlass(&all));
    serde_json::from_str(finished.answer()).expect("one object")
}

#[test]
fn the_numbers_are_the_engines_own() {
    let facts = ModelFacts {
        name: "anything".into(),
        window: Tokens(200_000),
        output_default: Tokens(8_000),
        output_max: Tokens(32_000),
        prices: Prices::default(),
    };
    let mut settings = Settings::new(facts.clone());
    settings.fallbacks.push(facts);
    settings.limits = Limits { turns_max: 7, retries_max: 2, ..settings.limits };
    let worst = bound(&settings);
    let told = run_bound(&[
        "--model",
        "a",
        "--fallback-model",
        "b",
        "--max-turns",
        "7",
        "--max-retries",
        "2",
    ]);
    assert_eq!(told["calls_between_inputs"], worst.calls_between_inputs);
    assert_eq!(told["calls_between_turns"], worst.calls_between_turns);
    assert_eq!(told["billed_calls_between_inputs"], worst.billed_calls_between_inputs);
    assert_eq!(told["turns"], 7);
    assert_eq!(told["money_usd"], Value::Null, "no price, no limit");
}

#[test]
fn a_money_limit_is_the_most_that_is_spent() {
    let limited = run_bound(&["--max-budget-usd", "0.25"]);
    assert_eq!(limited["money_usd"], 0.25);
    assert_eq!(limited["settings"]["model"], "claude-sonnet-5-5");
    assert!(run_bound(&[])["money_usd"].as_f64().expect("a price") > 1.0);
}

#[test]
fn no_price_is_not_a_price_of_nothing() {
    assert_eq!(run_bound(&["--model", "ollama/anything"])["money_usd"], 0.0);
    assert_eq!(run_bound(&["--fallback-model", "openai/unheard-of"])["money_usd"], Value::Null);
    let given = run_bound(&["--fallback-model", "openai/unheard-of", "--price", "1,2"]);
    assert!(given["money_usd"].as_f64().is_some_and(|money| money > 1.0), "{given}");
}

#[test]
fn fewer_turns_and_tries_mean_fewer_calls() {
    let calls =
        |arguments: &[&str]| run_bound(arguments)["calls_between_inputs"].as_u64().expect("calls");
    let usual = calls(&[]);
    let short = calls(&["--max-turns", "10"]);
    let brave = calls(&["--max-turns", "10", "--max-retries", "0"]);
    assert!(usual > short && short > brave && brave > 10, "{usual} {short} {brave}");
}

#[test]
fn it_is_said_in_plain_words() {
    let dirs = TestDirs::new();
    let finished =
        run(&mut dirs.windlass(&["bound", "--max-turns", "20", "--max-budget-usd", "1"]));
    let text = finished.answer();
    for words in [
        "model calls",
        "in one tool turn",
        "tool turns            20",
        "never more than       $1.00, the limit you set",
        "a typical task costs  about $0.",
    ] {
        assert!(text.contains(words), "`{words}` is missing in:\n{text}");
    }
}

/// Failed attempts are not billed, and the number stands beside what a task usually costs.
#[test]
fn without_a_limit_the_numbers_are_honest() {
    let told = run_bound(&[]);
    let billed = told["billed_calls_between_inputs"].as_u64().expect("calls");
    assert!(billed < told["calls_between_inputs"].as_u64().expect("calls") / 2, "{told}");
    let money = told["money_usd"].as_f64().expect("a price");
    let usual = told["usual_task_usd"].as_f64().expect("a price");
    assert!(usual > 0.01 && usual < 5.0 && usual < money / 100.0, "{told}");
    // Retries fail; what they would cost is nothing.
    let brave = run_bound(&["--max-retries", "0"]);
    assert_eq!(brave["money_usd"], told["money_usd"]);
    let text = run(&mut TestDirs::new().windlass(&["bound"]));
    let text = text.answer();
    for words in ["the worst case", "No limit on money is set. --max-budget-usd"] {
        assert!(text.contains(words), "`{words}` is missing in:\n{text}");
    }
    assert!(!text.contains("268,383"), "{text}");
}

/// The same call with the same result, for ever: it ends by itself, and nobody takes that for success.
#[test]
fn going_in_circles_is_a_failure() {
    let dirs = TestDirs::new();
    let call = || ScriptedAnswer::call("Bash", json!({ "command": "cat notes.txt" })).repeat(0);
    let server = play(Script::new().answer(call()));
    let finished = run(&mut dirs.asking(&server.url(), &["-p", "go"]));
    assert!(finished.error_line(1).contains("guard against circles ended the run"), "{finished:?}");
    assert!(server.requests().len() < 10, "{}", server.requests().len());
    let server = play(Script::new().answer(call()));
    let arguments = ["-p", "go", "--output-format", "json"];
    let finished = run(&mut dirs.asking(&server.url(), &arguments));
    let result: Value = serde_json::from_str(&finished.stdout).expect("one object");
    assert_eq!(finished.code, Some(1), "{result}");
    assert_eq!(result["is_error"], true, "{result}");
    assert_eq!(result["subtype"], "error_during_execution", "{result}");
    assert_eq!(result["terminal_reason"], "hook_stopped", "{result}");
    assert_eq!(result["outcome"], "circled", "{result}");
}

/// What people do on purpose: the flag and the setting let the same turns come again.
#[test]
fn the_guard_against_circles_can_be_switched_off() {
    let off = r#"{"circleGuard": false}"#;
    for flags in [&["--no-circle-guard"][..], &["--settings", off]] {
        let dirs = TestDirs::new();
        let call = ScriptedAnswer::call("Bash", json!({ "command": "cat notes.txt" })).repeat(7);
        let server = play(Script::new().answer(call).answer(ScriptedAnswer::text("Enough.")));
        let finished = run(dirs.asking(&server.url(), &["-p", "go"]).args(flags));
        assert_eq!(finished.answer(), "Enough.\n", "{flags:?}");
        assert_eq!(server.requests().len(), 8, "{flags:?}");
    }
}

/// Five equal calls in one answer are one step, and asking again after a pause is waiting.
#[test]
fn what_only_looks_like_a_circle_goes_on() {
    let bash = |command: &str| ScriptedAnswer::call("Bash", json!({ "command": command }));
    let cat = || json!({ "command": "cat notes.txt" });
    let equal = (0..4).fold(bash("cat notes.txt"), |answer, _| answer.tool("Bash", cat()));
    let polling = (0..6).fold(Script::new(), |script, _| {
        script.answer(bash("cat notes.txt")).answer(bash("sleep 1.1"))
    });
    for script in [Script::new().answer(equal), polling] {
        let dirs = TestDirs::new();
        std::fs::write(dirs.file("notes.txt"), "building\n").expect("a file");
        let server = play(script.answer(ScriptedAnswer::text("Fine.")));
        let arguments = ["-p", "go", "--dangerously-skip-permissions"];
        let finished = run(&mut dirs.asking(&server.url(), &arguments));
        assert_eq!(finished.answer(), "Fine.\n");
    }
}

/// Wrong objects have a limit of their own, whatever the guard against circles thinks of them.
#[test]
fn objects_that_never_fit_end_at_their_own_limit() {
    let dirs = TestDirs::new();
    let wrong = ScriptedAnswer::call("StructuredOutput", json!({ "count": "three" })).repeat(0);
    let server = play(Script::new().answer(wrong));
    let schema =
        r#"{"type":"object","properties":{"count":{"type":"integer"}},"required":["count"]}"#;
    let arguments = ["-p", "go", "--output-format", "json", "--json-schema", schema];
    let mut command = dirs.asking(&server.url(), &arguments);
    let finished = run(command.env("MAX_STRUCTURED_OUTPUT_RETRIES", "8"));
    let result: Value = serde_json::from_str(&finished.stdout).expect("one object");
    assert_eq!(result["subtype"], "error_max_structured_output_retries", "{result}");
    assert_eq!(result["terminal_reason"], "structured_output_retry_exhausted", "{result}");
    // The request after the last try may already be out.
    assert!(matches!(server.requests().len(), 9 | 10), "{result}");
}
