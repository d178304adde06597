//! Questions: what would run, why it is asked, and answers that hit the right one.

use serde_json::{Value, json};
use windlass_rehearsal::{Rehearsal, Script, ScriptedAnswer};

use super::talk::{ASKED, READY, Talk};
use crate::fixture::{TestDirs, play};

#[test]
fn no_is_the_answer_to_a_careless_enter_and_the_model_hears_why() {
    let dirs = TestDirs::new();
    let script = Script::new()
        .answer(ScriptedAnswer::call("Bash", json!({"command": "touch one.txt"})))
        .answer(
            ScriptedAnswer::call("Bash", json!({"command": "touch two.txt"}))
                .when_result("said no"),
        )
        .answer(ScriptedAnswer::text("I leave it.").when_result("not today"));
    let server = play(script);
    let mut talk = Talk::begin(dirs.asking(&server.url(), &["make files"]));
    talk.until("touch one.txt");
    talk.until(ASKED);
    talk.key("\r");
    talk.until("✗ Bash(touch one.txt)");
    talk.until("touch two.txt");
    let asked = talk.until(ASKED);
    let number = number(&asked, "No, and say what to do instead");
    talk.key(&number);
    talk.until("Do this instead:");
    talk.key("not today\r");
    talk.until("I leave it.");
    assert!(!dirs.file("one.txt").exists() && !dirs.file("two.txt").exists());
    assert_eq!(talk.end(), Some(0));
}

/// The number an answer has.
fn number(shown: &str, answer: &str) -> String {
    let line = shown.lines().find(|line| line.contains(answer)).expect("an answer");
    let digits = line.trim_start_matches(['›', ' ']);
    digits.chars().take_while(char::is_ascii_digit).collect()
}

/// A model that makes two files, one after the other.
fn two_files() -> (TestDirs, Rehearsal) {
    let script = Script::new()
        .answer(ScriptedAnswer::call("Bash", json!({"command": "touch one.txt"})))
        .answer(ScriptedAnswer::call("Bash", json!({"command": "touch two.txt"})))
        .answer(ScriptedAnswer::text("Both are there.").repeat(0));
    (TestDirs::new(), play(script))
}

#[test]
fn a_rule_is_kept_for_the_session_or_for_good() {
    let (dirs, server) = two_files();
    let mut talk = Talk::sized(dirs.asking(&server.url(), &["make files"]), 24, 100);
    let asked = talk.until(ASKED);
    assert!(asked.contains("Yes, and allow Bash(touch:*) for this session"), "{asked}");
    assert!(asked.contains("(.claude/settings.local.json)"), "{asked}");
    talk.key(&number(&asked, "Yes, and always allow"));
    talk.until("Both are there.");
    // Our own change of the file is no news.
    talk.until(READY);
    talk.key("and again\r");
    talk.when("an answer", |screen| screen.contents().matches("Both are there.").count() == 2);
    let shown = talk.scrolled();
    assert!(shown.contains("Always allowed: Bash(touch:*)"), "{shown}");
    assert!(!shown.contains("reloaded"), "{shown}");
    assert!(dirs.file("one.txt").exists() && dirs.file("two.txt").exists(), "asked once");
    assert_eq!(talk.end(), Some(0));
    let kept = std::fs::read_to_string(dirs.file(".claude/settings.local.json")).expect("rules");
    let kept: Value = serde_json::from_str(&kept).expect("settings");
    assert!(kept["permissions"]["allow"][0].as_str().expect("a rule").starts_with("Bash(touch"));
}

#[test]
fn a_rule_for_the_session_is_asked_for_once_and_written_nowhere() {
    let (dirs, server) = two_files();
    let mut talk = Talk::sized(dirs.asking(&server.url(), &["make files"]), 24, 100);
    let asked = talk.until(ASKED);
    talk.key(&number(&asked, "for this session"));
    talk.until("Both are there.");
    assert!(dirs.file("one.txt").exists() && dirs.file("two.txt").exists(), "asked once");
    assert_eq!(talk.end(), Some(0));
    assert!(!dirs.file(".claude").exists());
}

