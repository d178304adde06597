//! Without live lines: dumb terminals, and people who have the terminal read to them.

use serde_json::json;
use windlass_rehearsal::{Script, ScriptedAnswer};

use super::talk::{ASKED, Talk};
use crate::fixture::{TestDirs, play};

fn hold_conversation(talk: &mut Talk) {
    talk.until(">");
    talk.key("make a fiz\u{7f}le\r");
    talk.until("Run this command?");
    talk.until(ASKED);
    talk.key("2");
    talk.until("It is there.");
    let shown = talk.scrolled();
    assert!(shown.contains("> make a file"), "{shown}");
    assert!(shown.contains("● Bash(touch made.txt)"), "{shown}");
    let sent = talk.sent();
    assert!(!sent.contains('\u{1b}'), "{sent:?}");
    // Only the composer that waits has a line with nothing but its sign.
    assert!(shown.lines().filter(|line| line.trim() == ">").count() <= 1, "{shown}");
    // Nothing is said twice.
    assert_eq!(sent.matches("Run this command?").count(), 1, "{sent:?}");
    assert_eq!(sent.matches("It is there.").count(), 1, "{sent:?}");
}

#[test]
fn a_dumb_terminal_and_a_screen_reader_get_lines_and_nothing_else() {
    for (name, value, flag) in [
        ("TERM", "dumb", None),
        ("WINDLASS_SCREEN_READER", "1", None),
        ("A", "b", Some("--screen-reader")),
    ] {
        let dirs = TestDirs::new();
        let script = Script::new()
            .answer(ScriptedAnswer::call("Bash", json!({"command": "touch made.txt"})))
            .answer(ScriptedAnswer::text("It is there.").repeat(0));
        let server = play(script);
        let flags: Vec<&str> = flag.into_iter().collect();
        let mut command = dirs.asking(&server.url(), &flags);
        command.env(name, value);
        let mut talk = Talk::begin(command);
        hold_conversation(&mut talk);
        assert!(dirs.file("made.txt").exists());
        assert_eq!(talk.end(), Some(0));
    }
}
