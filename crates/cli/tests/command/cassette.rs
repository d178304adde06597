//! Real traffic recorded through the command, and played again without the server.

use std::path::{Path, PathBuf};

use rustix::process::Signal;
use serde_json::json;
use windlass_rehearsal::{Script, ScriptedAnswer};

use crate::fixture::{RunningCommand, TestDirs, play, run};

const WINDLASS: &str = env!("CARGO_BIN_EXE_windlass");

/// Records a session with one tool call over the wire of this model.
fn record(dirs: &TestDirs, model: &str, provider: &str, key: &str) -> PathBuf {
    std::fs::write(dirs.file("notes.txt"), "forty-two\n").expect("a file");
    let script = Script::new()
        .answer(
            ScriptedAnswer::call("Bash", json!({"command": "cat notes.txt"})).add_text("I look."),
        )
        .answer(ScriptedAnswer::text("It says forty-two.").when_result("forty-two"));
    let server = play(script);
    let upstream = server.url();
    let arguments = [
        "record",
        "--out",
        "tape",
        "--provider",
        provider,
        "--upstream",
        &upstream,
        "--",
        WINDLASS,
        "-p",
        "What does it say?",
        "--model",
        model,
    ];
    let mut command = dirs.windlass(&arguments);
    let finished = run(command.env(key, "sk-a-very-secret-key"));
    assert_eq!((finished.code, finished.stdout.as_str()), (Some(0), "It says forty-two.\n"));
    assert!(finished.stderr.starts_with("windlass: recorded 2 exchanges in tape"), "{finished:?}");
    assert_eq!(server.request_count(), 2);
    let passed_on = |(_, value): &(String, String)| value.contains("sk-a-very-secret-key");
    assert!(server.requests()[0].headers.iter().any(passed_on), "the real server gets the key");
    dirs.file("tape")
}

fn tape_text(tape: &Path) -> String {
    let mut text = String::new();
    for entry in std::fs::read_dir(tape).expect("a folder") {
        text.push_str(&std::fs::read_to_string(entry.expect("an entry").path()).expect("text"));
    }
    text
}

#[test]
fn a_session_is_recorded_without_secrets_and_played_elsewhere() {
    for (model, provider, key) in [
        ("sonnet", "anthropic", "ANTHROPIC_API_KEY"),
        ("openai/gpt-5.5", "openai", "OPENAI_API_KEY"),
        ("openai-chat/gpt-5.5", "openai-chat", "OPENAI_API_KEY"),
        ("gemini/gemini-4-argon", "gemini", "GEMINI_API_KEY"),
    ] {
        let dirs = TestDirs::new();
        let tape = record(&dirs, model, provider, key);
        let text = tape_text(&tape);
        let work = dirs.work().canonicalize().expect("a folder");
        assert!(!text.contains("very-secret"), "{model}");
        assert!(
            !text.contains(&*work.to_string_lossy()),
            "{model}: where it was is its own affair"
        );

        // Another folder, another home, no key, no server.
        let other = TestDirs::new();
        std::fs::write(other.file("notes.txt"), "forty-two\n").expect("a file");
        let tape = tape.display().to_string();
        let arguments = [
            "rehearse",
            "--cassette",
            &tape,
            "--",
            WINDLASS,
            "-p",
            "What does it say?",
            "--model",
            model,
        ];
        let finished = run(&mut other.windlass(&arguments));
        assert_eq!(finished.answer(), "It says forty-two.\n", "{model}");
    }
}

#[test]
fn what_differs_from_the_recording_fails_the_replay() {
    let dirs = TestDirs::new();
    let tape = record(&dirs, "sonnet", "anthropic", "ANTHROPIC_API_KEY").display().to_string();
    let replay = |command: &[&str]| {
        let mut arguments = vec!["rehearse", "--cassette", &tape, "--"];
        arguments.extend_from_slice(command);
        run(&mut dirs.windlass(&arguments))
    };
    let other = [WINDLASS, "-p", "Something else?", "--model", "sonnet", "--max-retries", "0"];
    let finished = replay(&other);
    assert_eq!(finished.code, Some(1), "{finished:?}");
    assert!(finished.stderr.contains("differs from the recording"), "{finished:?}");
    assert!(finished.stderr.contains("not requested: 2 recorded exchanges"), "{finished:?}");

    let finished = replay(&["true"]);
    assert_eq!(finished.code, Some(1), "{finished:?}");
    let finished = replay(&["sh", "-c", "exit 7"]);
    assert_eq!(finished.code, Some(7), "the command's own code goes first: {finished:?}");
}

#[test]
fn mistakes_cost_one_line_each() {
    let dirs = TestDirs::new();
    std::fs::create_dir(dirs.file("full")).expect("a folder");
    std::fs::write(dirs.file("full/0001.jsonl"), "{}").expect("a file");
    let cases: &[(&[&str], i32, &[&str])] = &[
        (&["record", "--", "true"], 2, &["--out"]),
        (&["record", "--out", "full", "--", "true"], 2, &["full", "holds a recording"]),
        (&["record", "--out", "t", "--provider", "opena", "--", "true"], 2, &["openai"]),
        (&["record", "--out", "t", "--upstream", "nonsense", "--", "true"], 2, &["nonsense"]),
        (&["record", "--out", "t", "--", "no-such-program"], 127, &["no-such-program"]),
        (&["rehearse", "--cassette", "nowhere", "--", "true"], 2, &["nowhere"]),
        (&["rehearse", "--cassette", "full", "--", "true"], 2, &["0001.jsonl, line 1"]),
        (&["rehearse", "x.toml", "--cassette", "full"], 2, &["--cassette"]),
    ];
    for (arguments, code, words) in cases {
        let finished = run(&mut dirs.windlass(arguments));
        let line = finished.error_line(*code);
        for word in *words {
            assert!(line.contains(word), "{arguments:?}: {line}");
        }
    }
    let finished = run(&mut dirs.windlass(&["record", "--out", "none", "--", "true"]));
    assert_eq!((finished.code, finished.stdout.as_str()), (Some(0), ""));
    assert!(finished.stderr.contains("nothing was recorded"), "{finished:?}");
}

#[test]
fn by_itself_it_tells_what_to_set_and_ends_with_a_signal() {
    let dirs = TestDirs::new();
    let server = play(Script::new().answer(ScriptedAnswer::text("hello")));
    let arguments = ["record", "--out", "tape", "--upstream", &server.url()];
    let mut running = RunningCommand::start(&mut dirs.windlass(&arguments));
    running.wait_for_stdout("export ANTHROPIC_BASE_URL=http://127.0.0.1:");
    let url = running.seen_stdout().split("ANTHROPIC_BASE_URL=").nth(1).expect("a url").trim();
    let url = url.to_owned();
    assert_eq!(run(&mut dirs.asking(&url, &["-p", "hi"])).answer(), "hello\n");
    running.signal(Signal::INT);
    let finished = running.finish();
    assert_eq!(finished.code, Some(130), "{finished:?}");
    assert!(finished.stderr.contains("recorded 1 exchange in"), "{finished:?}");
}
