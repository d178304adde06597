//! The interactive session, driven as a person would: keys in, screens out.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use serde_json::json;
use windlass_rehearsal::{Answer, Script};

use crate::stage::{World, play};
use crate::terminal::terminal;

/// A conversation at a terminal of 24 rows and 60 columns.
struct Talk {
    child: Child,
    keys: File,
    screen: Arc<(Mutex<Shown>, Condvar)>,
}

/// What the terminal was sent, and what that looks like.
struct Shown {
    raw: Vec<u8>,
    parser: vt100::Parser,
}

const DEADLINE: Duration = Duration::from_secs(60);

impl Talk {
    fn begin(mut command: Command) -> Self {
        let (ours, theirs) = terminal();
        let share = |file: &File| Stdio::from(file.try_clone().expect("a copy"));
        command.stdin(share(&theirs)).stdout(share(&theirs)).stderr(Stdio::from(theirs));
        command.env("TERM", "xterm-256color");
        let child = command.spawn().expect("the command starts");
        // The other end closes with the child only if nobody else holds it.
        drop(command);
        let shown = Shown { raw: Vec::new(), parser: vt100::Parser::new(24, 60, 1_000) };
        let screen = Arc::new((Mutex::new(shown), Condvar::new()));
        let keys = File::from(ours);
        let (mut output, shown) = (keys.try_clone().expect("a copy"), Arc::clone(&screen));
        std::thread::spawn(move || {
            let mut chunk = [0; 4096];
            while let Ok(count @ 1..) = output.read(&mut chunk) {
                let mut screen = shown.0.lock().expect("a screen");
                screen.raw.extend_from_slice(&chunk[..count]);
                screen.parser.process(&chunk[..count]);
                drop(screen);
                shown.1.notify_all();
            }
        });
        Self { child, keys, screen }
    }

    fn key(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("keys");
    }

    /// Waits until the screen shows this, and gives it.
    fn until(&self, words: &str) -> String {
        let (screen, changed) = &*self.screen;
        let limit = Instant::now() + DEADLINE;
        let mut now = screen.lock().expect("a screen");
        loop {
            let shown = now.parser.screen().contents();
            if shown.contains(words) {
                return shown;
            }
            let left = limit.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "`{words}` was never shown:\n{shown}");
            now = changed.wait_timeout(now, left).expect("a screen").0;
        }
    }

    /// Ends it, and gives the code.
    fn end(mut self) -> Option<i32> {
        self.key("\u{4}");
        self.child.wait().expect("an end").code()
    }
}

const READY: &str = "ask for something";

#[test]
fn a_prompt_a_question_and_an_answer() {
    let world = World::new();
    let script = Script::new()
        .answer(
            Answer::text("I will **make** it.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n")
                .tool("Bash", json!({"command": "touch made.txt && echo made"})),
        )
        .answer(Answer::text("It is there.").when_result("made"));
    let server = play(script);
    let mut talk = Talk::begin(world.asking::<&str>(&server.url(), &[]));
    talk.until(READY);
    talk.key("make a file\r");
    let asked = talk.until("No, and say why");
    for words in ["> make a file", "I will make it.", "1 │ 2", "touch made.txt && echo made"] {
        assert!(asked.contains(words), "{words}:\n{asked}");
    }
    assert!(!world.file("made.txt").exists());
    // A key pressed for something else allows nothing; a number chooses.
    talk.key("x2");
    let done = talk.until("It is there.");
    assert!(done.contains("● Bash(touch made.txt && echo made)"), "{done}");
    assert!(world.file("made.txt").exists());
    assert_eq!(talk.end(), Some(0));
}

#[test]
fn no_is_the_answer_to_a_careless_enter_and_the_model_hears_why() {
    let world = World::new();
    let script = Script::new()
        .answer(Answer::call("Bash", json!({"command": "touch one.txt"})))
        .answer(Answer::call("Bash", json!({"command": "touch two.txt"})).when_result("said no"))
        .answer(Answer::text("I leave it.").when_result("not today"));
    let server = play(script);
    let mut talk = Talk::begin(world.asking(&server.url(), &["make files"]));
    talk.until("touch one.txt");
    talk.key("\r");
    talk.until("touch two.txt");
    talk.key("4");
    talk.until("No, because:");
    talk.key("not today\r");
    talk.until("I leave it.");
    assert!(!world.file("one.txt").exists() && !world.file("two.txt").exists());
    assert_eq!(talk.end(), Some(0));
}

#[test]
fn typing_completing_and_looking() {
    let world = World::new();
    let server = play(Script::new().answer(Answer::text("ok").repeat(0)));
    let mut talk = Talk::begin(world.asking::<&str>(&server.url(), &[]));
    talk.until(READY);
    // Several lines, a word taken away, and what was said comes back.
    talk.key("one two\u{17}\u{a}three");
    talk.until("> one \n  three");
    talk.key("\r");
    talk.until("ok");
    talk.key("\u{1b}[A");
    talk.until("  three\nclaude");
    talk.key("\u{3}/cont");
    talk.until("/context");
    talk.key("\t\r");
    talk.until("Nothing had to be left out so far.");
    assert_eq!(talk.end(), Some(0));
}

#[test]
fn escape_stops_the_work_and_the_session_goes_on() {
    let world = World::new();
    let script = Script::new()
        .answer(Answer::call("Bash", json!({"command": "sleep 600"})))
        .answer(Answer::text("I am here.").repeat(0));
    let server = play(script);
    let flags = ["--allowedTools", "Bash(sleep:*)", "--", "wait"];
    let mut talk = Talk::begin(world.asking(&server.url(), &flags));
    talk.until("Bash(sleep 600)");
    talk.key("\u{1b}");
    talk.until("■");
    talk.key("are you there?\r");
    talk.until("I am here.");
    assert_eq!(talk.end(), Some(0));
}

#[test]
fn nothing_the_model_says_steers_the_terminal() {
    let world = World::new();
    let evil = "be\u{1b}]0;owned\u{7}fore\u{1b}[2J\u{9b}2J\u{202e}after";
    let server = play(Script::new().answer(Answer::text(evil).repeat(0)));
    let talk = Talk::begin(world.asking(&server.url(), &["hello"]));
    let shown = talk.until("after");
    assert!(shown.contains("> hello"), "{shown}");
    let sent = String::from_utf8_lossy(&talk.screen.0.lock().expect("a screen").raw).into_owned();
    for steering in ["\u{1b}]", "\u{7}", "\u{1b}[2J", "\u{9b}", "\u{202e}"] {
        assert!(!sent.contains(steering), "{sent:?}");
    }
    assert_eq!(talk.end(), Some(0));
}

#[test]
fn a_conversation_goes_back_to_before_a_prompt_and_on_from_there() {
    let world = World::new();
    let script = Script::new()
        .answer(Answer::text("First answer."))
        .answer(Answer::text("Second answer."))
        .answer(Answer::text("Third answer.").repeat(0));
    let server = play(script);
    let mut talk = Talk::begin(world.asking::<&str>(&server.url(), &[]));
    talk.until(READY);
    talk.key("say one\r");
    talk.until("First answer.");
    talk.key("say two\r");
    talk.until("Second answer.");
    talk.key("/rewind 2\r");
    talk.until("goes on before prompt 2");
    talk.key("say three\r");
    talk.until("Third answer.");
    let asked = server.requests().pop().expect("a request").body;
    assert!(asked.contains("say one") && asked.contains("say three"), "{asked}");
    assert!(!asked.contains("say two") && !asked.contains("Second answer."), "{asked}");
    assert_eq!(talk.end(), Some(0));
}
