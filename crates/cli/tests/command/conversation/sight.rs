//! What is seen of the work: calls that unfold, their output while it comes, tasks, agents, quiet
//! lines.

use std::time::Duration;

use serde_json::json;
use windlass_rehearsal::{Script, ScriptedAnswer};

use super::talk::{READY, Talk};
use crate::fixture::{TestDirs, play};

#[test]
fn a_call_is_a_line_that_unfolds() {
    let dirs = TestDirs::new();
    let script = Script::new()
        .answer(
            ScriptedAnswer::text("Look.")
                .thinking("I wonder\nwhat is there")
                .tool("Bash", json!({"command": "seq 100 160; exit 3"})),
        )
        .answer(ScriptedAnswer::text("It failed.").repeat(0));
    let server = play(script);
    let flags = ["--allowedTools", "Bash(seq:*),Bash(exit:*)", "--", "count"];
    let mut talk = Talk::begin(dirs.asking(&server.url(), &flags));
    talk.until("It failed.");
    let shown = talk.until(READY);
    assert!(shown.contains("✗ Bash(seq 100 160; exit 3)  exit 3"), "{shown}");
    assert!(shown.contains("above (Ctrl-O shows everything)"), "{shown}");
    assert!(!shown.contains("\n  120"), "{shown}");
    assert!(shown.contains("∴ I wonder what is there"), "{shown}");
    talk.key("\u{f}");
    talk.until("Esc to go back");
    talk.key("\u{1b}[5~");
    talk.until("  120");
    talk.key("g");
    talk.until("> count");
    talk.until("∴ Thought");
    // Back where we were, nothing lost.
    talk.key("\u{1b}");
    let shown = talk.until(READY);
    assert!(shown.contains("It failed.") && !shown.contains("  120"), "{shown}");
    assert_eq!(talk.end(), Some(0));
}

#[test]
fn output_is_shown_while_it_comes_and_tasks_while_they_are_open() {
    let dirs = TestDirs::new();
    let todo = |content: &str, status: &str| json!({"content": content, "status": status, "activeForm": content});
    let todos = [todo("dig", "completed"), todo("plant", "in_progress"), todo("water", "pending")];
    let command = "while [ ! -e go ]; do echo sprouting; sleep 0.05; done";
    let script = Script::new()
        .answer(ScriptedAnswer::call("TodoWrite", json!({"todos": todos})))
        .answer(ScriptedAnswer::call("Bash", json!({"command": command})))
        .answer(ScriptedAnswer::text("Grown.").repeat(0));
    let server = play(script);
    let flags = ["--dangerously-skip-permissions", "--", "grow"];
    let talk = Talk::begin(dirs.asking(&server.url(), &flags));
    let shown = talk.until("│ sprouting");
    for words in ["✔ dig", "▸ plant", "☐ water"] {
        assert!(shown.contains(words), "{words}:\n{shown}");
    }
    std::fs::write(dirs.file("go"), "").expect("a file");
    talk.until("Grown.");
    assert_eq!(talk.end(), Some(0));
}

#[test]
fn agents_are_a_tree_with_what_they_do() {
    let dirs = TestDirs::new();
    let wait = "while [ ! -e go ]; do sleep 0.05; done";
    let script = Script::new()
        .answer(ScriptedAnswer::call(
            "Agent",
            json!({"description": "look", "prompt": "search the garden", "subagent_type": "general-purpose"}),
        ).when("begin"))
        .answer(ScriptedAnswer::call("Bash", json!({"command": wait})).when("search the garden"))
        .answer(ScriptedAnswer::text("found it").repeat(0));
    let server = play(script);
    let flags = ["--dangerously-skip-permissions", "--", "begin"];
    let talk = Talk::sized(dirs.asking(&server.url(), &flags), 24, 100);
    let shown = talk.until("└ ");
    let shown = if shown.contains("Bash(while") { shown } else { talk.until("Bash(while") };
    assert!(shown.contains("Agent("), "{shown}");
    std::fs::write(dirs.file("go"), "").expect("a file");
    talk.until("found it");
    talk.until(READY);
    assert!(talk.scrolled().contains("done · 1 call"), "{}", talk.scrolled());
    assert_eq!(talk.end(), Some(0));
}