#[test]
fn the_parts_that_need_asking_are_named_and_marked() {
    let dirs = TestDirs::new();
    let script = Script::new()
        .answer(ScriptedAnswer::call(
            "Bash",
            json!({"command": "ls -l && touch made.txt | cat && mkdir box"}),
        ))
        .answer(ScriptedAnswer::text("Not done.").repeat(0));
    let server = play(script);
    let flags = ["--allowedTools", "Bash(ls:*)", "Bash(cat:*)", "--", "look and make"];
    let mut talk = Talk::sized(dirs.asking(&server.url(), &flags), 24, 100);
    let asked = talk.until(ASKED);
    assert!(asked.contains("ls -l && touch made.txt | cat && mkdir box"), "all of it: {asked}");
    assert!(asked.contains("`touch made.txt`") && asked.contains("`mkdir box`"), "why: {asked}");
    // Marked by its look, and nothing else of the line is.
    let row = asked.lines().position(|line| line.contains("ls -l && touch")).expect("a line");
    let looks = talk.look(|screen| {
        let line = asked.lines().nth(row).expect("a line");
        let look = |words: &str| {
            let column = line.find(words).expect("words");
            let cell = screen.cell(row.try_into().expect("a row"), column.try_into().expect("one"));
            let cell = cell.expect("a cell");
            (cell.fgcolor(), cell.bold(), cell.underline(), cell.inverse())
        };
        [look("ls -l"), look("| cat"), look("touch made"), look("mkdir box")]
    });
    assert_eq!((looks[0], looks[2]), (looks[1], looks[3]), "{asked}");
    assert_ne!(looks[0], looks[2], "{asked}");
    talk.key("n");
    talk.until("Not done.");
    assert!(!dirs.file("made.txt").exists());
    assert_eq!(talk.end(), Some(0));
}

#[test]
fn a_command_can_be_changed_before_it_runs() {
    let dirs = TestDirs::new();
    let script = Script::new()
        .answer(ScriptedAnswer::call("Bash", json!({"command": "touch wrong.txt"})))
        .answer(ScriptedAnswer::text("Done.").repeat(0));
    let server = play(script);
    let mut talk = Talk::begin(dirs.asking(&server.url(), &["make a file"]));
    let asked = talk.until(ASKED);
    talk.key(&number(&asked, "Edit the command"));
    talk.until("Run this instead: touch wrong.txt");
    talk.key(&"\u{7f}".repeat("wrong.txt".len()));
    talk.key("right.txt\r");
    let shown = talk.until("Done.");
    assert!(shown.contains("● Bash(touch right.txt)"), "{shown}");
    assert!(dirs.file("right.txt").exists() && !dirs.file("wrong.txt").exists());
    assert_eq!(talk.end(), Some(0));
}

#[test]
fn an_edit_is_shown_as_what_it_changes_word_by_word() {
    let dirs = TestDirs::new();
    std::fs::write(dirs.file("poem.txt"), "roses are red\nviolets are blue\n").expect("a file");
    let path = dirs.file("poem.txt");
    let script = Script::new()
        .answer(ScriptedAnswer::call("Read", json!({"file_path": path})))
        .answer(
            ScriptedAnswer::call(
                "Edit",
                json!({"file_path": path, "old_string": "violets are blue", "new_string": "violets are green"}),
            )
            .when_result("roses"),
        )
        .answer(
            ScriptedAnswer::call("Write", json!({"file_path": path, "content": "roses are red\nand so on\n"}))
                ,
        )
        .answer(ScriptedAnswer::text("Written.").repeat(0));
    let server = play(script);
    let mut talk = Talk::begin(dirs.asking(&server.url(), &["change the poem"]));
    talk.until("Make this edit?");
    let asked = talk.until(ASKED);
    for words in ["-violets are blue", "+violets are green"] {
        assert!(asked.contains(words), "{words}:\n{asked}");
    }
    // The word that changes is marked, the others are not.
    assert!(talk.sent().contains("\u{1b}[97;48;5;22mgreen"), "{:?}", talk.sent());
    talk.key("2");
    talk.until("Write this file?");
    let asked = talk.until("+and so on");
    assert!(asked.contains("-violets are green"), "what it holds now: {asked}");
    talk.until(ASKED);
    talk.key("2");
    talk.until("Written.");
    assert_eq!(talk.end(), Some(0));
}

