//! Which answer a request gets.

use serde_json::json;
use windlass_rehearsal::{Rehearsal, Script, ScriptedAnswer};
use windlass_vocabulary::RequestSource;

use crate::client::{Client, play, prompt, prompt_with_result};

fn said(rehearsal: &Rehearsal, body: &serde_json::Value) -> String {
    Client::connect(rehearsal.address()).ask(body).said()
}

fn with_tool(mut body: serde_json::Value, name: &str) -> serde_json::Value {
    body["tools"] = json!([{ "name": name, "input_schema": { "type": "object" } }]);
    body
}

#[test]
fn answers_are_used_in_order_and_each_as_often_as_it_says() {
    let rehearsal = play(
        Script::new()
            .answer(ScriptedAnswer::text("once"))
            .answer(ScriptedAnswer::text("twice").repeat(2))
            .answer(ScriptedAnswer::text("ever").repeat(0)),
    );
    let answers: Vec<_> = (0..6).map(|_| said(&rehearsal, &prompt("hello"))).collect();
    assert_eq!(answers, ["once", "twice", "twice", "ever", "ever", "ever"]);
    assert!(rehearsal.answers_left().is_empty());
}

#[test]
fn the_first_that_fits_is_taken_and_the_others_stay() {
    let rehearsal = play(
        Script::new()
            .answer(ScriptedAnswer::text("to blue").when("blue"))
            .answer(ScriptedAnswer::text("to red").when("red"))
            .answer(ScriptedAnswer::text("to red again").when("red"))
            .answer(ScriptedAnswer::text("to anything")),
    );
    let answers: Vec<_> = ["red", "red", "red", "blue"]
        .iter()
        .map(|colour| said(&rehearsal, &prompt(&format!("make it {colour}, please"))))
        .collect();
    assert_eq!(answers, ["to red", "to red again", "to anything", "to blue"]);
}

#[test]
fn conditions_look_where_they_say() {
    let table = [
        // Condition, request, does it hold?
        (ScriptedAnswer::text("y").when("list"), prompt_with_result("a list", "go on"), true),
        (ScriptedAnswer::text("y").when("go on"), prompt_with_result("a list", "go on"), true),
        // Said before the last answer.
        (ScriptedAnswer::text("y").when("begin"), prompt_with_result("a list", "go on"), false),
        (
            ScriptedAnswer::text("y").when_result("list"),
            prompt_with_result("a list", "go on"),
            true,
        ),
        (
            ScriptedAnswer::text("y").when_result("go on"),
            prompt_with_result("a list", "go on"),
            false,
        ),
        (ScriptedAnswer::text("y").when_result("list"), prompt("a list"), false),
        // An empty text fits every result, and no prompt.
        (ScriptedAnswer::text("y").when_result(""), prompt_with_result("a list", "go on"), true),
        (ScriptedAnswer::text("y").when_result(""), prompt("a list"), false),
        (ScriptedAnswer::text("y").when_tool("Read"), with_tool(prompt("hello"), "Read"), true),
        (ScriptedAnswer::text("y").when_tool("Read"), with_tool(prompt("hello"), "ReadAll"), false),
        (ScriptedAnswer::text("y").when_tool("Read"), prompt("hello"), false),
        (ScriptedAnswer::text("y").when_model("some"), prompt("hello"), true),
        (ScriptedAnswer::text("y").when_model("other"), prompt("hello"), false),
        // All conditions must hold.
        (ScriptedAnswer::text("y").when("hello").when_model("other"), prompt("hello"), false),
    ];
    for (answer, body, holds) in table {
        let rehearsal =
            play(Script::new().answer(answer.clone()).answer(ScriptedAnswer::text("n")));
        let text = said(&rehearsal, &body);
        assert_eq!(text, if holds { "y" } else { "n" }, "{answer:?}");
    }
}

