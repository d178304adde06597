//! What is typed: lines, words, files, history, pastes, an editor, commands of the shell.

#[cfg(target_os = "linux")]
use std::time::Duration;

use serde_json::json;
use windlass_rehearsal::{Script, ScriptedAnswer};

#[cfg(target_os = "linux")]
use super::speed::{thread, thread_time};
use super::talk::{READY, Talk};
use crate::fixture::{TestDirs, play};

fn ok() -> Script {
    Script::new().answer(ScriptedAnswer::text("ok").repeat(0))
}

#[test]
fn typing_completing_and_looking() {
    let dirs = TestDirs::new();
    let server = play(ok());
    let mut talk = Talk::begin(dirs.asking::<&str>(&server.url(), &[]));
    talk.until(READY);
    // Several lines, a word taken away, and what was said comes back.
    talk.key("one two\u{17}\u{a}three");
    talk.until("> one \n  three");
    talk.key("\r");
    talk.until("ok");
    // While it works, the key below would stop that.
    talk.until(READY);
    talk.key("\u{1b}[A");
    talk.until("  three\n─");
    talk.key("\u{3}/cont");
    talk.until("/context");
    talk.key("\t\r");
    talk.until("reserved for the answer");
    // A line longer than the screen is broken, and nothing of it is hidden.
    talk.key(&"wide ".repeat(20));
    talk.when("all of it", |screen| {
        let shown: String = screen.contents().split_whitespace().collect();
        shown.matches("wide").count() == 20
    });
    assert_eq!(talk.end_after_clear(), Some(0));
}

#[test]
fn files_are_found_by_a_few_letters() {
    let dirs = TestDirs::new();
    for name in ["src/deep/garden.rs", "src/main.rs", "ignored/garden.txt", "notes.md"] {
        let path = dirs.file(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, "flowers").expect("a file");
    }
    std::fs::create_dir(dirs.file(".git")).expect("a folder");
    std::fs::write(dirs.file(".gitignore"), "ignored/\n").expect("a file");
    let script = Script::new().answer(ScriptedAnswer::text("roses").when("flowers"));
    let server = play(script);
    let mut talk = Talk::begin(dirs.asking::<&str>(&server.url(), &[]));
    talk.until(READY);
    talk.key("look at @gard");
    let shown = talk.until("@src/deep/garden.rs");
    assert!(!shown.contains("ignored"), "{shown}");
    talk.key("\t");
    talk.until("> look at @src/deep/garden.rs");
    talk.key("\r");
    // What it holds is said with it.
    talk.until("roses");
    assert_eq!(talk.end(), Some(0));
}

#[test]
fn what_was_said_is_found_again_in_another_session() {
    let dirs = TestDirs::new();
    let server = play(ok());
    let mut talk = Talk::begin(dirs.asking::<&str>(&server.url(), &[]));
    talk.until(READY);
    for words in ["plant a tree", "water the lawn", "mend the fence"] {
        talk.key(&format!("{words}\r"));
        talk.until(&format!("> {words}"));
        talk.when("done", |screen| {
            screen.contents().contains(READY) && screen.contents().contains("ok")
        });
    }
    assert_eq!(talk.end(), Some(0));
    let mut talk = Talk::begin(dirs.asking::<&str>(&server.url(), &[]));
    talk.until(READY);
    talk.key("\u{12}lawn");
    talk.until("› water the lawn");
    talk.key("\r");
    talk.until("> water the lawn");
    assert_eq!(talk.end_after_clear(), Some(0));
}

#[test]
fn the_shell_is_one_sign_away_and_the_model_hears_of_it() {
    let dirs = TestDirs::new();
    let script = Script::new().answer(ScriptedAnswer::text("I saw it.").when("moss grows"));
    let server = play(script);
    let mut talk = Talk::begin(dirs.asking::<&str>(&server.url(), &[]));
    talk.until(READY);
    talk.key("!echo moss grows\r");
    talk.until("\nmoss grows");
    talk.key("what was that?\r");
    talk.until("I saw it.");
    assert_eq!(talk.end(), Some(0));
}

#[test]
fn an_editor_gets_the_terminal_and_gives_it_back() {
    let dirs = TestDirs::new();
    let server = play(Script::new().answer(ScriptedAnswer::text("fine").when("draft, edited")));
    let editor = dirs.file("editor.sh");
    // It reads a key of its own: nobody else may take it.
    let script = "#!/bin/sh\nprintf 'press a key'\nread key\nprintf ', edited' >> \"$1\"\n";
    std::fs::write(&editor, script).expect("a file");
    let mut command = dirs.asking::<&str>(&server.url(), &[]);
    command.env("EDITOR", format!("sh {}", editor.display()));
    let mut talk = Talk::begin(command);
    talk.until(READY);
    talk.key("draft\u{7}");
    talk.until("press a key");
    talk.key("\n");
    talk.until("> draft, edited");
    talk.key("\r");
    talk.until("fine");
    assert_eq!(talk.end(), Some(0));
}

