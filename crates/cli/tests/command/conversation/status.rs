//! What is seen at a glance and what is asked for: status, context, cost, reasons, models, sessions.

use serde_json::json;
use windlass_rehearsal::{Script, ScriptedAnswer};

use super::talk::{ASKED, READY, Talk};
use crate::fixture::{TestDirs, play};

fn ok() -> Script {
    Script::new().answer(ScriptedAnswer::text("ok").repeat(0))
}

#[test]
fn the_line_below_says_where_we_stand() {
    let dirs = TestDirs::new();
    let server = play(ok());
    let flags = ["--max-budget-usd", "2", "--", "hello"];
    let mut talk = Talk::sized(dirs.asking(&server.url(), &flags), 24, 120);
    let shown = talk.when("a bar and a price", |screen| {
        let shown = screen.contents();
        shown.contains("of $2.00") && shown.contains('▰') && shown.contains(READY)
    });
    let status = shown.lines().last().expect("a line");
    for words in ["claude", "work", "%", "▱"] {
        assert!(status.contains(words), "{words}: {status}");
    }
    // Shift-Tab goes through the modes.
    for mode in ["accept edits", "plan mode", "default mode"] {
        talk.key("\u{1b}[Z");
        talk.until(&format!("── {mode} · Shift-Tab ──"));
    }
    assert_eq!(talk.end(), Some(0));
}

#[test]
fn context_is_a_picture_cost_a_table_and_why_in_words() {
    let dirs = TestDirs::new();
    let server = play(ok());
    let mut talk = Talk::sized(dirs.asking(&server.url(), &["one"]), 40, 100);
    talk.until(READY);
    talk.key("two\r");
    talk.until("> two");
    talk.when("done", |screen| screen.contents().matches("● ok").count() == 2);
    talk.key("/context\r");
    let shown = talk.until("reserved for the answer");
    for words in ["■ tools", "■ prompts", "· free", "· · · "] {
        assert!(shown.contains(words), "{words}:\n{shown}");
    }
    talk.key("/cost\r");
    let shown = talk.until("each request");
    assert!(shown.contains("requests") && shown.contains("█"), "{shown}");
    talk.key("/why\r");
    let shown = talk.until("You: two");
    assert!(shown.contains("You: one"), "{shown}");
    assert_eq!(talk.end(), Some(0));
}

#[test]
fn help_fits_a_screen() {
    let dirs = TestDirs::new();
    let server = play(ok());
    let mut talk = Talk::sized(dirs.asking::<&str>(&server.url(), &[]), 24, 80);
    talk.until(READY);
    talk.key("/help\r");
    let shown = talk.until("Esc to go back");
    assert!(shown.contains("/resume"), "{shown}");
    talk.key("G");
    let shown = talk.until("Ctrl-D");
    assert!(shown.contains("Shift-Tab") && shown.contains("change the mode"), "{shown}");
    talk.key("q");
    talk.until(READY);
    // Keys alone stand above the prompt until the next key.
    talk.key("?");
    let shown = talk.until("show or hide tasks");
    assert!(shown.contains("Ctrl-O"), "{shown}");
    talk.key("x");
    talk.until_gone("show or hide tasks");
    talk.key("\u{7f}");
    talk.until(READY);
    // What is in force, by topic.
    for (command, words) in [
        ("/hooks", "No hooks"),
        ("/mcp", "No MCP servers"),
        ("/agents", "Create an agent"),
        ("/permissions", "Check a command"),
    ] {
        talk.key(&format!("{command}\r"));
        talk.until(words);
        talk.key("\u{1b}");
        talk.until(READY);
    }
    assert_eq!(talk.end(), Some(0));
}

#[test]
fn narrow_screens_lose_nothing_that_counts() {
    let dirs = TestDirs::new();
    let server = play(ok());
    let mut talk = Talk::sized(dirs.asking(&server.url(), &["one"]), 24, 40);
    talk.until("ok");
    talk.until(READY_NARROW);
    talk.key("/help\r");
    let shown = talk.until("Esc to go back");
    assert!(shown.contains("/clear"), "{shown}");
    talk.key("q");
    talk.until(READY_NARROW);
    talk.key("/context\r");
    let shown = talk.until("▒ reserved for the answer   32,000");
    assert!(shown.contains("■ system prompt"), "{shown}");
    talk.key("/cost\r");
    let shown = talk.until(" cached, ");
    assert!(shown.contains("  1 request  <$0.01"), "{shown}");
    talk.key("/permissions\r");
    // All that is said of a row is said below the list.
    let shown = talk.until("    Check a command  allowed, asked or");
    assert!(shown.contains("    denied, and why"), "{shown}");
    assert!(!shown.contains("Read(//"), "the session's own folder: {shown}");
    talk.key("\u{1b}");
    talk.until(READY_NARROW);
    assert_eq!(talk.end(), Some(0));
}

