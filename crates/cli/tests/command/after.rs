//! What is seen to when a run is over: asked for beside it, kept, and never waited for with the result.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};
use windlass_rehearsal::{Rehearsal, Script, ScriptedAnswer, ScriptedFault};
use windlass_vocabulary::{Chore, RequestSource};

use crate::driven::StreamJsonProcess;
use crate::fixture::{PATIENCE, RunningCommand, TestDirs, play, run};

const ALL: &str = r#"{"autoMemoryEnabled":true,"afterRun":{"title":true,"suggestion":true}}"#;

/// What it may take where nobody ends it.
const AFTER_MAX: Duration = Duration::from_secs(15);

fn chore(chore: Chore, text: &str) -> ScriptedAnswer {
    ScriptedAnswer::text(text).when_source(RequestSource::Chore(chore))
}

fn script() -> Script {
    Script::new()
        .answer(ScriptedAnswer::text("It is done.").when_source(RequestSource::Main).repeat(0))
        .answer(chore(Chore::Title, "\"Fixing the date test\"\nmore").repeat(0))
        .answer(chore(Chore::Suggestion, "run the tests").repeat(0))
}

/// Who asked, in order.
fn sources(server: &Rehearsal) -> Vec<String> {
    let all = server.requests();
    all.iter().map(|one| one.header("x-windlass-source").unwrap_or_default().to_owned()).collect()
}

fn notebook(dirs: &TestDirs) -> PathBuf {
    let work = dirs.work().canonicalize().expect("a folder");
    let key: String = work
        .to_string_lossy()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    dirs.home().join(".claude/projects").join(key).join("memory/MEMORY.md")
}

