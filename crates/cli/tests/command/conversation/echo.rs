//! A sent prompt is shown as it was typed, with labels for what goes with it.

use serde_json::json;
use windlass_rehearsal::{Script, ScriptedAnswer};

use super::talk::{READY, Talk};
use crate::fixture::{TestDirs, play, run};

fn ok() -> Script {
    Script::new().answer(ScriptedAnswer::text("ok").repeat(0))
}

/// What is pasted, others may have written; what is typed, the user wrote.
#[test]
fn a_file_that_is_named_in_a_long_paste_is_read_only_if_the_model_may_read_it_unasked() {
    let dirs = TestDirs::new();
    std::fs::write(dirs.file("notes.txt"), "of the project\n").expect("a file");
    let key = dirs.home().join("key.txt");
    std::fs::write(&key, "hush\n").expect("a file");
    let server = play(ok());
    let mut talk = Talk::begin(dirs.asking::<&str>(&server.url(), &[]));
    talk.until(READY);
    let pasted = format!("see @notes.txt and @{}\n", key.display()) + &"a line\n".repeat(20);
    talk.key(&format!("explain \u{1b}[200~{pasted}\u{1b}[201~"));
    talk.until("> explain [Pasted 21 lines]");
    talk.key("\r");
    talk.when("an answer", |screen| screen.contents().matches("● ok").count() == 1);
    let body = server.requests().pop().expect("a request").body;
    assert!(body.contains("of the project"), "{body}");
    assert!(body.contains("(It was not attached") && !body.contains("hush"), "{body}");
    talk.until(READY);
    talk.key(&format!("now @{}\r", key.display()));
    talk.when("an answer", |screen| screen.contents().matches("● ok").count() == 2);
    assert!(server.requests().pop().expect("a request").body.contains("hush"));
    assert_eq!(talk.end(), Some(0));
}

/// A page may begin with an image of Markdown, `![`, or with a path.
#[test]
fn a_long_paste_is_no_command_whatever_it_begins_with() {
    let dirs = TestDirs::new();
    let commands = dirs.home().join(".claude/commands");
    std::fs::create_dir_all(&commands).expect("a folder");
    std::fs::write(commands.join("deploy.md"), "Deploy it now.").expect("a command");
    let server = play(ok());
    let mut talk = Talk::begin(dirs.asking::<&str>(&server.url(), &[]));
    for (first, answers) in [("!true", 1), ("/deploy", 2), ("/clear", 3)] {
        talk.until(READY);
        let pasted = format!("{first}\ntouch ran.txt\n{}", "a line\n".repeat(20));
        talk.key(&format!("\u{1b}[200~{pasted}\u{1b}[201~"));
        talk.until("> [Pasted 22 lines]");
        talk.key("\r");
        talk.when("an answer", |screen| screen.contents().matches("● ok").count() == answers);
        let body = server.requests().pop().expect("a request").body;
        assert!(body.contains(&format!("{first}\\ntouch ran.txt")), "{body}");
        assert!(!body.contains("Deploy it now."), "{body}");
        assert!(!dirs.file("ran.txt").exists(), "{first}");
    }
    assert_eq!(talk.end(), Some(0));
}

#[test]
fn files_and_pastes_are_labels() {
    let dirs = TestDirs::new();
    std::fs::write(dirs.file("notes.txt"), "secret content\n").expect("a file");
    let server = play(ok());
    let mut talk = Talk::begin(dirs.asking::<&str>(&server.url(), &[]));
    talk.until(READY);
    talk.key("explain @notes.txt please\r");
    let shown = talk.until("> explain [notes.txt] please");
    assert!(!shown.contains("secret content"), "{shown}");
    talk.until("ok");
    talk.until(READY);
    let pasted = "a pasted line\n".repeat(500);
    talk.key(&format!("see \u{1b}[200~{pasted}\u{1b}[201~"));
    talk.until("> see [Pasted 500 lines]");
    talk.key("\r");
    talk.when("an answer", |screen| screen.contents().matches("● ok").count() == 2);
    let shown = talk.scrolled();
    assert!(shown.contains("> see [Pasted 500 lines]"), "{shown}");
    assert!(!shown.contains("a pasted line"), "{shown}");
    // The model gets all of it.
    let body = server.requests().pop().expect("a request").body;
    assert_eq!(body.matches("a pasted line").count(), 500);
    // A prompt that comes back from the history looks the same and is sent whole.
    talk.until(READY);
    talk.key("\u{1b}[A");
    talk.until_gone(READY);
    talk.key("\r");
    talk.when("an answer", |screen| screen.contents().matches("● ok").count() == 3);
    assert!(!talk.scrolled().contains("a pasted line"), "{}", talk.scrolled());
    let body = server.requests().pop().expect("a request").body;
    assert_eq!(body.matches("a pasted line").count(), 1_000);
    assert_eq!(talk.end(), Some(0));
    // A session that goes on shows the same, as far as the journal knows it.
    let talk = Talk::begin(dirs.asking(&server.url(), &["-c"]));
    talk.until(READY);
    let shown = talk.scrolled();
    assert!(shown.contains("> explain [notes.txt] please"), "{shown}");
    assert!(!shown.contains("secret content"), "{shown}");
    assert_eq!(talk.end(), Some(0));
}

