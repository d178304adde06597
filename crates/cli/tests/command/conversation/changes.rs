//! What a session did to files: `/diff`, and going back to a call or with some of the files.

use serde_json::json;
use windlass_rehearsal::{Rehearsal, Script, ScriptedAnswer};

use super::talk::{READY, Talk};
use crate::fixture::{TestDirs, play};

/// A session that has written `a.txt` and then `b.txt` for one prompt.
fn two_files() -> (TestDirs, Rehearsal, Talk) {
    let dirs = TestDirs::new();
    let write = |name: &str, text: &str| {
        ScriptedAnswer::call("Write", json!({"file_path": dirs.file(name), "content": text}))
    };
    let script = Script::new()
        .answer(write("a.txt", "one\ntwo\n"))
        .answer(write("b.txt", "three\n"))
        .answer(ScriptedAnswer::text("Both are written.").repeat(0));
    let server = play(script);
    let flags = ["--permission-mode", "acceptEdits", "--", "write them"];
    let talk = Talk::sized(dirs.asking(&server.url(), &flags), 40, 80);
    talk.until("Both are written.");
    talk.until(READY);
    (dirs, server, talk)
}

#[test]
fn differences_are_shown_as_edits_are() {
    let (_dirs, _server, mut talk) = two_files();
    talk.key("/diff\r");
    let shown = talk.until("2 files changed since your last prompt.");
    for words in
        ["\n  a.txt  +2 −0  created\n", "1 +one\n", "2 +two\n", "\n  b.txt  +1 −0  created\n"]
    {
        assert!(shown.contains(words), "{words:?}:\n{shown}");
    }
    assert!(!shown.contains("@@") && !shown.contains("+++"), "{shown}");
    // In the colours of an edit.
    assert!(talk.sent().contains("\u{1b}[32m+one"), "{:?}", talk.sent());
    assert_eq!(talk.end(), Some(0));
}

/// What was taken back is no change of the prompt that is the last one now.
#[test]
fn a_difference_counts_no_prompt_that_was_rewound() {
    let dirs = TestDirs::new();
    let write = json!({"file_path": dirs.file("made.txt"), "content": "one\ntwo\n"});
    let script = Script::new()
        .answer(ScriptedAnswer::text("Hello.").when("say hello"))
        .answer(ScriptedAnswer::call("Write", write).when("write it"))
        .answer(ScriptedAnswer::text("It is written.").repeat(0));
    let server = play(script);
    let flags = ["--permission-mode", "acceptEdits", "--", "say hello"];
    let mut talk = Talk::sized(dirs.asking(&server.url(), &flags), 40, 80);
    talk.until("Hello.");
    talk.until(READY);
    talk.key("write it\r");
    talk.until("It is written.");
    talk.until(READY);
    talk.key("/rewind 2\r");
    let shown = talk.until("Yes, conversation and files");
    let (_, preview) = shown.split_once("Would rewind").expect("a preview");
    for words in ["\n  made.txt  +0 −2  removed\n", "1 -one\n", "\nWould restore 1 file."] {
        assert!(preview.contains(words), "{words:?}:\n{shown}");
    }
    assert!(!preview.contains("@@") && preview.matches("made.txt").count() == 1, "{shown}");
    talk.key("conversation and files\r");
    talk.until("Conversation rewound to");
    talk.until("> write it");
    talk.key("\u{15}/diff\r");
    talk.until("No files changed since your last prompt.");
    assert_eq!(talk.end(), Some(0));
}

#[test]
fn files_that_others_changed_are_asked_about_one_by_one() {
    let (dirs, _server, mut talk) = two_files();
    std::fs::write(dirs.file("a.txt"), "mine\n").expect("a file");
    std::fs::write(dirs.file("b.txt"), "mine, too\n").expect("a file");
    talk.key("/rewind 1\r");
    let shown = talk.until("ask about each file");
    for name in ["  a.txt  ", "  b.txt  "] {
        let line = shown.lines().find(|line| line.starts_with(name)).expect("a line");
        assert!(line.ends_with("changed by others since"), "{shown}");
    }
    talk.key("ask about each\r");
    talk.until("Others changed a.txt. Overwrite it?");
    talk.key("2");
    talk.until("Others changed b.txt. Overwrite it?");
    talk.key("\r");
    talk.until("Conversation rewound to before prompt 1");
    talk.until("> write them");
    assert!(!dirs.file("a.txt").exists(), "it was not there then");
    let kept = std::fs::read_to_string(dirs.file("b.txt")).expect("a file");
    assert_eq!(kept, "mine, too\n");
    assert_eq!(talk.end_after_clear(), Some(0));
}

#[test]
fn one_call_can_be_taken_back() {
    let (dirs, _server, mut talk) = two_files();
    talk.key("/rewind 1\r");
    talk.until("Only back to one of its calls");
    talk.key("one of its calls\r");
    let shown = talk.until("Rewind to before which call?");
    assert!(shown.contains("› 1. Write(b.txt)\n  2. Write(a.txt)\n"), "{shown}");
    talk.key("1");
    let shown = talk.until("Files only");
    let (_, preview) = shown.split_once("before Write(b.txt)\n").expect("a preview");
    assert!(preview.contains("  b.txt  +0 −1  removed\n"), "{shown}");
    assert!(!preview.contains("a.txt"), "{shown}");
    talk.key("Files only\r");
    talk.until("Restored 1 file.");
    assert!(dirs.file("a.txt").exists() && !dirs.file("b.txt").exists());
    assert_eq!(talk.end(), Some(0));
}
