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
        shown.contains("of $2.0000") && shown.contains('▰') && shown.contains(READY)
    });
    let status = shown.lines().last().expect("a line");
    for words in ["claude", "default", "work", "%", "▱"] {
        assert!(status.contains(words), "{words}: {status}");
    }
    // Shift-Tab goes through the modes.
    for mode in ["acceptEdits", "plan", "default"] {
        talk.key("\u{1b}[Z");
        talk.until(&format!("· {mode}"));
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
    talk.when("done", |screen| screen.contents().matches("\nok").count() == 2);
    talk.key("/context\r");
    let shown = talk.until("kept for the answer");
    for words in ["■ tools on offer", "■ what was asked", "· free", "· · · "] {
        assert!(shown.contains(words), "{words}:\n{shown}");
    }
    talk.key("/cost\r");
    let shown = talk.until("each request");
    assert!(shown.contains("requests") && shown.contains("█"), "{shown}");
    talk.key("/why\r");
    let shown = talk.until("Somebody said: two");
    assert!(shown.contains("Somebody said: one"), "{shown}");
    assert_eq!(talk.end(), Some(0));
}

#[test]
fn help_fits_a_screen() {
    let dirs = TestDirs::new();
    let server = play(ok());
    let mut talk = Talk::sized(dirs.asking::<&str>(&server.url(), &[]), 24, 80);
    talk.until(READY);
    talk.key("/help\r");
    let shown = talk.until("Shift-Tab mode");
    assert!(shown.contains("Enter sends"), "the first line is still in sight:\n{shown}");
    assert!(shown.contains("/resume"), "{shown}");
    // What is in force, by topic.
    for (command, words) in [
        ("/hooks", "There are no hooks"),
        ("/mcp", "There are no MCP servers"),
        ("/agents", "Write a new agent"),
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
    let shown = talk.until("/why");
    for words in ["Enter sends", "Ctrl-D ends", "/agents", "/permissions"] {
        assert!(shown.contains(words), "{words}:\n{shown}");
    }
    talk.key("/context\r");
    let shown = talk.until("▒ kept for the answer      32,000");
    assert!(shown.contains("■ system prompt"), "{shown}");
    talk.key("/cost\r");
    let shown = talk.until(" cached, ");
    assert!(shown.contains("  1 requests  $0."), "{shown}");
    talk.key("/permissions\r");
    // All that is said of a row is said below the list.
    let shown = talk.until("    Check a command  what would come of");
    assert!(shown.contains("    it, and why"), "{shown}");
    assert!(!shown.contains("Read(//"), "the session's own folder: {shown}");
    talk.key("\u{1b}");
    talk.until(READY_NARROW);
    assert_eq!(talk.end(), Some(0));
}

/// As much of it as fits forty columns.
const READY_NARROW: &str = "ask for something; /help";

#[test]
fn another_model_another_look() {
    let dirs = TestDirs::new();
    let server = play(ok());
    let mut talk = Talk::begin(dirs.asking::<&str>(&server.url(), &[]));
    talk.until(READY);
    talk.key("/model\r");
    talk.until("Ask which model from now on?");
    talk.key("haiku\r");
    talk.until("is asked from now on");
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
        shown.matches("this is session").count() == 2 && shown.contains("> mend")
    });
    talk.key("the fence\r");
    answered(&talk, "Mended.");
    talk.key("/resume\r");
    talk.until("Go on with which session?");
    talk.key("tree\r");
    // What was said there is shown again.
    talk.when("the older session", |screen| {
        let shown = screen.contents();
        shown.contains("> plant a tree") && shown.contains(READY)
    });
    assert_eq!(talk.end(), Some(0));
    // The same list stands before the session with -r.
    let mut talk = Talk::begin(dirs.asking(&server.url(), &["-r"]));
    talk.until("Go on with which session?");
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
    talk.until_sent("\u{1b}]9;Windlass asks: may Bash run?\u{7}");
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
    talk.until("Esc again goes back");
    talk.key("\u{1b}");
    let shown = talk.until("Go back to before which prompt?");
    assert!(shown.contains("› say two") && shown.contains("say one"), "{shown}");
    talk.key("\r");
    talk.until("goes on before prompt 2");
    talk.until("> say two");
    talk.key("\u{17}three\r");
    talk.until("Third answer.");
    let asked = server.requests().pop().expect("a request").body;
    assert!(asked.contains("say one") && asked.contains("say three"), "{asked}");
    assert!(!asked.contains("say two") && !asked.contains("Second answer."), "{asked}");
    assert_eq!(talk.end(), Some(0));
}
