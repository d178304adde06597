//! The interactive session, driven as a person would: keys in, screens out.

mod approval;
mod attention;
mod background;
mod changes;
mod composer;
mod echo;
mod failures;
mod first;
mod interrupting;
mod own_status;
mod picture;
mod plain;
mod quiet;
mod recording;
mod remote;
mod reports;
mod robust;
mod screen_text;
mod screens;
mod screenshots;
mod sight;
mod speed;
mod status;
pub(crate) mod talk;
mod tmux;
mod transcript_offer;
mod walk;

use serde_json::json;
use windlass_rehearsal::{Script, ScriptedAnswer};

use crate::fixture::{TestDirs, play};
use talk::{ASKED, READY, Talk};

#[test]
fn a_prompt_a_question_and_an_answer() {
    let dirs = TestDirs::new();
    let script = Script::new()
        .answer(
            ScriptedAnswer::text("I will **make** it.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n")
                .tool("Bash", json!({"command": "touch made.txt && echo made"})),
        )
        .answer(ScriptedAnswer::text("It is there.").when_result("made"));
    let server = play(script);
    let mut talk = Talk::begin(dirs.asking::<&str>(&server.url(), &[]));
    talk.until(READY);
    talk.key("make a file\r");
    talk.until(ASKED);
    let asked = talk.scrolled();
    for words in ["> make a file", "I will make it.", "1 │ 2", "touch made.txt && echo made"] {
        assert!(asked.contains(words), "{words}:\n{asked}");
    }
    assert!(!dirs.file("made.txt").exists());
    // A key pressed for something else allows nothing; a number chooses.
    talk.key("x2");
    let done = talk.until("It is there.");
    assert!(done.contains("● Bash(touch made.txt && echo made)"), "{done}");
    assert!(dirs.file("made.txt").exists());
    assert_eq!(talk.end(), Some(0));
}

#[test]
fn escape_stops_the_work_and_the_session_goes_on() {
    let dirs = TestDirs::new();
    let script = Script::new()
        .answer(ScriptedAnswer::call("Bash", json!({"command": "sleep 600"})))
        .answer(ScriptedAnswer::text("I am here.").repeat(0));
    let server = play(script);
    let flags = ["--allowedTools", "Bash(sleep:*)", "--", "wait"];
    let mut talk = Talk::begin(dirs.asking(&server.url(), &flags));
    talk.until("Bash(sleep 600)");
    talk.key("\u{1b}");
    talk.until("■");
    talk.key("are you there?\r");
    talk.until("I am here.");
    assert_eq!(talk.end(), Some(0));
}

#[test]
fn nothing_the_model_says_steers_the_terminal() {
    let dirs = TestDirs::new();
    let evil = "be\u{1b}]0;owned\u{7}fore\u{1b}[2J\u{9b}2J\u{202e}after";
    let script =
        Script::new()
            .answer(ScriptedAnswer::text(evil).tool(
                "Bash",
                json!({"command": format!("printf '%s' '{evil}' | tee made; false")}),
            ))
            .answer(ScriptedAnswer::text(evil).repeat(0));
    let server = play(script);
    let mut talk = Talk::begin(dirs.asking(&server.url(), &["hello"]));
    let asked = talk.until(ASKED);
    assert!(asked.contains("^[]0;owned^G"), "spelled out: {asked}");
    talk.key("2");
    talk.until("exit 1");
    // Unfolded, too.
    talk.key("\u{f}");
    talk.until("Esc to go back");
    talk.key("q");
    talk.until(READY);
    let sent = talk.sent();
    for steering in ["\u{1b}]0", "\u{1b}[2J\u{9b}", "\u{9b}", "\u{202e}"] {
        assert!(!sent.contains(steering), "{sent:?}");
    }
    assert_eq!(talk.end(), Some(0));
}
