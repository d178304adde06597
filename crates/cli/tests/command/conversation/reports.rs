//! What commands print: money, time, reasons; apart from what stands above; and copies of it elsewhere.

use serde_json::json;
use windlass_rehearsal::{Script, ScriptedAnswer};
use windlass_vocabulary::{Tokens, Usage};

use super::talk::{READY, Talk};
use crate::fixture::{TestDirs, play};

/// An answer that costs two cents and a half.
fn answer(text: &str) -> ScriptedAnswer {
    ScriptedAnswer::text(text).usage(Usage { input: Tokens(12_000), ..Usage::default() })
}

fn dollars(screen: &str) -> String {
    let line = screen.lines().last().unwrap_or_default();
    line.split(" · ").find(|part| part.starts_with('$')).unwrap_or_default().to_owned()
}

/// A rewind forgets what was said, not what was paid; and neither does resuming.
#[test]
fn what_was_paid_stays_paid() {
    let dirs = TestDirs::new();
    let todo = json!({"content": "dig", "status": "in_progress", "activeForm": "digging"});
    let script = Script::new()
        .answer(answer("First answer.").when("say one"))
        .answer(answer("Tasks.").tool("TodoWrite", json!({"todos": [todo]})).when("say two"))
        .answer(answer("Second answer.").when_result(""))
        .answer(answer("Third answer.").repeat(0));
    let server = play(script);
    let mut talk = Talk::sized(dirs.asking::<&str>(&server.url(), &[]), 40, 100);
    talk.until(READY);
    for (words, answer) in [("say one", "First answer."), ("say two", "Second answer.")] {
        talk.key(&format!("{words}\r"));
        talk.until(answer);
        talk.until(READY);
    }
    let before = dollars(&talk.until("▸ dig"));
    talk.key("/rewind 2 conversation\r");
    talk.until("Conversation rewound to before prompt 2");
    // The task list is the one of then.
    talk.until_gone("▸ dig\n─");
    let after = talk.until("> say two");
    assert_eq!(dollars(&after), before);
    talk.key("\u{15}say three\r");
    talk.until("Third answer.");
    talk.until(READY);
    talk.key("/cost\r");
    let shown = talk.until("each request");
    let total = shown.lines().find(|line| line.starts_with("all ")).expect("a row");
    let total = total.split_whitespace().last().expect("a cost").to_owned();
    assert!(total > before, "{total}, {before}:\n{shown}");
    assert_eq!(dollars(&shown), total, "{shown}");
    assert_eq!(total.len(), "$0.10".len(), "in cents: {total}");
    assert_eq!(talk.end(), Some(0));
    let talk = Talk::sized(dirs.asking(&server.url(), &["-c"]), 40, 100);
    let shown = talk.until(READY);
    assert_eq!(dollars(&shown), total, "{shown}");
    assert_eq!(talk.end(), Some(0));
}

/// Commands stand above what they print, and a blank line between one thing and the next.
#[test]
fn what_a_command_prints_stands_apart() {
    let dirs = TestDirs::new();
    let server = play(Script::new().answer(ScriptedAnswer::text("An answer.").repeat(0)));
    let mut talk = Talk::sized(dirs.asking(&server.url(), &["hello"]), 60, 100);
    talk.until("An answer.");
    talk.until(READY);
    talk.key("/cost\r");
    talk.until("all ");
    talk.key("/exprot\r");
    talk.until("did you mean /export?");
    talk.key("/copy\r");
    talk.until("Copied the last answer");
    talk.key("thanks\r");
    let shown = talk.when("two answers", |screen| {
        let shown = screen.contents();
        shown.matches("An answer.").count() == 2 && shown.contains(READY)
    });
    for block in [
        "\n\n> /cost\n\nmodel ",
        "\n\n> /exprot\n\n✗ Unknown command",
        "\n\n> /copy\n\n  · Copied",
        ")\n\n> thanks\n\n● An",
    ] {
        assert!(shown.contains(block), "{block:?}:\n{shown}");
    }
    assert_eq!(talk.end(), Some(0));
}

#[test]
fn why_speaks_of_minutes_and_cents() {
    let dirs = TestDirs::new();
    let server = play(Script::new().answer(answer("An answer.").repeat(0)));
    let mut talk = Talk::sized(dirs.asking(&server.url(), &["hello"]), 40, 100);
    talk.until("An answer.");
    talk.until(READY);
    talk.key("/compact\r");
    talk.until("Not compacted; there may be too little");
    talk.key("/why\r");
    let shown = talk.until("You asked to compact the conversation, but there was too little");
    assert!(shown.contains("run 1, turn 1 · just now · stopped (completed)"), "{shown}");
    assert!(shown.contains("The model had nothing more to do. $0.03 so far."), "{shown}");
    assert!(!shown.contains("Z ·"), "no machine's time: {shown}");
    assert_eq!(talk.end(), Some(0));
}

#[test]
fn a_conversation_is_exported_and_an_answer_copied() {
    let dirs = TestDirs::new();
    let server = play(Script::new().answer(ScriptedAnswer::text("Plant **trees**.").repeat(0)));
    let mut talk = Talk::sized(dirs.asking::<&str>(&server.url(), &[]), 24, 100);
    talk.until(READY);
    talk.key("/copy\r");
    talk.until("No answer to copy yet");
    talk.key("what now?\r");
    talk.until("Plant trees.");
    talk.until(READY);
    talk.key("/copy\r");
    talk.until("Copied the last answer (1 line)");
    // "Plant **trees**." as base64.
    talk.until_sent("\u{1b}]52;c;UGxhbnQgKip0cmVlcyoqLg==\u{7}");
    talk.key("/export talk.md\r");
    talk.until("Conversation written to talk.md");
    let text = std::fs::read_to_string(dirs.file("talk.md")).expect("a file");
    assert!(text.contains("what now?") && text.contains("Plant **trees**."), "{text}");
    talk.key("/export no/such/folder.md\r");
    talk.until("cannot be written");
    assert_eq!(talk.end(), Some(0));
}

/// Ten choices have ten keys.
#[test]
fn the_tenth_choice_has_a_key() {
    let dirs = TestDirs::new();
    let command = "git add x && git commit -m y && npm publish";
    let script = Script::new()
        .answer(ScriptedAnswer::call("Bash", json!({"command": command})))
        .answer(ScriptedAnswer::text("Over.").repeat(0));
    let server = play(script);
    let mut talk = Talk::sized(dirs.asking(&server.url(), &["go"]), 40, 100);
    let shown = talk.until(super::talk::ASKED);
    assert!(shown.contains("  0. Yes, and add a comment"), "{shown}");
    talk.key("0");
    talk.until("Comment:");
    talk.key("\u{1b}");
    talk.until(super::talk::ASKED);
    talk.key("n");
    talk.until("Over.");
    assert_eq!(talk.end(), Some(0));
}
