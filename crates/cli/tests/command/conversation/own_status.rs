//! The line of status that a program of the user's prints.

use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};
use windlass_rehearsal::{Script, ScriptedAnswer};

use super::talk::{READY, Talk};
use crate::fixture::{TestDirs, play, run};

fn ok() -> Script {
    Script::new().answer(ScriptedAnswer::text("ok").repeat(0))
}

fn settings(path: &Path, command: &str, more: &Value) {
    let mut settings = json!({"statusLine": {"type": "command", "command": command}});
    let more = more.as_object().cloned().unwrap_or_default();
    settings.as_object_mut().expect("an object").extend(more);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    std::fs::write(path, settings.to_string()).expect("a file");
}

fn user(dirs: &TestDirs) -> std::path::PathBuf {
    dirs.home().join(".claude/settings.json")
}

#[test]
fn its_first_line_is_shown_and_steers_nothing() {
    let dirs = TestDirs::new();
    let evil = r"printf '\033]0;owned\007\033[31mmine\033[0m\033[2J is %s\nsecond line' shown";
    settings(&user(&dirs), &format!("cat > told.json; {evil}"), &json!({}));
    let server = play(ok());
    let talk = Talk::begin(dirs.asking(&server.url(), &["hello"]));
    talk.when("an answer and the line", |screen| {
        let shown = screen.contents();
        shown.contains("mine is shown") && shown.contains("ok") && shown.contains(READY)
    });
    let shown = talk.until("mine is shown");
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(lines[lines.len() - 2].trim(), "mine is shown", "above the status:\n{shown}");
    assert!(!shown.contains("second line"), "{shown}");
    let sent = talk.sent();
    for steering in ["owned", "\u{1b}[31mmine", "mine\u{1b}[0m\u{1b}[2J"] {
        assert!(!sent.contains(steering), "{sent:?}");
    }
    assert_eq!(talk.end(), Some(0));
    let told = std::fs::read_to_string(dirs.file("told.json")).expect("it was told");
    let told: Value = serde_json::from_str(&told).expect("JSON");
    assert_eq!(told["model"]["id"], "claude-sonnet-5-5", "{told:#}");
    assert_eq!(told["hook_event_name"], "Status", "{told:#}");
    assert_eq!(told["workspace"]["current_dir"], told["cwd"], "{told:#}");
    assert!(told["cost"]["total_cost_usd"].is_number(), "{told:#}");
    assert!(told["session_id"].as_str().is_some_and(|id| id.len() == 36), "{told:#}");
    assert!(told["context_window"]["context_window_size"].is_u64(), "{told:#}");
}

#[test]
fn it_is_asked_for_again_and_not_too_often() {
    let dirs = TestDirs::new();
    settings(&user(&dirs), "cat > /dev/null; echo x >> count; wc -l < count", &json!({}));
    let server = play(ok());
    let began = Instant::now();
    let mut talk = Talk::begin(dirs.asking::<&str>(&server.url(), &[]));
    talk.until(READY);
    for prompt in 1..=4 {
        talk.key("again\r");
        talk.when("an answer", |screen| screen.contents().matches("> again").count() >= prompt);
    }
    talk.when("a later line", |screen| {
        let shown = screen.contents();
        let line = shown.lines().rev().nth(1).unwrap_or_default().trim().parse::<u64>();
        line.is_ok_and(|count| count > 1)
    });
    assert_eq!(talk.end(), Some(0));
    let most = began.elapsed().as_millis() / 300 + 2;
    let count = std::fs::read_to_string(dirs.file("count")).expect("a count").lines().count();
    assert!(u128::try_from(count).is_ok_and(|count| count <= most), "{count} of {most}");
}

#[test]
fn one_that_hangs_holds_nothing_up_and_is_gone_with_its_children() {
    let dirs = TestDirs::new();
    settings(&user(&dirs), "echo $$ > leader; sleep 600 & echo $! > child; wait", &json!({}));
    let server = play(ok());
    let mut talk = Talk::begin(dirs.asking::<&str>(&server.url(), &[]));
    talk.until(READY);
    talk.key("hello\r");
    talk.until("ok");
    let number = |name: &str| {
        let read = || std::fs::read_to_string(dirs.file(name)).unwrap_or_default();
        let deadline = Instant::now() + crate::fixture::PATIENCE;
        loop {
            if let Ok(number) = read().trim().parse::<u32>() {
                return number;
            }
            assert!(Instant::now() < deadline, "it never started");
            std::thread::yield_now();
        }
    };
    let numbers = [number("leader"), number("child")];
    assert_eq!(talk.end(), Some(0));
    let is_there = |number: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
        stat.contains("sleep") || stat.contains("(sh)")
    };
    let deadline = Instant::now() + crate::fixture::PATIENCE;
    while numbers.iter().any(is_there) {
        assert!(Instant::now() < deadline, "{numbers:?} are still there");
        std::thread::yield_now();
    }
}