/// As much of it as fits forty columns.
const READY_NARROW: &str = "Ask for something · /";

#[test]
fn another_model_another_look() {
    let dirs = TestDirs::new();
    let server = play(ok());
    let mut talk = Talk::begin(dirs.asking::<&str>(&server.url(), &[]));
    talk.until(READY);
    talk.key("/model\r");
    talk.until("Choose a model");
    talk.key("haiku\r");
    talk.until("Switched to");
    talk.when("its name below", |screen| {
        screen.contents().lines().last().is_some_and(|line| line.contains("haiku"))
    });
    talk.key("/theme light\r");
    talk.key("hello\r");
    talk.until_sent("\u{1b}[1;34m> ");
    talk.until("ok");
    assert_eq!(talk.end(), Some(0));
}

#[test]
fn the_terminal_is_asked_for_its_ground_and_believed() {
    let dirs = TestDirs::new();
    let server = play(ok());
    let mut talk = Talk::begin(dirs.asking::<&str>(&server.url(), &[]));
    talk.until(READY);
    talk.until_sent("\u{1b}]11;?");
    assert!(!talk.sent().contains("\u{1b}[1;34m"), "dark until it answers");
    talk.key("\u{1b}]11;rgb:ffff/ffff/f0f0\u{1b}\\typed");
    talk.until_sent("\u{1b}[1;34m> ");
    // The answer is no letter of the prompt.
    talk.until("> typed\n");
    assert_eq!(talk.end_after_clear(), Some(0));
}

#[test]
fn without_colours_there_are_none() {
    let dirs = TestDirs::new();
    let server = play(Script::new().answer(ScriptedAnswer::text("# Title\n\n`code` ok").repeat(0)));
    let mut command = dirs.asking(&server.url(), &["hello"]);
    command.env("NO_COLOR", "1");
    let talk = Talk::begin(command);
    talk.until("ok");
    talk.until(READY);
    let sent = talk.sent();
    assert!(!sent.contains("\u{1b}[3") && !sent.contains(";3"), "{sent:?}");
    assert!(!sent.contains("\u{1b}]11"), "nothing to ask: {sent:?}");
    assert_eq!(talk.end(), Some(0));
}

#[test]
fn a_session_is_left_for_another_and_found_again() {
    let dirs = TestDirs::new();
    let answer = |words: &str, to: &str| ScriptedAnswer::text(words).when(to).repeat(0);
    let script =
        Script::new().answer(answer("Planted.", "plant a")).answer(answer("Mended.", "mend the"));
    let server = play(script);
    // The prompt is also there before it is answered, and the answer before the run is over.
    let answered = |talk: &Talk, words: &str| {
        talk.when(words, |screen| {
            let shown = screen.contents();
            shown.contains(words) && shown.contains(READY) && !shown.contains("· turn ")
        });
    };
    let mut talk = Talk::begin(dirs.asking(&server.url(), &["plant a tree"]));
    answered(&talk, "Planted.");
    // What is typed meanwhile is typed in the new one.
    talk.key("/clear\rmend ");
    talk.when("two sessions", |screen| {
        let shown = screen.contents();
        shown.matches("shows all keys").count() == 2 && shown.contains("> mend")
    });
    talk.key("the fence\r");
    answered(&talk, "Mended.");
    talk.key("/resume\r");
    talk.until("Resume a session");
    talk.key("tree\r");
    // What was said there is shown again.
    talk.when("the older session", |screen| {
        let shown = screen.contents();
        shown.contains("> plant a tree") && shown.contains(READY)
    });
    assert_eq!(talk.end(), Some(0));
    // The same list stands before the session with -r.
    let mut talk = Talk::begin(dirs.asking(&server.url(), &["-r"]));
    talk.until("Resume a session");
    talk.key("fence\r");
    talk.until("> mend the fence");
    talk.until(READY);
    assert_eq!(talk.end(), Some(0));
}

