//! What is seen of the work: calls that unfold, their output while it comes, tasks, agents, quiet
//! lines.

use std::time::Duration;

use serde_json::json;
use windlass_rehearsal::{Answer, Fault, Script};

use super::talk::{READY, Talk};
use crate::stage::{World, play};

#[test]
fn a_call_is_a_line_that_unfolds() {
    let world = World::new();
    let script = Script::new()
        .answer(
            Answer::text("Look.")
                .thinking("I wonder\nwhat is there")
                .tool("Bash", json!({"command": "seq 100 160; exit 3"})),
        )
        .answer(Answer::text("It failed.").repeat(0));
    let server = play(script);
    let flags = ["--allowedTools", "Bash(seq:*),Bash(exit:*)", "--", "count"];
    let mut talk = Talk::begin(world.asking(&server.url(), &flags));
    talk.until("It failed.");
    let shown = talk.until(READY);
    assert!(shown.contains("✗ Bash(seq 100 160; exit 3)  exit 3"), "{shown}");
    assert!(shown.contains("lines before; Ctrl-O shows them"), "{shown}");
    assert!(!shown.contains("\n  120"), "{shown}");
    assert!(shown.contains("∴ I wonder what is there"), "{shown}");
    talk.key("\u{f}");
    talk.until("Esc goes back");
    talk.key("\u{1b}[5~");
    talk.until("  120");
    talk.key("g");
    talk.until("> count");
    talk.until("∴ thought");
    // Back where we were, nothing lost.
    talk.key("\u{1b}");
    let shown = talk.until(READY);
    assert!(shown.contains("It failed.") && !shown.contains("  120"), "{shown}");
    assert_eq!(talk.end(), Some(0));
}

#[test]
fn output_is_shown_while_it_comes_and_tasks_while_they_are_open() {
    let world = World::new();
    let todo = |content: &str, status: &str| json!({"content": content, "status": status, "activeForm": content});
    let todos = [todo("dig", "completed"), todo("plant", "in_progress"), todo("water", "pending")];
    let command = "while [ ! -e go ]; do echo sprouting; sleep 0.05; done";
    let script = Script::new()
        .answer(Answer::call("TodoWrite", json!({"todos": todos})))
        .answer(Answer::call("Bash", json!({"command": command})))
        .answer(Answer::text("Grown.").repeat(0));
    let server = play(script);
    let flags = ["--dangerously-skip-permissions", "--", "grow"];
    let talk = Talk::begin(world.asking(&server.url(), &flags));
    let shown = talk.until("│ sprouting");
    for words in ["✔ dig", "▸ plant", "☐ water"] {
        assert!(shown.contains(words), "{words}:\n{shown}");
    }
    std::fs::write(world.file("go"), "").expect("a file");
    talk.until("Grown.");
    assert_eq!(talk.end(), Some(0));
}

#[test]
fn agents_are_a_tree_with_what_they_do() {
    let world = World::new();
    let wait = "while [ ! -e go ]; do sleep 0.05; done";
    let script = Script::new()
        .answer(Answer::call(
            "Agent",
            json!({"description": "look", "prompt": "search the garden", "subagent_type": "general-purpose"}),
        ).when("begin"))
        .answer(Answer::call("Bash", json!({"command": wait})).when("search the garden"))
        .answer(Answer::text("found it").repeat(0));
    let server = play(script);
    let flags = ["--dangerously-skip-permissions", "--", "begin"];
    let talk = Talk::sized(world.asking(&server.url(), &flags), 24, 100);
    let shown = talk.until("└ ");
    let shown = if shown.contains("Bash(while") { shown } else { talk.until("Bash(while") };
    assert!(shown.contains("Agent("), "{shown}");
    std::fs::write(world.file("go"), "").expect("a file");
    talk.until("found it");
    talk.until(READY);
    assert!(talk.scrolled().contains("done · 1 calls"), "{}", talk.scrolled());
    assert_eq!(talk.end(), Some(0));
}

/// An answer longer than the screen goes up while it comes, and nothing of it is shown twice.
#[test]
fn a_long_answer_can_be_read_while_it_comes() {
    let world = World::new();
    let paragraphs: Vec<String> =
        (0..120).map(|number| format!("This is part number {number} of it.\n\n")).collect();
    let text = format!("{}- one\n- two\n\n  more\n\nThe end.", paragraphs.concat());
    let answer = Answer::text(text).pace(Duration::from_millis(5));
    let server = play(Script::new().answer(answer.repeat(0)));
    let talk = Talk::begin(world.asking(&server.url(), &["go on"]));
    talk.until("part number 60 ");
    assert!(talk.scrolled().contains("part number 3 "), "{}", talk.scrolled());
    talk.until("The end.");
    talk.until(READY);
    let shown = talk.scrolled();
    for number in 0..120 {
        let words = format!("part number {number} of it.");
        assert_eq!(shown.matches(&words).count(), 1, "{words}\n{shown}");
    }
    assert_eq!(talk.end(), Some(0));
}

#[test]
fn what_went_wrong_on_the_way_is_a_quiet_line() {
    let world = World::new();
    let script = Script::new()
        .answer(Answer::failing(Fault::refuse(529)))
        .answer(Answer::text("There you are.").repeat(0));
    let server = play(script);
    let talk = Talk::begin(world.asking(&server.url(), &["go"]));
    talk.until("There you are.");
    talk.until(READY);
    let shown = talk.scrolled().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("· ") && shown.contains("try 1 of"), "{shown}");
    assert_eq!(talk.end(), Some(0));
    let script = Script::new()
        .answer(Answer::failing(Fault::refuse(404)).when_model("first"))
        .answer(Answer::text("fine").when_model("second"));
    let server = play(script);
    let flags = ["--model", "first", "--fallback-model", "second", "--", "go"];
    let talk = Talk::begin(world.asking(&server.url(), &flags));
    talk.until("fine");
    let shown = talk.until(READY);
    assert!(shown.contains("first → second"), "{shown}");
    assert_eq!(talk.end(), Some(0));
}