#[test]
fn ten_megabytes_are_pasted_without_a_hitch() {
    let dirs = TestDirs::new();
    let server = play(ok());
    let mut talk = Talk::begin(dirs.asking::<&str>(&server.url(), &[]));
    talk.until(READY);
    talk.key("\u{1b}[200~");
    let chunk = "a line of text that is pasted\n".repeat(1_000);
    for _ in 0..350 {
        talk.key(&chunk);
    }
    talk.key("\u{1b}[201~ and this");
    talk.until("[Pasted 350,000 lines] and this");
    // Work is counted, not time, so it does not matter what else the machine does.
    #[cfg(target_os = "linux")]
    {
        let work = thread_time(&thread(talk.child.id(), "terminal"));
        assert!(work < Duration::from_secs(20), "{work:?} of work");
    }
    // It is one word: one key takes it away.
    talk.key("\u{3}hello");
    talk.until("> hello");
    assert_eq!(talk.end_after_clear(), Some(0));
}

#[test]
fn what_waits_is_shown_and_can_be_taken_back() {
    let dirs = TestDirs::new();
    let script = Script::new()
        .answer(ScriptedAnswer::call("Bash", json!({"command": "sleep 600"})))
        .answer(ScriptedAnswer::text("over").repeat(0));
    let server = play(script);
    let flags = ["--allowedTools", "Bash(sleep:*)", "--", "wait"];
    let mut talk = Talk::begin(dirs.asking(&server.url(), &flags));
    talk.until("Bash(sleep 600)");
    talk.key("also do this\r");
    talk.until("Queued: also do this");
    talk.key("\u{1b}[A");
    talk.until("> also do this");
    talk.until_gone("Queued");
    talk.key(" instead\r");
    talk.until("Queued: also do this instead");
    talk.key("\u{1b}");
    talk.until("■");
    // It comes back, to be sent or not.
    talk.until("> also do this instead");
    assert_eq!(talk.end_after_clear(), Some(0));
}

#[test]
fn keys_as_in_vim_for_those_who_want_them() {
    let dirs = TestDirs::new();
    let server = play(Script::new().answer(ScriptedAnswer::text("fine").when("six two")));
    let mut talk = Talk::begin(dirs.asking::<&str>(&server.url(), &[]));
    talk.until(READY);
    talk.key("/vim\r");
    talk.until("Vim mode on");
    talk.key("one two\u{1b}");
    talk.until("∙ one two");
    talk.key("0cwsix\u{1b}");
    talk.until("∙ six two");
    // Undone, done again, copied, put, and taken away as an object.
    talk.key("u");
    talk.until("∙ one two");
    talk.key("\u{12}");
    talk.until("∙ six two");
    talk.key("yiw$p");
    talk.until("∙ six twosix");
    talk.key("3X.");
    talk.until_gone("twos");
    talk.key("uuciw");
    talk.until("> six");
    talk.key("two");
    talk.until("> six two");
    talk.key("\r");
    talk.until("fine");
    assert_eq!(talk.end(), Some(0));
}

/// What a stray Esc or Ctrl-C clears comes back, and so does what a key deletes.
#[test]
fn what_was_cleared_or_deleted_comes_back() {
    let dirs = TestDirs::new();
    let server = play(ok());
    let mut talk = Talk::begin(dirs.asking::<&str>(&server.url(), &[]));
    talk.until(READY);
    for clear in ["\u{1b}", "\u{3}"] {
        talk.key("a long thought");
        talk.until("> a long thought");
        talk.key(clear);
        talk.until(READY);
        talk.key("\u{1b}[A");
        talk.until("> a long thought");
        talk.key(clear);
        talk.until(READY);
    }
    talk.key("one two");
    talk.until("> one two");
    talk.key("\u{17}");
    talk.until_gone("two");
    talk.key("\u{1}\u{19}");
    talk.until("> twoone");
    talk.key("\u{3}");
    talk.until(READY);
    assert_eq!(talk.end(), Some(0));
    assert_eq!(server.requests().len(), 0);
}

/// Leaving costs no request.
#[test]
fn exit_is_no_prompt() {
    let dirs = TestDirs::new();
    let server = play(ok());
    for word in ["exit", "quit", ":q"] {
        let mut talk = Talk::begin(dirs.asking::<&str>(&server.url(), &[]));
        talk.until(READY);
        talk.key(&format!("{word}\r"));
        assert_eq!(talk.over().code(), Some(0), "{word}");
    }
    assert_eq!(server.requests().len(), 0);
}
