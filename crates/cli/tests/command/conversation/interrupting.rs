//! Esc: what was under way stays in sight, what was queued comes back; and `-c` shows it all again.

use serde_json::json;
use windlass_rehearsal::{Script, ScriptedAnswer};

use super::talk::{ASKED, READY, Talk};
use crate::fixture::{TestDirs, play};

#[test]
fn an_interrupted_call_stays_and_queued_input_comes_back() {
    let dirs = TestDirs::new();
    let script = Script::new()
        .answer(ScriptedAnswer::call("Bash", json!({"command": "sleep 600"})))
        .answer(ScriptedAnswer::text("I am here.").repeat(0));
    let server = play(script);
    let flags = ["--allowedTools", "Bash(sleep:*)", "--", "wait"];
    let mut talk = Talk::begin(dirs.asking(&server.url(), &flags));
    talk.until("Bash(sleep 600)");
    talk.key("first\r");
    talk.until("Queued: first");
    talk.key("second\r");
    talk.until("Queued: second");
    talk.key("\u{1b}");
    let shown =
        talk.when("both come back", |screen| screen.contents().contains("> first\n  second"));
    assert!(shown.contains("✗ Bash(sleep 600)\n  Interrupted"), "{shown}");
    assert!(shown.contains("■ Interrupted"), "{shown}");
    // No key is needed to see that it is over.
    assert!(!shown.contains("Interrupting"), "{shown}");
    talk.key("\r");
    talk.until("I am here.");
    let body = server.requests().pop().expect("a request").body;
    assert!(body.contains("first\\nsecond"), "{body}");
    assert_eq!(talk.end(), Some(0));
}

#[test]
fn a_session_that_goes_on_looks_as_it_did() {
    let dirs = TestDirs::new();
    std::fs::write(dirs.file("poem.txt"), "roses are red\nviolets are blue\n").expect("a file");
    let path = dirs.file("poem.txt");
    let edit = json!({"file_path": path, "old_string": "blue", "new_string": "green"});
    let todo = json!({"content": "plant", "status": "in_progress", "activeForm": "planting"});
    let script = Script::new()
        .answer(ScriptedAnswer::call("Read", json!({"file_path": path})))
        .answer(ScriptedAnswer::text("I change it.").tool("Edit", edit))
        .answer(ScriptedAnswer::call("TodoWrite", json!({"todos": [todo]})))
        .answer(ScriptedAnswer::call("ExitPlanMode", json!({"plan": "# Dig\n\nThen plant."})))
        .answer(ScriptedAnswer::call("Bash", json!({"command": "echo no; exit 1"})))
        .answer(ScriptedAnswer::text("All done.").repeat(0));
    let server = play(script);
    let flags = ["--dangerously-skip-permissions", "--", "change it"];
    let talk = Talk::sized(dirs.asking(&server.url(), &flags), 40, 80);
    talk.until("All done.");
    talk.until(READY);
    let first = talk.scrolled();
    assert_eq!(talk.end(), Some(0));
    let mut talk = Talk::sized(dirs.asking(&server.url(), &["-c"]), 40, 80);
    talk.until(READY);
    let again = talk.scrolled();
    for words in [
        "> change it",
        "● I change it.",
        "● Edit(poem.txt)  +1 −1",
        "2 -violets are blue",
        "2 +violets are green",
        "● Tasks (0 of 1 done)",
        "▸ plant",
        "● Plan",
        "Then plant.",
        "✗ Bash(echo no; exit 1)  exit 1",
        "● All done.",
    ] {
        assert!(first.contains(words), "{words}, the first time:\n{first}");
        assert!(again.contains(words), "{words}, again:\n{again}");
    }
    // Said once each.
    for text in [&first, &again] {
        assert!(!text.contains("Exit code 1") && !text.contains("structuredPatch"), "{text}");
        assert!(!text.contains("{\""), "no raw JSON: {text}");
    }
    // Unfolded, in the order it happened.
    talk.key("\u{f}");
    let page = talk.until("Esc to go back");
    let at = |words: &str| page.find(words).unwrap_or_else(|| panic!("{words}:\n{page}"));
    assert!(at("I change it.") < at("Edit(poem.txt)"), "{page}");
    assert!(at("Edit(poem.txt)") < at("violets are green"), "{page}");
    assert!(at("violets are green") < at("Tasks ("), "{page}");
    talk.key("q");
    talk.until(READY);
    assert_eq!(talk.end(), Some(0));
}