/// An answer longer than the screen goes up while it comes, and nothing of it is shown twice.
#[test]
fn a_long_answer_can_be_read_while_it_comes() {
    let dirs = TestDirs::new();
    let paragraphs: Vec<String> =
        (0..120).map(|number| format!("This is part number {number} of it.\n\n")).collect();
    let text = format!("{}- one\n- two\n\n  more\n\nThe end.", paragraphs.concat());
    let answer = ScriptedAnswer::text(text).pace(Duration::from_millis(5));
    let server = play(Script::new().answer(answer.repeat(0)));
    let talk = Talk::begin(dirs.asking(&server.url(), &["go on"]));
    // A busy machine may miss any one of them.
    talk.when("half of it", |screen| {
        let shown = screen.contents();
        let last = shown.rsplit("part number ").next().and_then(|rest| rest.split(' ').next());
        last.and_then(|number| number.parse::<u32>().ok()).is_some_and(|number| number >= 60)
    });
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

/// What is printed before a silence is shown in it, with the time that has passed.
#[test]
fn the_last_words_of_a_silent_command_are_shown() {
    let dirs = TestDirs::new();
    let command = "echo sprouting; while [ ! -e go ]; do sleep 0.05; done";
    let script = Script::new()
        .answer(ScriptedAnswer::call("Bash", json!({"command": command})))
        .answer(ScriptedAnswer::text("Grown.").repeat(0));
    let server = play(script);
    let flags = ["--dangerously-skip-permissions", "--", "grow"];
    let talk = Talk::sized(dirs.asking(&server.url(), &flags), 24, 100);
    talk.until("│ sprouting");
    talk.when("the time", |screen| {
        let shown = screen.contents();
        let line = shown.lines().find(|line| line.contains("Bash(echo")).unwrap_or_default();
        line.trim_end().ends_with(" s") && !line.trim_end().ends_with(" 0 s")
    });
    std::fs::write(dirs.file("go"), "").expect("a file");
    talk.until("Grown.");
    assert_eq!(talk.end(), Some(0));
}

/// A long output is a line and a tail; all of it is found on the page.
#[test]
fn a_long_output_is_found_by_searching() {
    let dirs = TestDirs::new();
    let script = Script::new()
        .answer(ScriptedAnswer::call("Bash", json!({"command": "seq 1 3000"})))
        .answer(ScriptedAnswer::text("Counted.").repeat(0));
    let server = play(script);
    let flags = ["--allowedTools", "Bash(seq:*)", "--", "count"];
    let mut talk = Talk::begin(dirs.asking(&server.url(), &flags));
    talk.until("Counted.");
    talk.until(READY);
    talk.key("\u{f}");
    talk.until("Esc to go back");
    talk.key("/> COUNT\r");
    talk.until("> count");
    talk.key("/quince\r");
    talk.until("no match for quince");
    // A letter of a search leaves nothing; one behind it does.
    talk.key("/1337\r");
    talk.until("  1337");
    talk.key("q");
    talk.until(READY);
    assert_eq!(talk.end(), Some(0));
}

/// Lists with gaps, and thoughts before a text longer than the screen: once, and in order.
#[test]
fn a_long_list_behind_a_thought_is_shown_once_and_in_order() {
    let dirs = TestDirs::new();
    let items: String = (1..=60).map(|number| format!("{number}. point {number}\n\n")).collect();
    let answer = ScriptedAnswer::text(format!("{items}The end.")).thinking("first I think");
    let answer = answer.pace(Duration::from_millis(1));
    let server = play(Script::new().answer(answer.repeat(0)));
    let talk = Talk::begin(dirs.asking(&server.url(), &["list"]));
    talk.until("The end.");
    talk.until(READY);
    let shown = talk.scrolled();
    let place = |words: &str| shown.find(words).unwrap_or_else(|| panic!("{words}:\n{shown}"));
    assert!(place("∴ first I think") < place("1. point 1\n"), "{shown}");
    for number in 1..=60 {
        let words = format!("{number}. point {number}\n");
        let count = shown
            .lines()
            .map(|line| line.trim().trim_start_matches("● "))
            .filter(|line| format!("{line}\n") == words)
            .count();
        assert_eq!(count, 1, "{words}{shown}");
    }
    assert_eq!(talk.end(), Some(0));
}