#[test]
fn the_source_is_read_from_its_header() {
    let answers = || {
        Script::new()
            .answer(ScriptedAnswer::text("summary").when_source(RequestSource::Compaction))
            .answer(ScriptedAnswer::text("label").when_source(RequestSource::ToolLabel))
            .answer(ScriptedAnswer::text("main"))
    };
    for (header, wanted) in
        [("compaction", "summary"), ("tool_label", "label"), ("main", "main"), ("x", "main")]
    {
        let rehearsal = play(answers());
        let mut client = Client::connect(rehearsal.address());
        let body = prompt("hello").to_string();
        let seen = client.post("/v1/messages", &[("X-Windlass-Source", header)], &body);
        assert_eq!(seen.said(), wanted, "source {header}");
    }
}

#[test]
fn with_no_answer_left_the_error_names_what_was_asked_and_what_is_left() {
    let rehearsal = play(
        Script::new()
            .answer(ScriptedAnswer::text("all done").when("finish"))
            .answer(ScriptedAnswer::call("Bash", json!({})).when_result("ok")),
    );
    let seen = Client::connect(rehearsal.address()).ask(&prompt("start it"));
    assert_eq!(seen.status, Some(400));
    assert_eq!(seen.header("x-should-retry"), Some("false"));
    let error = &seen.json()["error"];
    assert_eq!(error["type"], "invalid_request_error");
    assert_eq!(
        error["message"],
        "rehearsal: no answer left for model \"some-model\", said last: \"start it\"; answers \
         left: answer 1 when \"finish\" says \"all done\"; answer 2 when_result \"ok\" calls Bash"
    );
    // The refused request used nothing up.
    assert_eq!(said(&rehearsal, &prompt("finish")), "all done");
    assert_eq!(rehearsal.answers_left().len(), 1);
}

#[test]
fn a_request_that_cannot_be_read_uses_nothing_up() {
    let rehearsal = play(Script::new().answer(ScriptedAnswer::text("hi")));
    let mut client = Client::connect(rehearsal.address());
    for body in ["", "{", "[]", "{\"model\":\"m\",\"max_tokens\":1}"] {
        let seen = client.post("/v1/messages", &[], body);
        assert_eq!(seen.status, Some(400), "{body}");
        assert!(seen.text().contains("rehearsal: "), "{body}");
    }
    assert_eq!(client.ask(&prompt("hello")).said(), "hi");
}

#[test]
fn marks_are_filled_in_texts_conditions_and_inputs() {
    let script = Script::parse(
        r#"
        [[answer]]
        when = "in {{project}}"
        text = "Reading {{project}}."
        tool = [{ name = "Read", input = { file_path = "{{project}}/a" } }]
        "#,
    )
    .expect("a sound script")
    .fill("project", "/tmp/a \"b\"\\c");
    let rehearsal = play(script);
    let mut body = prompt("look in /tmp/a \"b\"\\c");
    body["stream"] = json!(false);
    let answer = Client::connect(rehearsal.address()).ask(&body).json();
    assert_eq!(answer["content"][0]["text"], "Reading /tmp/a \"b\"\\c.");
    assert_eq!(answer["content"][1]["input"]["file_path"], "/tmp/a \"b\"\\c/a");
}

#[test]
fn the_rest_of_the_line_goes_into_the_answer() {
    let script = Script::parse(
        r#"
        [[answer]]
        when = "Run: "
        text = "Running {{rest}} ({{word}})."
        tool = [{ name = "Bash", input = { command = "{{rest}}" } }]
        "#,
    );
    let rehearsal = play(script.expect("a sound script"));
    let mut body = prompt("Please.\nRun: echo \"a\" \nThanks.");
    body["stream"] = json!(false);
    let answer = Client::connect(rehearsal.address()).ask(&body).json();
    assert_eq!(answer["content"][0]["text"], "Running echo \"a\" (echo).");
    assert_eq!(answer["content"][1]["input"]["command"], "echo \"a\"");
}