/// A call may end while the answer that asked for it still streams or long after it, and calls that run
/// together end in any order.
#[test]
fn text_stands_before_the_call_it_announces() {
    let dirs = TestDirs::new();
    let script = Script::new()
        .answer(
            ScriptedAnswer::text("Before.")
                .tool("Bash", json!({"command": "sleep 1"}))
                .tool("Bash", json!({"command": "echo quick"}))
                .text_after("After the calls."),
        )
        .answer(ScriptedAnswer::text("The end.").repeat(0));
    let server = play(script);
    let flags = ["--dangerously-skip-permissions", "--", "go"];
    let mut talk = Talk::sized(dirs.asking(&server.url(), &flags), 40, 80);
    talk.until("The end.");
    talk.until(READY);
    let scrolled = talk.scrolled();
    talk.key("\u{f}");
    let page = talk.until("Esc to go back");
    for text in [scrolled, page] {
        let at = |words: &str| text.find(words).unwrap_or_else(|| panic!("{words}:\n{text}"));
        let order = [
            at("Before."),
            at("Bash(sleep 1)"),
            at("Bash(echo quick)"),
            at("After the calls."),
            at("The end."),
        ];
        assert!(order.is_sorted(), "{text}");
    }
    talk.key("q");
    talk.until(READY);
    assert_eq!(talk.end(), Some(0));
}

#[test]
fn leaving_says_how_to_come_back() {
    let dirs = TestDirs::new();
    let server = play(Script::new().answer(ScriptedAnswer::text("ok").repeat(0)));
    let id = "0c0ffee0-0000-4000-8000-000000000001";
    let mut talk =
        Talk::sized(dirs.asking(&server.url(), &["--session-id", id, "--", "hello"]), 24, 100);
    talk.until("ok");
    let shown = talk.until(READY);
    assert!(!shown.contains(id), "{shown}");
    // Once is not enough.
    talk.key("\u{3}");
    talk.until("Ctrl-C again to exit");
    talk.key("\u{3}");
    talk.until(&format!("windlass --resume {id}"));
    assert_eq!(talk.over().code(), Some(0));
}

/// The answers must be readable however narrow the screen is, and however the lines are shown.
#[test]
fn no_answer_to_a_question_is_cut() {
    for (columns, is_linear) in [(40, false), (40, true), (24, false)] {
        let dirs = TestDirs::new();
        let command = "git add src/app.py && git commit -m 'a message that is long'";
        let input = json!({"command": command, "description": "Commit the change"});
        let script = Script::new()
            .answer(ScriptedAnswer::call("Bash", input))
            .answer(ScriptedAnswer::text("Fine.").repeat(0));
        let server = play(script);
        let mut asking = dirs.asking(&server.url(), &["commit"]);
        if is_linear {
            asking.env("WINDLASS_SCREEN_READER", "1");
        }
        let mut talk = Talk::sized(asking, 60, columns);
        let is_asked =
            |shown: &str| shown.split_whitespace().collect::<String>().contains("Escforno");
        talk.when(ASKED, |screen| is_asked(&screen.contents()));
        let shown: String = talk.scrolled().split_whitespace().collect();
        for words in [
            "always allow Bash(git add:*), Bash(git commit:*) in this project",
            "(.claude/settings.local.json)",
            "always allow only Bash(git add:*)",
            "always allow only Bash(git commit:*)",
            "No, and say what to do instead",
            "Yes, and add a comment",
            "Model's description: Commit the change",
        ] {
            let wanted: String = words.split_whitespace().collect();
            assert!(shown.contains(&wanted), "{columns}, {words}: {}", talk.scrolled());
        }
        talk.key("n");
        talk.until("Fine.");
        assert_eq!(talk.end(), Some(0));
    }
}

#[test]
fn a_comment_goes_with_the_permission() {
    let dirs = TestDirs::new();
    let script = Script::new()
        .answer(ScriptedAnswer::call("Bash", json!({"command": "touch made.txt"})))
        .answer(ScriptedAnswer::text("Understood.").repeat(0));
    let server = play(script);
    let mut talk = Talk::begin(dirs.asking(&server.url(), &["make it"]));
    talk.until(ASKED);
    talk.key("8");
    talk.until("Comment:");
    talk.key("/but only this one\r");
    let shown = talk.until("Understood.");
    assert!(shown.contains("> /but only this one"), "{shown}");
    assert!(dirs.file("made.txt").exists());
    let body = server.requests().pop().expect("a request").body;
    assert!(body.contains("/but only this one"), "{body}");
    assert_eq!(talk.end(), Some(0));
}
