//! Settings files that change while a session goes on: looked at between prompts, through the same trust
//! as at the start, in every front end that takes more than one prompt.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use windlass_rehearsal::{Rehearsal, Script, ScriptedAnswer};

use crate::driven::StreamJsonProcess;
use crate::fixture::{TestDirs, play};

#[allow(clippy::needless_pass_by_value, reason = "JSON is written where it is made")]
fn write(path: impl AsRef<Path>, text: impl ToString) {
    let path = path.as_ref();
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    std::fs::write(path, text.to_string()).expect("a file");
}

fn user(dirs: &TestDirs) -> PathBuf {
    dirs.home().join(".claude/settings.json")
}

/// A model that runs one command at every prompt.
fn touching(prompts: u32) -> Rehearsal {
    let mut script = Script::new();
    for _ in 0..prompts {
        script = script
            .answer(ScriptedAnswer::call("Bash", json!({ "command": "touch made.txt" })))
            .answer(ScriptedAnswer::text("Over."));
    }
    play(script)
}

/// One prompt; is the file there afterwards?
fn makes(driven: &mut StreamJsonProcess, dirs: &TestDirs) -> bool {
    let _ = std::fs::remove_file(dirs.file("made.txt"));
    driven.prompt("go");
    let result = driven.result();
    assert_eq!(result["is_error"], false, "{result:#}");
    dirs.file("made.txt").exists()
}