#[test]
fn a_plan_is_read_and_approved() {
    let dirs = TestDirs::new();
    let plan = "# The plan\n\n1. look\n2. leap\n";
    let script = Script::new()
        .answer(ScriptedAnswer::call("ExitPlanMode", json!({"plan": plan})))
        .answer(ScriptedAnswer::text("Off we go.").repeat(0));
    let server = play(script);
    let flags = ["--permission-mode", "plan", "--", "plan it"];
    let mut talk = Talk::begin(dirs.asking(&server.url(), &flags));
    let asked = talk.until(ASKED);
    for words in ["The plan", "1. look", "No, keep planning"] {
        assert!(asked.contains(words), "{words}:\n{asked}");
    }
    talk.key(&number(&asked, "accept edits without asking"));
    talk.until("Off we go.");
    talk.until("accept edits");
    assert_eq!(talk.end(), Some(0));
}

#[test]
fn questions_of_the_model_are_answered_one_by_one() {
    let dirs = TestDirs::new();
    let question = |text: &str, one: &str, other: &str| {
        json!({"question": text, "header": "H", "multiSelect": false,
               "options": [{"label": one, "description": "d1"}, {"label": other, "description": "d2"}]})
    };
    let questions = [question("Which tree?", "oak", "elm"), question("How many?", "one", "two")];
    let script = Script::new()
        .answer(ScriptedAnswer::call("AskUserQuestion", json!({"questions": questions})))
        .answer(ScriptedAnswer::text("Seven elms, then.").when_result("seven"));
    let server = play(script);
    let mut talk = Talk::begin(dirs.asking(&server.url(), &["plant"]));
    let asked = talk.until("Which tree?");
    assert!(asked.contains("1. oak") && asked.contains("(1 of 2)"), "{asked}");
    talk.until(ASKED);
    talk.key("2");
    talk.until("How many?");
    talk.key("3");
    talk.until("Your answer:");
    talk.key("seven\r");
    let shown = talk.until("Seven elms, then.");
    assert!(shown.contains("  Which tree? → elm\n  How many? → seven\n"), "as asked: {shown}");
    assert_eq!(talk.end(), Some(0));
}

/// The user types while a question appears: keys for the prompt answer nothing.
#[test]
fn keys_meant_for_something_else_answer_nothing() {
    let dirs = TestDirs::new();
    let script = Script::new()
        .answer(ScriptedAnswer::text("a while").tool("Bash", json!({"command": "touch made.txt"})))
        .answer(ScriptedAnswer::text("Over.").repeat(0));
    let server = play(script);
    let mut talk = Talk::begin(dirs.asking::<&str>(&server.url(), &[]));
    talk.until(READY);
    talk.key("go\r");
    // Digits and letters that would be answers, as fast as they are echoed, until the question stands.
    let echoed = |shown: &str| {
        let joined: String = shown.chars().filter(|letter| !letter.is_whitespace()).collect();
        joined.matches("2y").count()
    };
    let held = "pause typing to answer";
    let mut count = 0;
    loop {
        talk.key("2y");
        count += 1;
        assert!(count < 10_000, "the question never stood");
        let shown = talk.when("an echo", |screen| {
            let shown = screen.contents();
            echoed(&shown) >= count.min(200) || shown.contains(held)
        });
        if shown.contains(held) {
            break;
        }
    }
    let shown = talk.until(ASKED);
    assert!(!dirs.file("made.txt").exists(), "{shown}");
    talk.key("n");
    talk.until("Over.");
    // Not one key was lost.
    talk.when("every key", |screen| echoed(&screen.contents()) == count.min(200));
    assert!(!dirs.file("made.txt").exists());
    assert_eq!(talk.end_after_clear(), Some(0));
}

/// A file of three lines, and a model that edits the first and the last of them in one answer.
fn two_edits() -> (TestDirs, Rehearsal) {
    let dirs = TestDirs::new();
    let path = dirs.file("poem.txt");
    std::fs::write(&path, "one\ntwo\nthree\n").expect("a file");
    let edit =
        |old: &str, new: &str| json!({"file_path": path, "old_string": old, "new_string": new});
    let script = Script::new()
        .answer(ScriptedAnswer::call("Read", json!({"file_path": path})))
        .answer(
            ScriptedAnswer::text("Twice.")
                .tool("Edit", edit("one\n", "uno\nuno and a half\n"))
                .tool("Edit", edit("three", "tre"))
                .when_result("one"),
        )
        .answer(ScriptedAnswer::text("Edited.").repeat(0));
    let server = play(script);
    (dirs, server)
}