#[test]
fn a_run_leaves_a_name_and_notes_that_the_next_session_reads() {
    let dirs = TestDirs::new();
    let notes = "- Tests run with `make check`.\nchatter\n- Commits are signed.";
    let server = play(script().answer(chore(Chore::Memory, notes).repeat(0)));
    let ask = ["-p", "fix the date test", "--settings", ALL];
    let done = run(&mut dirs.asking(&server.url(), &ask));
    assert_eq!(done.answer(), "It is done.\n");
    let mut asked = sources(&server);
    // They go out together.
    asked[1..].sort();
    assert_eq!(asked, ["main", "memory", "suggestion", "title"]);
    let kept = std::fs::read_to_string(notebook(&dirs)).expect("notes");
    assert_eq!(kept, "- Tests run with `make check`.\n- Commits are signed.\n");
    let list = run(&mut dirs.windlass(&["sessions", "list", "--json"]));
    let list: Value = serde_json::from_str(list.answer()).expect("JSON");
    assert!(list.to_string().contains(r#""name":"Fixing the date test""#), "{list}");
    let transcripts =
        notebook(&dirs).parent().and_then(|f| f.parent()).expect("a folder").to_owned();
    let transcript = std::fs::read_dir(transcripts)
        .expect("a folder")
        .flatten()
        .find(|entry| entry.path().extension().is_some_and(|end| end == "jsonl"))
        .map(|entry| std::fs::read_to_string(entry.path()).expect("a transcript"));
    assert!(transcript.expect("one").contains(r#""aiTitle":"Fixing the date test""#));
    // What is known already is not noted twice, and the next session is told of it.
    run(&mut dirs.asking(&server.url(), &ask)).answer();
    assert_eq!(std::fs::read_to_string(notebook(&dirs)).expect("notes"), kept);
    let second = server.requests().into_iter().nth(4).expect("a request").json().expect("JSON");
    assert!(second["messages"].to_string().contains("Commits are signed."), "{second}");
}

#[test]
fn nothing_is_asked_for_unless_somebody_wants_it() {
    let dirs = TestDirs::new();
    let server = play(script().answer(chore(Chore::Memory, "- x").repeat(0)));
    for arguments in [
        &["-p", "hi"][..],
        &["-p", "hi", "--bare", "--settings", ALL],
        &["-p", "hi", "--safe-mode", "--settings", ALL],
    ] {
        run(&mut dirs.asking(&server.url(), arguments)).answer();
    }
    // A project cannot make us pay before it is trusted.
    std::fs::create_dir(dirs.file(".claude")).expect("a folder");
    std::fs::write(dirs.file(".claude/settings.json"), ALL).expect("a file");
    assert_eq!(run(&mut dirs.asking(&server.url(), &["-p", "hi"])).code, Some(0));
    assert_eq!(sources(&server), ["main"; 4]);
    assert!(!notebook(&dirs).exists());
}

#[test]
fn the_result_does_not_wait_and_a_signal_ends_it() {
    let dirs = TestDirs::new();
    let stuck = ScriptedAnswer::from_fault(ScriptedFault::stall_after_event(0))
        .when_source(RequestSource::Chore(Chore::Memory));
    let server = play(script().answer(stuck));
    let mut running =
        RunningCommand::start(&mut dirs.asking(&server.url(), &["-p", "hi", "--settings", ALL]));
    running.wait_for_stdout("It is done.");
    let sent = Instant::now();
    running.signal(Signal::INT);
    let done = running.finish();
    // The signal may come while the result is still being written.
    assert!(matches!(done.code, Some(0 | 130)) && done.stderr.is_empty(), "{done:?}");
    assert!(sent.elapsed() < AFTER_MAX, "{done:?}");
    assert!(!notebook(&dirs).exists());
}

#[test]
fn notes_that_have_grown_long_are_made_shorter_and_the_old_ones_kept() {
    let dirs = TestDirs::new();
    let path = notebook(&dirs);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    let old: String = (0..150).map(|number| format!("- note {number}\n")).collect();
    std::fs::write(&path, &old).expect("a file");
    let script = script()
        .answer(chore(Chore::Memory, "- one more"))
        .answer(chore(Chore::Consolidation, "- notes 0 to 149\n- one more"));
    let server = play(script);
    let settings = r#"{"autoMemoryEnabled":true}"#;
    run(&mut dirs.asking(&server.url(), &["-p", "hi", "--settings", settings])).answer();
    assert_eq!(sources(&server), ["main", "memory", "consolidation"]);
    let kept = std::fs::read_to_string(&path).expect("notes");
    assert_eq!(kept, "- notes 0 to 149\n- one more\n");
    let before = std::fs::read_to_string(path.with_extension("md.before")).expect("the old ones");
    assert_eq!(before, format!("{old}- one more\n"));
}

#[test]
fn a_client_that_wants_suggestions_gets_them_behind_the_result() {
    for (flags, wants) in [(&[][..], true), (&["--prompt-suggestions"], false)] {
        let dirs = TestDirs::new();
        let server = play(script());
        let mut driven = StreamJsonProcess::start(&dirs, &server.url(), flags);
        let wants = json!({"subtype": "initialize", "promptSuggestions": wants});
        driven.ask(&wants).expect("it begins");
        driven.prompt("hi");
        driven.result();
        let suggested = driven.until(|frame| frame["type"] == "prompt_suggestion");
        assert_eq!(suggested["suggestion"], "run the tests");
        driven.end();
    }
    let dirs = TestDirs::new();
    let server = play(script());
    let settings = r#"{"afterRun":{"suggestion":true}}"#;
    let flags = ["-p", "hi", "--settings", settings, "--prompt-suggestions=off"];
    run(&mut dirs.asking(&server.url(), &flags)).answer();
    assert_eq!(sources(&server), ["main"]);
}

/// No one can take it up any more, and adapters start the next process at once.
#[test]
fn a_suggestion_is_dropped_when_the_input_ends() {
    let dirs = TestDirs::new();
    let stuck = ScriptedAnswer::from_fault(ScriptedFault::stall_after_event(0))
        .when_source(RequestSource::Chore(Chore::Suggestion));
    let answer = ScriptedAnswer::text("It is done.").when_source(RequestSource::Main);
    let server = play(Script::new().answer(answer).answer(stuck));
    let mut driven = StreamJsonProcess::start(&dirs, &server.url(), &[]);
    let wants = json!({"subtype": "initialize", "promptSuggestions": true});
    driven.ask(&wants).expect("it begins");
    driven.prompt("hi");
    driven.result();
    assert!(server.wait_for_requests_blocking(2, PATIENCE), "it asks for a suggestion");
    let ended = Instant::now();
    assert_eq!(driven.end().code, Some(0));
    assert!(ended.elapsed() < AFTER_MAX, "it waited for the suggestion");
}