#[test]
fn there_is_none_where_it_fails_is_not_trusted_or_not_wanted() {
    let print = "cat > /dev/null; printf '%s%s' ne ver; touch ran";
    for (is_project, command, more, runs) in [
        (false, "cat > /dev/null; printf '%s%s' ne ver; touch ran; exit 1", json!({}), true),
        (true, print, json!({}), false),
        (false, print, json!({"disableAllHooks": true}), false),
    ] {
        let dirs = TestDirs::new();
        let place = if is_project { dirs.file(".claude/settings.json") } else { user(&dirs) };
        settings(&place, command, &more);
        let server = play(ok());
        let mut talk = Talk::begin(dirs.asking::<&str>(&server.url(), &[]));
        if is_project {
            talk.until("Do you trust this folder?");
            talk.key("\r");
        }
        talk.until(READY);
        talk.key("hello\r");
        let shown = talk.until("ok");
        assert!(!shown.contains("never"), "{shown}");
        let has_run = || dirs.file("ran").exists();
        let deadline = Instant::now() + crate::fixture::PATIENCE;
        while runs && !has_run() {
            assert!(Instant::now() < deadline, "{command} never ran");
            std::thread::yield_now();
        }
        assert_eq!(talk.end(), Some(0));
        assert_eq!(has_run(), runs, "{command} {more}");
    }
}

/// The bytes that were trusted are the bytes that run.
#[test]
fn a_projects_script_that_was_changed_does_not_run() {
    let dirs = TestDirs::new();
    std::fs::write(dirs.file("line.sh"), "cat > /dev/null; echo as-trusted\n").expect("a file");
    settings(&dirs.file(".claude/settings.json"), "sh ./line.sh", &json!({}));
    let server = play(ok());
    let mut talk = Talk::begin(dirs.asking::<&str>(&server.url(), &["--trust-project"]));
    talk.until("as-trusted");
    let changed = "cat > /dev/null; echo as-changed; touch ran\n";
    std::fs::write(dirs.file("line.sh"), changed).expect("a file");
    talk.key("hello\r");
    let shown = talk.until("The status line was not started");
    assert!(!shown.contains("as-changed"), "{shown}");
    assert_eq!(talk.end(), Some(0));
    assert!(!dirs.file("ran").exists());
}

#[test]
fn status_line_hooks_and_sessions_show_name_the_same_transcript() {
    let dirs = TestDirs::new();
    let hook = json!([{"hooks": [{"type": "command", "command": "cat > hook.json"}]}]);
    let more = json!({"hooks": {"Stop": hook}});
    settings(&user(&dirs), "cat > status.json; echo mine", &more);
    let server = play(ok());
    let talk = Talk::begin(dirs.asking(&server.url(), &["hello"]));
    talk.when("an answer and the line", |screen| {
        let shown = screen.contents();
        shown.contains("mine") && shown.contains("ok") && shown.contains(READY)
    });
    assert_eq!(talk.end(), Some(0));
    let read = |name: &str| -> Value {
        let text = std::fs::read_to_string(dirs.file(name)).expect("it was told");
        serde_json::from_str(&text).expect("JSON")
    };
    let status = read("status.json");
    assert_eq!(status["transcript_path"], read("hook.json")["transcript_path"], "{status:#}");
    let id = status["session_id"].as_str().expect("an id");
    let shown = run(&mut dirs.windlass(&["sessions", "show", id, "--json"]));
    let shown: Value = serde_json::from_str(shown.answer()).expect("JSON");
    assert_eq!(shown["transcript"], status["transcript_path"]);
    let path = Path::new(status["transcript_path"].as_str().expect("a path"));
    let lines = std::fs::read_to_string(path).expect("a transcript");
    assert!(lines.contains("hello") && lines.contains(id), "{lines}");
}
