//! Pictures of the terminal at 40, 80, 120 and 200 columns, dark, light, without colours and for a screen
//! reader: the real binary against a scripted model. Each screen is kept as text with its styles in
//! `recorded/screens` and compared; with `WINDLASS_RECORD=1` it is written. `screenshot_page` makes one
//! page of all of them.

use std::path::PathBuf;

use serde_json::{Value, json};
use windlass_rehearsal::{Rehearsal, Script, ScriptedAnswer, ScriptedFault};

use super::screen_text::{ScreenText, screens_folder};
use super::talk::Talk;
use crate::fixture::{TestDirs, play};

/// How a terminal is set up.
#[derive(Clone, Copy)]
struct Setup {
    columns: u16,
    look: Look,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Look {
    Dark,
    Light,
    NoColour,
    ScreenReader,
}

impl Setup {
    fn name(self) -> String {
        let look = match self.look {
            Look::Dark => "dark",
            Look::Light => "light",
            Look::NoColour => "no-colour",
            Look::ScreenReader => "screen-reader",
        };
        format!("{:03}-{look}", self.columns)
    }

    /// In a folder below the home directory: its name is the same on every machine.
    fn begin(self, dirs: &TestDirs, server: &Rehearsal, arguments: &[&str]) -> Talk {
        let folder = dirs.home().join("garden");
        std::fs::create_dir_all(folder.join("src")).expect("a folder");
        std::fs::write(folder.join("src/app.py"), APP).expect("a file");
        std::fs::write(folder.join("run_tests.sh"), "echo 1 passed, 1 failed\nexit 1\n")
            .expect("a file");
        let mut command = dirs.asking(&server.url(), arguments);
        command.current_dir(folder);
        match self.look {
            Look::Dark => command.env("WINDLASS_THEME", "dark"),
            Look::Light => command.env("WINDLASS_THEME", "light"),
            Look::NoColour => command.env("NO_COLOR", "1"),
            Look::ScreenReader => command.env("WINDLASS_SCREEN_READER", "1"),
        };
        Talk::sized(command, ROWS, self.columns)
    }

