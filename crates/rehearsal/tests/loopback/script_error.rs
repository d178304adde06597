//! Mistakes in scripts: where, what, and what would be right.

use std::time::Duration;

use serde_json::json;
use windlass_rehearsal::{Script, ScriptedAnswer, ScriptedFault, StopReason};
use windlass_vocabulary::{RequestSource, Tokens, Usage};

#[test]
fn every_mistake_has_its_place_and_its_remedy() {
    let cases: Vec<_> = include_str!("mistakes.txt").split("----\n").skip(1).collect();
    assert!(cases.len() > 30);
    for case in cases {
        let (text, wanted) = case.split_once("=> ").expect("a script and its error");
        let error = Script::parse(text).expect_err(text);
        assert_eq!(error.to_string(), wanted.trim_end(), "in:\n{text}");
    }
}

#[test]
fn what_is_not_toml_has_its_place_too() {
    for (text, place) in [
        ("[[answer]]\ntext = \"open", "line 2, "),
        ("[[answer]]\ntext = \"a\"\ntext = \"b\"", "line 3, column 1: not TOML: "),
        ("x = = 1", "line 1, column "),
    ] {
        let error = Script::parse(text).expect_err(text).to_string();
        assert!(error.starts_with(place) && error.contains("not TOML: "), "{error}");
        assert!(!error.contains('\n') && error.contains("; "), "{error}");
    }
}

#[test]
fn any_text_is_read_or_refused_and_never_a_panic() {
    let sound = r#"[[answer]]
text = "é"
tool = [{ name = "B", input = { a = [1, 2.5, true, 1979-05-27] } }]
fault = { error_event = "x", after_event = 4 }
"#;
    Script::parse(sound).expect("a sound script");
    for (at, _) in sound.char_indices() {
        for slip in ["", "]", "\"", "=", "\n", "0", "{"] {
            let text = format!("{}{slip}{}", &sound[..at], &sound[at..]);
            // Either is right; what matters is that it returns, and in one line.
            if let Err(error) = Script::parse(&text) {
                assert_eq!(error.to_string().lines().count(), 1);
            }
        }
        let _ = Script::parse(&sound[..at]);
    }
}

#[test]
fn a_script_in_toml_is_the_script_in_rust() {
    let read = Script::parse(
        r#"
        model = "rehearsal"
        lenient = true
        [[answer]]
        when = "fix"
        when_result = "r"
        when_model = "m"
        when_tool = "t"
        when_source = "compaction"
        text = "I will run the tests."
        thinking = "Hm."
        tool = [
            { name = "Bash", input = { command = "cargo test", n = 0x1F, list = [1, 2.5] } },
            { name = "Odd", input_text = "{\"a", id = "same" },
        ]
        text_after = "Wait."
        stop = "max_tokens"
        usage = { input = 10, output = 5, cache_read = 2 }
        chunk = 12
        pace_ms = 7
        repeat = 0
        fault = { stall_after_event = 3, ping_ms = 5 }
        [[answer]]
        raw = "data: x\n\n"
        fault = { cut_after_byte = 3, reset = true }
        "#,
    );
    let usage =
        Usage { input: Tokens(10), output: Tokens(5), cache_read: Tokens(2), ..Usage::default() };
    let ping = Some(Duration::from_millis(5));
    let built = Script::new()
        .model("rehearsal")
        .lenient()
        .answer(
            ScriptedAnswer::text("I will run the tests.")
                .thinking("Hm.")
                .tool("Bash", json!({"command": "cargo test", "n": 31, "list": [1, 2.5]}))
                .tool_text("Odd", "{\"a")
                .text_after("Wait.")
                .when("fix")
                .when_result("r")
                .when_model("m")
                .when_tool("t")
                .when_source(RequestSource::Compaction)
                .stop(StopReason::MaxTokens)
                .usage(usage)
                .chunk(12)
                .pace(Duration::from_millis(7))
                .repeat(0)
                .fault(ScriptedFault::StallAfterEvent { events: 3, ping }),
        )
        .answer(
            ScriptedAnswer::raw("data: x\n\n")
                .fault(ScriptedFault::CutAfterByte { bytes: 3, reset: true }),
        );
    // The builder has no word for an id on invalid arguments.
    let read = format!("{:?}", read.expect("a sound script")).replace("Some(\"same\")", "None");
    assert_eq!(read, format!("{built:?}"));
}

#[test]
fn every_fault_can_be_written() {
    let table = [
        ("{ status = 503 }", ScriptedFault::refuse(503)),
        ("{ status = 429, headers = { retry-after = \"2\" } }", ScriptedFault::refuse_for(429, 2)),
        ("{ status = 400, body = \"no\" }", ScriptedFault::refuse_with(400, "no")),
        ("{ cut_after_event = 5 }", ScriptedFault::cut_after_event(5)),
        ("{ cut_after_byte = 300 }", ScriptedFault::cut_after_byte(300)),
        ("{ stall_after_event = 3 }", ScriptedFault::stall_after_event(3)),
        ("{ malformed_at_event = 2 }", ScriptedFault::MalformedAtEvent { event: 2 }),
        (
            "{ error_event = \"overloaded_error\", after_event = 4 }",
            ScriptedFault::error_event("overloaded_error", 4),
        ),
        ("{ drop_connection = true }", ScriptedFault::DropConnection { reset: false }),
        ("{ drop_connection = true, reset = true }", ScriptedFault::DropConnection { reset: true }),
        ("{ slow_ms_per_byte = 10 }", ScriptedFault::Slow { per_byte: Duration::from_millis(10) }),
        ("{ html = true }", ScriptedFault::Html { status: 200 }),
        ("{ html = true, status = 502 }", ScriptedFault::Html { status: 502 }),
        ("{ gzip_broken = true }", ScriptedFault::BrokenGzip),
    ];
    for (text, fault) in table {
        let silent = ["status", "drop", "html", "gzip"].iter().any(|kind| text.contains(kind));
        let words = if silent { "" } else { "text = \"\"\n" };
        let script = Script::parse(&format!("[[answer]]\n{words}fault = {text}")).expect(text);
        assert_eq!(script.answers(), [ScriptedAnswer::from_fault(fault)], "{text}");
    }
}