#[test]
fn rules_take_effect_at_the_next_prompt_and_a_broken_file_loosens_nothing() {
    let dirs = TestDirs::new();
    let server = touching(6);
    let mut driven = StreamJsonProcess::start(&dirs, &server.url(), &[]);
    assert!(!makes(&mut driven, &dirs));
    write(user(&dirs), json!({"permissions": {"allow": ["Bash(touch:*)"]}}));
    assert!(makes(&mut driven, &dirs));
    let denying = json!({"permissions": {"allow": ["Bash(touch:*)"], "deny": ["Bash(touch:*)"]}});
    write(user(&dirs), &denying);
    assert!(!makes(&mut driven, &dirs));
    // Half of it, which alone would allow.
    write(user(&dirs), r#"{"permissions": {"allow": ["Bash(touch:*)"], "deny": ["#);
    assert!(!makes(&mut driven, &dirs));
    // It is gone, and with it everything it said.
    std::fs::remove_file(user(&dirs)).expect("removed");
    assert!(!makes(&mut driven, &dirs));
    write(user(&dirs), json!({"permissions": {"defaultMode": "bypassPermissions"}}));
    assert!(!makes(&mut driven, &dirs), "a mode is what a session begins in");
    let over = driven.end();
    assert_eq!(over.code, Some(0), "{over:?}");
    let lines: Vec<&str> = over.stderr.lines().collect();
    let told = [
        "`Bash(touch:*)` never allows anything: `Bash(touch:*)` is denied",
        "its earlier values apply",
    ];
    assert_eq!(lines.len(), told.len(), "{over:?}");
    for (line, end) in lines.into_iter().zip(told) {
        assert!(line.contains("settings.json, line 1, column"), "{over:?}");
        assert!(line.ends_with(end), "{over:?}");
    }
}

#[test]
fn what_the_command_line_allows_stays_when_a_file_takes_it_back() {
    let dirs = TestDirs::new();
    write(user(&dirs), json!({"permissions": {"allow": ["Bash(touch:*)"]}}));
    let server = touching(2);
    let mut driven =
        StreamJsonProcess::start(&dirs, &server.url(), &["--allowedTools", "Bash(touch:*)"]);
    assert!(makes(&mut driven, &dirs));
    write(user(&dirs), "{}");
    assert!(makes(&mut driven, &dirs));
    assert_eq!(driven.end().stderr, "");
}

#[test]
fn nothing_changes_while_a_prompt_is_worked_on() {
    let dirs = TestDirs::new();
    let wait = "until [ -e go.txt ]; do sleep 0.02; done";
    let script = Script::new()
        .answer(ScriptedAnswer::call("Bash", json!({ "command": wait })))
        .answer(ScriptedAnswer::call("Bash", json!({ "command": "touch made.txt" })))
        .answer(ScriptedAnswer::text("Over."))
        .answer(ScriptedAnswer::call("Bash", json!({ "command": "touch made.txt" })))
        .answer(ScriptedAnswer::text("Over."));
    let server = play(script);
    let mut driven =
        StreamJsonProcess::start(&dirs, &server.url(), &["--dangerously-skip-permissions"]);
    driven.prompt("go");
    driven.until(|frame| frame["type"] == "assistant" && frame.to_string().contains("go.txt"));
    write(user(&dirs), json!({"permissions": {"deny": ["Bash(touch:*)"]}}));
    write(dirs.file("go.txt"), "");
    driven.result();
    assert!(dirs.file("made.txt").exists());
    assert!(!makes(&mut driven, &dirs));
    assert_eq!(driven.end().stderr, "");
}

fn hook(command: &str) -> Value {
    json!([{ "hooks": [{ "type": "command", "command": command }] }])
}

#[test]
fn hooks_come_and_go_with_their_file() {
    let dirs = TestDirs::new();
    let server = touching(3);
    let flags = ["--allowedTools", "Bash(touch:*)"];
    let mut driven = StreamJsonProcess::start(&dirs, &server.url(), &flags);
    assert!(makes(&mut driven, &dirs));
    write(user(&dirs), json!({"hooks": {"PreToolUse": hook("cat > told.json; exit 2")}}));
    assert!(!makes(&mut driven, &dirs));
    let told = std::fs::read_to_string(dirs.file("told.json")).expect("it was asked");
    let told: Value = serde_json::from_str(&told).expect("JSON");
    assert!(told["transcript_path"].as_str().is_some_and(|path| !path.is_empty()), "{told:#}");
    std::fs::remove_file(user(&dirs)).expect("removed");
    assert!(makes(&mut driven, &dirs));
    assert_eq!(driven.end().stderr, "");
}

#[test]
fn a_nested_session_that_starts_later_has_the_hooks_of_then() {
    let dirs = TestDirs::new();
    let agent = json!({"description": "do", "prompt": "do it", "subagent_type": "general-purpose"});
    let script = Script::new()
        .answer(ScriptedAnswer::text("Nothing."))
        .answer(ScriptedAnswer::call("Agent", agent))
        .answer(ScriptedAnswer::call("Bash", json!({ "command": "touch made.txt" })))
        .answer(ScriptedAnswer::text("Tried."))
        .answer(ScriptedAnswer::text("Over."));
    let server = play(script);
    let flags = ["--allowedTools", "Bash(touch:*)", "Agent"];
    let mut driven = StreamJsonProcess::start(&dirs, &server.url(), &flags);
    assert!(!makes(&mut driven, &dirs));
    let matcher = json!([{ "matcher": "Bash", "hooks": [
        { "type": "command", "command": "touch asked.txt; exit 2" }] }]);
    write(user(&dirs), json!({"hooks": {"PreToolUse": matcher}}));
    assert!(!makes(&mut driven, &dirs));
    assert!(dirs.file("asked.txt").exists());
    assert_eq!(driven.end().code, Some(0));
}

#[test]
fn a_hook_may_refuse_a_change_and_is_told_what_changed() {
    let dirs = TestDirs::new();
    let allowing = json!({"permissions": {"allow": ["Bash(touch:*)"]}});
    let asking = json!([{ "matcher": "user_settings", "hooks": [
        { "type": "command", "command": "cat > told.json; echo not today >&2; exit 2" }] }]);
    write(user(&dirs), json!({"hooks": {"ConfigChange": asking}}));
    let server = touching(2);
    let mut driven = StreamJsonProcess::start(&dirs, &server.url(), &[]);
    // It has begun when it answers.
    driven.ask(&json!({"subtype": "initialize"})).expect("a greeting");
    write(user(&dirs), &allowing);
    assert!(!makes(&mut driven, &dirs), "the hook said no");
    let told = std::fs::read_to_string(dirs.file("told.json")).expect("it was asked");
    let told: Value = serde_json::from_str(&told).expect("JSON");
    assert_eq!(told["hook_event_name"], "ConfigChange", "{told:#}");
    assert_eq!(told["source"], "user_settings", "{told:#}");
    assert_eq!(told["file_path"], user(&dirs).to_string_lossy().as_ref(), "{told:#}");
    // Another file is nothing to it, and what it refused stays out.
    write(dirs.home().join(".config/windlass/settings.json"), "{}");
    std::fs::remove_file(dirs.file("told.json")).expect("removed");
    let deny = json!({"permissions": {"deny": ["WebFetch"]}});
    write(dirs.file(".claude/settings.local.json"), deny);
    std::fs::remove_file(dirs.home().join(".config/windlass/settings.json")).expect("removed");
    assert!(!makes(&mut driven, &dirs));
    assert!(!dirs.file("told.json").exists());
    let over = driven.end();
    assert_eq!(over.stderr.lines().count(), 1, "{over:?}");
    assert!(over.stderr.contains("a hook refused the change"), "{over:?}");
    assert!(over.stderr.contains("not today"), "{over:?}");
}

/// The client is heard while its own hook is waited for.
#[test]
fn a_hook_inside_the_client_is_asked_too() {
    for refuses in [true, false] {
        let dirs = TestDirs::new();
        let server = touching(1);
        let mut driven = StreamJsonProcess::start(&dirs, &server.url(), &[]);
        let hooks = json!({"ConfigChange": [{"hookCallbackIds": ["c1"]}]});
        driven.ask(&json!({"subtype": "initialize", "hooks": hooks})).expect("a greeting");
        write(user(&dirs), json!({"permissions": {"allow": ["Bash(touch:*)"]}}));
        driven.prompt("go");
        let asked = driven.asked("hook_callback");
        assert_eq!(asked["request"]["input"]["source"], "user_settings", "{asked:#}");
        // It answers others meanwhile.
        driven.ask(&json!({"subtype": "get_context_usage"})).expect("an answer");
        let answer = match refuses {
            true => json!({"decision": "block", "reason": "no"}),
            false => json!({}),
        };
        driven.answer(&asked, &answer);
        driven.result();
        assert_eq!(dirs.file("made.txt").exists(), !refuses);
        let over = driven.end();
        assert_eq!(over.stderr.lines().count(), usize::from(refuses), "{over:?}");
    }
}

#[test]
fn a_project_that_changes_is_trusted_no_more_than_one_that_is_found() {
    let dirs = TestDirs::new();
    let server = touching(3);
    let flags = ["--allowedTools", "Bash(touch:*)"];
    let mut driven = StreamJsonProcess::start(&dirs, &server.url(), &flags);
    let project = dirs.file(".claude/settings.json");
    write(&project, json!({"hooks": {"PreToolUse": hook("touch planted.txt")}}));
    assert!(makes(&mut driven, &dirs));
    assert!(!dirs.file("planted.txt").exists(), "nobody trusted it");
    // What it forbids counts at once.
    write(&project, json!({"permissions": {"deny": ["Bash(touch:*)"]}}));
    assert!(!makes(&mut driven, &dirs));
    std::fs::remove_file(&project).expect("removed");
    assert!(makes(&mut driven, &dirs));
    let over = driven.end();
    assert_eq!(over.stderr.lines().count(), 1, "{over:?}");
    assert!(over.stderr.contains("is not trusted, so its hooks do not apply"), "{over:?}");
}

#[test]
fn in_a_terminal_it_is_told_and_counts() {
    use crate::conversation::talk::{READY, Talk};
    let dirs = TestDirs::new();
    let server = touching(1);
    let mut talk = Talk::begin(dirs.asking::<&str>(&server.url(), &[]));
    talk.until(READY);
    write(user(&dirs), json!({"permissions": {"allow": ["Bash(touch:*)"]}}));
    talk.key("make it\r");
    let shown = talk.until("Over.");
    assert!(dirs.file("made.txt").exists());
    let words: Vec<&str> = shown.split_whitespace().collect();
    assert!(words.join(" ").contains("Settings reloaded:"), "{shown}");
    assert_eq!(talk.end(), Some(0));
}