/// Both questions stand before the first edit is made: the second must not be shown against a file that
/// the first one changes.
#[test]
fn a_second_edit_of_a_file_is_shown_behind_the_first() {
    let (dirs, server) = two_edits();
    let path = dirs.file("poem.txt");
    let mut talk = Talk::sized(dirs.asking(&server.url(), &["translate"]), 40, 80);
    talk.until("1 more question is waiting");
    talk.until("1 +uno");
    talk.until(ASKED);
    talk.key("2");
    let asked = talk.when("the second question", |screen| {
        let shown = screen.contents();
        shown.contains("+tre\n") && shown.contains(ASKED)
    });
    assert!(asked.contains("2  uno and a half\n") && asked.contains("4 +tre"), "{asked}");
    talk.key("2");
    talk.until("Edited.");
    assert_eq!(std::fs::read_to_string(&path).expect("a file"), "uno\nuno and a half\ntwo\ntre\n");
    assert_eq!(talk.end(), Some(0));
}

#[test]
fn a_question_shows_first_what_is_asked_for_and_says_nothing_twice() {
    let dirs = TestDirs::new();
    let page = json!({"prompt": "What is new?", "url": "https://example.com/news"});
    let outside = json!({"file_path": "/etc/hostname"});
    let script = Script::new()
        .answer(ScriptedAnswer::call("WebFetch", page))
        .answer(ScriptedAnswer::call("Read", outside))
        .answer(ScriptedAnswer::call("Bash", json!({"command": "touch made.txt"})))
        .answer(ScriptedAnswer::text("Over.").repeat(0));
    let server = play(script);
    let mut talk = Talk::sized(dirs.asking(&server.url(), &["look"]), 40, 100);
    let asked = talk.until(ASKED);
    let page = "Fetch this page?\n  https://example.com/news\n  prompt: What is new?\n";
    assert!(asked.contains(page), "{asked}");
    talk.key("n");
    talk.until("Read this file?");
    let asked = talk.until(ASKED);
    assert!(asked.contains("Read this file?\n  /etc/hostname\n"), "{asked}");
    talk.key("n");
    talk.until("Run this command?");
    let asked = talk.until(ASKED);
    assert!(asked.contains("default mode asks: it changes files."), "{asked}");
    assert_eq!(asked.matches("touch made.txt").count(), 1, "{asked}");
    talk.key("n");
    talk.until("Over.");
    assert_eq!(talk.end(), Some(0));
}

#[test]
fn a_new_file_says_how_long_it_is() {
    let dirs = TestDirs::new();
    let path = dirs.file("new.txt");
    let script = Script::new()
        .answer(ScriptedAnswer::call("Write", json!({"file_path": path, "content": "a\nb\nc\n"})))
        .answer(ScriptedAnswer::text("Written.").repeat(0));
    let server = play(script);
    let flags = ["--dangerously-skip-permissions", "--", "write"];
    let talk = Talk::begin(dirs.asking(&server.url(), &flags));
    let shown = talk.until("Written.");
    let new = "● Write(new.txt)  +3\n  1 +a\n  2 +b\n  3 +c\n\n";
    assert!(shown.contains(new), "its beginning, and nothing twice: {shown}");
    assert_eq!(talk.end(), Some(0));
    let mut talk = Talk::begin(dirs.asking(&server.url(), &["-c"]));
    talk.until("● Write(new.txt)  +3\n");
    talk.until(READY);
    talk.key("\u{f}");
    talk.until("Esc to go back");
    let page = talk.look(vt100::Screen::contents);
    assert!(page.contains("● Write(new.txt)  +3\n"), "{page}");
    talk.key("q");
    talk.until(READY);
    assert_eq!(talk.end(), Some(0));
}

/// A screen reader says a line once, but two questions are not one.
#[test]
fn a_second_question_is_said_whole() {
    let (dirs, server) = two_edits();
    let mut asking = dirs.asking(&server.url(), &["translate"]);
    asking.env("WINDLASS_SCREEN_READER", "1");
    let mut talk = Talk::sized(asking, 80, 80);
    talk.until(ASKED);
    talk.key("2");
    let shown =
        talk.when("the second question", |screen| screen.contents().matches(ASKED).count() == 2);
    assert_eq!(shown.matches("Make this edit?\n  poem.txt\n").count(), 2, "{shown}");
    assert_eq!(shown.matches("1. No").count(), 2, "{shown}");
    talk.key("n");
    talk.until("Edited.");
    assert_eq!(talk.end(), Some(0));
}