#[test]
fn somebody_is_called_when_they_are_needed() {
    let dirs = TestDirs::new();
    let script = Script::new()
        .answer(ScriptedAnswer::call("Bash", json!({"command": "touch made.txt"})))
        .answer(ScriptedAnswer::text("Over.").repeat(0));
    let server = play(script);
    let mut talk = Talk::begin(dirs.asking(&server.url(), &["go"]));
    talk.until(ASKED);
    talk.until_sent("\u{7}");
    talk.key("n");
    talk.until("Over.");
    assert_eq!(talk.end(), Some(0));
    let script = Script::new()
        .answer(ScriptedAnswer::call("Bash", json!({"command": "touch made.txt"})))
        .answer(ScriptedAnswer::text("Over.").repeat(0));
    let server = play(script);
    let mut command = dirs.asking(&server.url(), &["go"]);
    command.env("TERM_PROGRAM", "WezTerm");
    let mut talk = Talk::begin(command);
    talk.until(ASKED);
    talk.until_sent("\u{1b}]9;Windlass needs your answer: Bash\u{7}");
    talk.key("n");
    talk.until("Over.");
    assert_eq!(talk.end(), Some(0));
}

/// Escape twice, a prompt, and the conversation goes on from before it, the prompt ready to be changed.
#[test]
fn a_conversation_goes_back_to_before_a_prompt_and_on_from_there() {
    let dirs = TestDirs::new();
    let script = Script::new()
        .answer(ScriptedAnswer::text("First answer."))
        .answer(ScriptedAnswer::text("Second answer."))
        .answer(ScriptedAnswer::text("Third answer.").repeat(0));
    let server = play(script);
    let mut talk = Talk::begin(dirs.asking::<&str>(&server.url(), &[]));
    talk.until(READY);
    for (words, answer) in [("say one", "First answer."), ("say two", "Second answer.")] {
        talk.key(&format!("{words}\r"));
        talk.until(answer);
        talk.until(READY);
    }
    talk.key("\u{1b}");
    talk.until("Esc again to rewind");
    talk.key("\u{1b}");
    let shown = talk.until("Rewind to before which prompt?");
    assert!(shown.contains("› 1. say two") && shown.contains("say one"), "{shown}");
    talk.key("\r");
    // What would change is shown first, and no is the first answer.
    let shown = talk.until("No, back to the list");
    assert!(shown.contains("Would rewind the conversation to before prompt 2"), "{shown}");
    assert!(shown.contains("No files to restore"), "{shown}");
    talk.key("\r");
    talk.until("Rewind to before which prompt?");
    talk.key("\r");
    talk.until("No, back to the list");
    talk.key("Conversation only\r");
    talk.until("Conversation rewound to");
    talk.until("> say two");
    talk.key("\u{17}three\r");
    talk.until("Third answer.");
    let asked = server.requests().pop().expect("a request").body;
    assert!(asked.contains("say one") && asked.contains("say three"), "{asked}");
    assert!(!asked.contains("say two") && !asked.contains("Second answer."), "{asked}");
    assert_eq!(talk.end(), Some(0));
}

#[test]
fn files_go_back_alone_or_with_the_conversation() {
    let dirs = TestDirs::new();
    let write = json!({"file_path": dirs.file("made.txt"), "content": "one\ntwo\n"});
    let script = Script::new()
        .answer(ScriptedAnswer::call("Write", write).when("write it"))
        .answer(ScriptedAnswer::text("It is written.").repeat(0));
    let server = play(script);
    let flags = ["--permission-mode", "acceptEdits", "--", "write it"];
    let mut talk = Talk::sized(dirs.asking(&server.url(), &flags), 30, 80);
    talk.until("It is written.");
    talk.until(READY);
    talk.key("/rewind 1\r");
    let shown = talk.until("Yes, conversation and files");
    assert!(shown.contains("Would restore 1 file."), "{shown}");
    assert!(shown.contains("  made.txt  +0 −2  removed"), "{shown}");
    assert!(dirs.file("made.txt").exists(), "a preview changes nothing");
    talk.key("Files only\r");
    talk.until("Restored 1 file.");
    talk.until(READY);
    assert!(!dirs.file("made.txt").exists());
    assert_eq!(talk.end(), Some(0));
}