#[test]
fn commands_are_shown_by_name() {
    let dirs = TestDirs::new();
    let server = play(ok());
    let mut talk = Talk::begin(dirs.asking::<&str>(&server.url(), &[]));
    talk.until(READY);
    talk.key("!echo from the shell\r");
    talk.until("! echo from the shell");
    talk.key("what was that?\r");
    let shown = talk.until("> [! echo from the shell] what was that?");
    assert!(!shown.contains("I ran"), "{shown}");
    talk.until("ok");
    talk.until(READY);
    talk.key("/init\r");
    talk.until("> /init");
    talk.when("an answer", |screen| screen.contents().matches("● ok").count() == 2);
    assert!(!talk.scrolled().contains("AGENTS.md"), "{}", talk.scrolled());
    let body = server.requests().pop().expect("a request").body;
    assert!(body.contains("from the shell") && body.contains("AGENTS.md"), "{body}");
    assert_eq!(talk.end(), Some(0));
}

#[test]
fn a_mistyped_command_costs_nothing() {
    let dirs = TestDirs::new();
    let server = play(ok());
    let mut talk = Talk::sized(dirs.asking::<&str>(&server.url(), &[]), 24, 100);
    talk.until(READY);
    talk.key("/contxt\r");
    talk.until("Unknown command /contxt; did you mean /context?");
    talk.key("/frobnicate now\r");
    talk.until("Unknown command /frobnicate; /help lists the commands");
    assert!(server.requests().is_empty(), "nothing was sent");
    // A path is no command, and neither is what has a blank before it.
    talk.key("/etc/hosts says what?\r");
    talk.until("> /etc/hosts says what?");
    talk.until("ok");
    talk.until(READY);
    talk.key(" /frobnicate\r");
    talk.when("an answer", |screen| screen.contents().matches("● ok").count() == 2);
    assert_eq!(server.requests().len(), 2);
    assert_eq!(talk.end(), Some(0));
}

#[test]
fn a_word_that_looks_like_a_command_starts_no_session() {
    let dirs = TestDirs::new();
    let server = play(ok());
    for (arguments, words) in [
        (&["upgrade"][..], "there is no command `upgrade`"),
        (&["sesions", "list"], "did you mean `windlass sessions`?"),
        (&["login"], "windlass key set"),
    ] {
        let talk = Talk::sized(dirs.asking(&server.url(), arguments), 24, 160);
        let shown = talk.until(words);
        assert!(!shown.contains(READY), "{shown}");
        assert_eq!(talk.over().code(), Some(2), "{words}");
    }
    assert!(server.requests().is_empty());
}

#[test]
fn what_is_queued_is_shown_when_it_is_delivered() {
    let dirs = TestDirs::new();
    let wait = "while [ ! -e go ]; do sleep 0.05; done";
    let script = Script::new()
        .answer(ScriptedAnswer::call("Bash", json!({"command": wait})))
        .answer(ScriptedAnswer::text("Both, then.").repeat(0));
    let server = play(script);
    let flags = ["--dangerously-skip-permissions", "--", "one"];
    let mut talk = Talk::begin(dirs.asking(&server.url(), &flags));
    talk.until("Bash(while");
    talk.key("and two\r");
    talk.until("Queued: and two");
    std::fs::write(dirs.file("go"), "").expect("a file");
    let shown = talk.until("Both, then.");
    assert!(shown.contains("> and two"), "{shown}");
    assert_eq!(talk.end(), Some(0));
}

/// With `-p` too: no request is sent, nothing is kept, and a path or a custom command is none.
#[test]
fn a_mistyped_command_costs_nothing_without_a_terminal() {
    let dirs = TestDirs::new();
    let server = play(ok());
    for (prompt, words) in [
        ("/exprot", "unknown command /exprot; did you mean /export?"),
        ("/frobnicate now", "unknown command /frobnicate; /help lists the commands"),
    ] {
        let finished = run(&mut dirs.asking(&server.url(), &["-p", prompt]));
        assert!(finished.error_line(2).contains(words), "{finished:?}");
        let flags = ["-p", prompt, "--output-format", "json"];
        assert_eq!(run(&mut dirs.asking(&server.url(), &flags)).code, Some(2));
    }
    assert_eq!(server.requests().len(), 0);
    assert!(dirs.journals().is_empty());
    let folder = dirs.work().join(".claude/commands");
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("frobnicate.md"), "Say ok.").expect("a file");
    for prompt in ["/frobnicate now", " /exprot is what I typed", "/usr/bin/env is a path"] {
        assert_eq!(run(&mut dirs.asking(&server.url(), &["-p", prompt])).answer(), "ok\n");
    }
}