    /// Waits for these words, and compares what is seen then.
    fn shoot(self, talk: &Talk, scene: &str, words: &str) {
        let name = format!("{scene}-{}", self.name());
        if self.look == Look::ScreenReader {
            // Lines come one after the other, so the last scene of a session shows all.
            let is_last = ["9", "c", "d"].iter().any(|last| scene.starts_with(last));
            talk.until(words);
            if is_last {
                ScreenText::from_lines(&talk.scrolled()).compare(&name);
            }
            return;
        }
        // A narrow screen may break the words.
        let wanted: String = words.split_whitespace().collect();
        // A clock that runs looks different each time.
        let is_busy = |shown: &str| {
            ["pausetyping", "Writing(", "Waitingforthemodel", "Thinking(", "Typetosteer"]
                .iter()
                .any(|sign| shown.contains(sign))
        };
        talk.when(words, |screen| {
            let shown: String = screen.contents().split_whitespace().collect();
            shown.contains(&wanted) && !is_busy(&shown)
        });
        talk.look(ScreenText::from_screen).compare(&name);
    }
}

const ROWS: u16 = 40;
const APP: &str = "import sys\n\n\ndef greet(name):\n    # Say hello.\n    print(\"hello \" + name)\n\n\n\
                   greet(sys.argv[1])\n";

const ANSWER: &str = "# What I found\n\nThe greeting is built by **concatenation**, which fails for \
    numbers; see `src/app.py`. Three things could be done:\n\n\
    1. Use an f-string, which takes anything.\n2. Check the type first, and say what is wrong.\n\
    3. Leave it:\n   - nobody passes numbers today\n   - the tests would say so\n\n\
    ```python\ndef greet(name):\n    # Say hello, whatever the name is and however long this line gets.\n    \
    print(f\"hello {name}\")\n```\n\n\
    | way | lines changed | what it means for callers |\n|:---|---:|:---|\n\
    | f-string | 1 | nothing changes, numbers work |\n| check | 3 | they see a clear error |\n\n\
    > Readability counts.\n\nShould I go ahead?";

fn conversation() -> Script {
    let folder = "src/app.py";
    let edit = json!({
        "file_path": folder,
        "old_string": "    print(\"hello \" + name)",
        "new_string": "    print(f\"hello {name}\")",
    });
    Script::new()
        .answer(ScriptedAnswer::text(ANSWER).when("why does"))
        .answer(
            ScriptedAnswer::text("First, the tests.")
                .tool(
                    "Bash",
                    json!({
                        "command": "sh run_tests.sh",
                        "description": "Run the tests",
                    }),
                )
                .when("fix it"),
        )
        .answer(ScriptedAnswer::call("Read", json!({"file_path": folder})).when_result("1 failed"))
        .answer(ScriptedAnswer::call("Edit", edit).when_result("Say hello"))
        .answer(
            ScriptedAnswer::call(
                "Bash",
                json!({
                    "command": "git add src/app.py && git commit -m 'Greet numbers too'",
                    "description": "Commit the change",
                }),
            )
            .when_result(""),
        )
        .answer(ScriptedAnswer::text("Fixed; not committed.").repeat(0))
}

fn planning() -> Script {
    let todo = |content: &str, status: &str| json!({"content": content, "status": status, "activeForm": content});
    let todos = [
        todo("read src/app.py", "completed"),
        todo("fix the greeting", "in_progress"),
        todo("write a test for numbers, for None and for a name that is very long", "pending"),
    ];
    let question = json!({"questions": [{
        "question": "Which Python must it run on?",
        "header": "Version",
        "options": [
            {"label": "3.8 or newer", "description": "f-strings are fine"},
            {"label": "2.7 too", "description": "needs format(), and a note in the README"},
        ],
        "multiSelect": false,
    }]});
    let plan: Value = json!({
        "plan": "# Fix the greeting\n\n1. Replace the concatenation in `src/app.py`.\n2. Add a test \
                 with a number.\n\n**Not touched:** the command line.",
    });
    Script::new()
        .answer(ScriptedAnswer::call("TodoWrite", json!({"todos": todos})).when("plan it"))
        .answer(ScriptedAnswer::call("AskUserQuestion", question).when_result("Noted"))
        .answer(ScriptedAnswer::call("ExitPlanMode", plan).when_result("3.8"))
        .answer(ScriptedAnswer::text("Starting now.").repeat(0))
}

fn shoot_all(setup: Setup) {
    shoot_conversation(setup);
    shoot_planning(setup);
    shoot_failure(setup);
}

fn shoot_conversation(setup: Setup) {
    let dirs = TestDirs::new();
    let server = play(conversation());
    let mut talk = setup.begin(&dirs, &server, &[]);
    setup.shoot(&talk, "1-start", if setup.look == Look::ScreenReader { ">" } else { "Ask for" });
    if setup.look != Look::ScreenReader {
        talk.key("?");
        setup.shoot(&talk, "2-keys", "show or hide tasks");
        talk.key("/he");
        setup.shoot(&talk, "3-commands", "/help");
        talk.key("lp\r");
        setup.shoot(&talk, "4-help", "Esc to go back");
        talk.key("q");
    }
    talk.key("why does @src/app.py fail?");
    talk.until("fail?");
    talk.key("\r");
    setup.shoot(&talk, "5-answer", "Should I go ahead?");
    talk.key("fix it\r");
    until_asked(&talk, "Run this command?");
    setup.shoot(&talk, "6-command-question", "Run this command?");
    talk.key("2");
    until_asked(&talk, "Make this edit?");
    if setup.look != Look::ScreenReader {
        // The lines around it come when the file has been read.
        until_asked(&talk, "6 + print(f");
    }
    setup.shoot(&talk, "7-edit-question", "Make this edit?");
    talk.key("2");
    until_asked(&talk, "Commit the change");
    setup.shoot(&talk, "8-compound-question", "Commit the change");
    talk.key("n");
    setup.shoot(&talk, "9-done", "not committed.");
    assert_eq!(talk.end(), Some(0));
}

/// Waits until the last question is this one and takes an answer. A narrow screen may break the words.
fn until_asked(talk: &Talk, words: &str) {
    let wanted: String = words.split_whitespace().collect();
    talk.when(words, |screen| {
        let shown: String = screen.contents().split_whitespace().collect();
        let asked = shown.rfind(&wanted);
        asked.is_some() && shown.rfind("Escforno") > asked
    });
}

fn shoot_planning(setup: Setup) {
    let dirs = TestDirs::new();
    let server = play(planning());
    let mut talk = setup.begin(&dirs, &server, &["--permission-mode", "plan", "--", "plan it"]);
    until_asked(&talk, "Which Python");
    setup.shoot(&talk, "a-user-question", "Something else");
    talk.key("1");
    until_asked(&talk, "Approve this plan?");
    setup.shoot(&talk, "b-plan-question", "keep planning");
    talk.key("2");
    setup.shoot(&talk, "c-planned", "Starting now.");
    assert_eq!(talk.end(), Some(0));
}

fn shoot_failure(setup: Setup) {
    let dirs = TestDirs::new();
    let body = json!({"type": "error", "error": {"type": "authentication_error", "message": "invalid x-api-key"}});
    let refused = ScriptedFault::refuse_with(401, body.to_string());
    let server = play(Script::new().answer(ScriptedAnswer::from_fault(refused).repeat(0)));
    let talk = setup.begin(&dirs, &server, &["hello"]);
    setup.shoot(&talk, "d-failure", "/model switches");
    assert_eq!(talk.end(), Some(0));
}

#[test]
fn forty_columns() {
    shoot_all(Setup { columns: 40, look: Look::Dark });
}

#[test]
fn eighty_columns() {
    shoot_all(Setup { columns: 80, look: Look::Dark });
}

#[test]
fn hundred_and_twenty_columns() {
    shoot_all(Setup { columns: 120, look: Look::Dark });
}

#[test]
fn two_hundred_columns() {
    shoot_all(Setup { columns: 200, look: Look::Dark });
}

#[test]
fn light_ground() {
    shoot_all(Setup { columns: 80, look: Look::Light });
}

#[test]
fn no_colours() {
    shoot_all(Setup { columns: 80, look: Look::NoColour });
}

#[test]
fn screen_reader() {
    shoot_all(Setup { columns: 80, look: Look::ScreenReader });
}

/// One page with pictures of all kept screens: `cargo nextest run -p windlass -E 'test(screenshot_page)'`
/// writes `target/screens.html`.
#[test]
fn screenshot_page() {
    let mut names: Vec<PathBuf> = std::fs::read_dir(screens_folder())
        .expect("the folder")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    names.sort();
    assert!(names.len() > 70, "{}", names.len());
    let mut page = String::from(
        "<!doctype html><meta charset=\"utf-8\"><title>Screens of Windlass</title>\
         <style>body{font:14px sans-serif}figure{display:inline-block;vertical-align:top;margin:8px}\
         pre{font:12px/1.25 ui-monospace,Menlo,Consolas,monospace;padding:8px;border-radius:6px}\
         .dark{background:#161b22;color:#e6edf3}.light{background:#fff;color:#24292f;\
         border:1px solid #ccc}</style>\n",
    );
    for path in names {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let screen = ScreenText::parse(&std::fs::read_to_string(&path).expect("a file"));
        page.push_str(&screen.to_figure(&name));
    }
    let target = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("../screens.html");
    std::fs::write(target, page).expect("a page");
}
