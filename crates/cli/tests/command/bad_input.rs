//! Mistakes: one line with the cause and what to do, a code that says so, and nothing written.

use std::ffi::{OsStr, OsString};
use std::net::TcpListener;
use std::os::unix::ffi::OsStrExt;

use serde_json::{Value, json};
use windlass_rehearsal::{Script, ScriptedAnswer};

use crate::driven::StreamJsonProcess;
use crate::fixture::{TestDirs, play, run, run_with_input};

#[test]
fn every_mistake_costs_one_line() {
    let cases: &[(&[&str], i32, &[&str])] = &[
        (&["--modle", "x", "-p", "hi"], 2, &["no flag `--modle`; did you mean `--model`?"]),
        (&["-p", "hi", "--frobnicate"], 2, &["no flag `--frobnicate`; see windlass --help"]),
        (&["mend", "the", "bug"], 2, &["`the` is another", "quote it: \"mend the bug\""]),
        (&["-p", "mend", "the", "bug", "--verbose"], 2, &["quote it: \"mend the bug\""]),
        (&["--model", "opus", "mend", "the bug"], 2, &["`the bug` is another; quote it"]),
        (&["--model", "opus", "mcp", "list"], 2, &["before all flags; see windlass mcp --help"]),
        (&["export", "a", "b", "c"], 2, &["unexpected argument", "see windlass export --help"]),
        (&["dmeo"], 2, &["`dmeo`", "windlass demo"]),
        (&["rehaerse", "x.toml"], 2, &["`rehaerse`", "windlass rehearse"]),
        (&["fix the tests"], 2, &["-p"]),
        (&["--verbose"], 2, &["-p"]),
        (&["-p", ""], 2, &["empty", "-p"]),
        (&["-p", "  \n "], 2, &["empty"]),
        (&["-p"], 2, &["empty"]),
        (&["-p", "one", "two"], 2, &["two", "quotes"]),
        (&["-p", "hi", "--max-turns", "0"], 2, &["--max-turns"]),
        (&["-p", "hi", "--max-turns", "many"], 2, &["many"]),
        (&["-p", "hi", "--max-budget-usd", "-1"], 2, &["-1"]),
        (&["-p", "hi", "--max-budget-usd", "0"], 2, &["more than 0"]),
        (&["-p", "hi", "--output-format", "yaml"], 2, &["yaml", "json"]),
        (&["-p", "hi", "--permission-mode", "yolo"], 2, &["yolo", "acceptEdits"]),
        (&["-p", "hi", "--allowedTools", "Bash(ls"], 2, &["Bash(ls", "parenthesis"]),
        (&["-p", "hi", "--add-dir", "nowhere"], 2, &["nowhere"]),
        (&["-p", "hi", "--fallback-model", "a,b,c,d"], 2, &["--fallback-model"]),
        (&["-p", "hi", "--model", "mystery", "--max-budget-usd", "1"], 2, &["mystery", "--price"]),
        (&["-p", "hi"], 1, &["ANTHROPIC_API_KEY", "windlass demo"]),
        (&["rehearse"], 2, &["SCRIPT"]),
        (&["rehearse", "nowhere.toml"], 2, &["nowhere.toml", "--example"]),
        (&["bound", "--max-turns", "x"], 2, &["x"]),
        (&["demo", "--slow"], 2, &["--slow", "see windlass demo --help"]),
        (&["hooks", "test"], 2, &["not provided: <EVENT>; see windlass hooks test --help"]),
        (&["mcp", "add"], 2, &["not provided: <NAME> <TARGET>; see windlass mcp add --help"]),
    ];
    for (arguments, code, words) in cases {
        let dirs = TestDirs::new();
        let finished = run(&mut dirs.windlass(arguments));
        let line = finished.error_line(*code);
        for word in *words {
            assert!(line.contains(word), "{arguments:?}: {line}");
        }
        assert_eq!(dirs.leftovers(), Vec::<String>::new(), "{arguments:?}");
    }
}

#[test]
fn without_any_argument_it_is_kind() {
    let dirs = TestDirs::new();
    let finished = run(&mut dirs.windlass::<&str>(&[]));
    assert_eq!(finished.code, Some(2));
    assert!(finished.stderr.contains("windlass demo"), "{finished:?}");
}

#[test]
fn help_teaches_and_version_tells() {
    let dirs = TestDirs::new();
    for flag in ["-h", "--help"] {
        let finished = run(&mut dirs.windlass(&[flag]));
        let text = finished.answer();
        for words in ["Examples:", "windlass demo", "--max-budget-usd", "ANTHROPIC_API_KEY", "130"]
        {
            assert!(text.contains(words), "{words}: {text}");
        }
    }
    for command in ["demo", "rehearse", "record", "bound", "models", "key"] {
        let finished = run(&mut dirs.windlass(&[command, "--help"]));
        assert!(finished.answer().contains("Examples:\n  windlass "), "{finished:?}");
    }
    for flag in ["-v", "--version"] {
        let finished = run(&mut dirs.windlass(&[flag]));
        assert_eq!(finished.answer(), concat!("windlass ", env!("CARGO_PKG_VERSION"), "\n"));
    }
}

#[test]
fn a_prompt_that_is_not_text_is_refused() {
    let dirs = TestDirs::new();
    let server = play(Script::new().answer(ScriptedAnswer::text("never")));
    let arguments = [OsStr::new("-p"), OsStr::from_bytes(b"\xff\xfe")];
    let finished = run(&mut dirs.asking(&server.url(), &arguments));
    assert!(finished.error_line(2).contains("UTF-8"));

    let inputs: &[(&[u8], &str)] =
        &[(b"\x7fELF\x02\x01\x01\x00\x00", "byte 7"), (b"text, then \xc3\x28", "byte 11")];
    for arguments in [&["-p"][..], &["-p", "look at this"]] {
        for (input, words) in inputs {
            let finished = run_with_input(&mut dirs.asking(&server.url(), arguments), input);
            assert!(finished.error_line(2).contains(words), "{finished:?}");
        }
    }
    let too_long = "x".repeat(11_000_000);
    let mut command = dirs.asking(&server.url(), &["-p", "look at this"]);
    let finished = run_with_input(&mut command, too_long.as_bytes());
    assert!(finished.error_line(2).contains("10 MB"), "{finished:?}");
    assert_eq!(server.request_count(), 0);
    assert_eq!(dirs.leftovers(), Vec::<String>::new());
}

#[test]
fn a_server_that_is_not_there_is_told_soon() {
    let dirs = TestDirs::new();
    let port = {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.local_addr().expect("an address").port()
    };
    let url = format!("http://127.0.0.1:{port}");
    let finished = run(&mut dirs.asking(&url, &["-p", "hi"]));
    let line = finished.error_line(1);
    assert!(line.contains(&url) && line.contains("ANTHROPIC_BASE_URL"), "{line}");
    // A server on this machine gets ten seconds to come up; the tries alone would take minutes.
    assert!(finished.took.as_secs() < 40, "{finished:?}");

    let finished = run(&mut dirs.asking(&url, &["-p", "hi", "--max-retries", "0"]));
    let line = finished.error_line(1);
    assert!(line.contains(&url) && line.contains("ANTHROPIC_BASE_URL"), "{line}");
}

#[test]
fn an_environment_that_makes_no_sense_is_refused() {
    let cases: &[(&str, OsString, &str)] = &[
        ("ANTHROPIC_BASE_URL", "nonsense".into(), "nonsense"),
        ("ANTHROPIC_BASE_URL", "ftp://127.0.0.1".into(), "ftp"),
        ("ANTHROPIC_CUSTOM_HEADERS", "X-Fine: 1\nno colon".into(), "line 2"),
        ("ANTHROPIC_CUSTOM_HEADERS", "X Bad: hidden-value".into(), "X Bad"),
        ("ANTHROPIC_API_KEY", OsStr::from_bytes(b"\xff").into(), "ANTHROPIC_API_KEY"),
    ];
    for (name, value, words) in cases {
        let dirs = TestDirs::new();
        let mut command = dirs.asking("http://127.0.0.1:1", &["-p", "hi"]);
        command.env(name, value);
        let finished = run(&mut command);
        let line = finished.error_line(1);
        assert!(line.contains(words), "{line}");
        assert!(!line.contains("hidden-value"), "{line}");
        assert_eq!(dirs.leftovers(), Vec::<String>::new());
    }
}

/// A file of another program is not ours to repair.
#[test]
fn a_file_that_is_no_journal_is_left_as_it_is() {
    let dirs = TestDirs::new();
    for text in ["notes without an end", "# Notes\nmore\n", "\u{89}PNG\u{1a}\n\0\0"] {
        let path = dirs.file("notes.md");
        std::fs::write(&path, text).expect("a file");
        let path = path.to_str().expect("a path");
        let mut command = dirs.asking("http://127.0.0.1:1", &["-p", "hi", "--journal", path]);
        let finished = run(&mut command);
        assert!(finished.error_line(1).contains("is not a journal"), "{finished:?}");
        assert_eq!(std::fs::read_to_string(path).expect("a file"), text);
    }
}

#[test]
fn a_rule_for_a_tool_that_does_not_exist_is_refused() {
    let dirs = TestDirs::new();
    for flag in ["--disallowedTools", "--allowedTools"] {
        let mut command = dirs.asking("http://127.0.0.1:1", &["-p", "hi", flag, "Bsh(rm:*)"]);
        assert!(run(&mut command).error_line(2).contains("did you mean Bash?"));
    }
}

/// A script that redirects to a full disk must not believe that it has the answer.
#[cfg(target_os = "linux")]
#[test]
fn an_answer_that_could_not_be_written_is_no_success() {
    let dirs = TestDirs::new();
    let server = play(Script::new().answer(ScriptedAnswer::text("An answer.")));
    let full = || std::fs::File::create("/dev/full").expect("a full disk");
    for arguments in [&["-p", "hi"][..], &["bound"], &["sessions", "list", "--json"]] {
        let mut command = dirs.asking(&server.url(), arguments);
        let output = command.stdout(full()).output().expect("it runs");
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {words}");
        assert!(words.contains("could not be written to standard output"), "{words}");
    }
}

/// Its client waits for a result, and has nothing else to act on.
#[test]
fn a_prompt_that_cannot_be_read_ends_with_a_result_that_says_why() {
    let dirs = TestDirs::new();
    let script = Script::new()
        .answer(ScriptedAnswer::text("First.").when("one"))
        .answer(ScriptedAnswer::text("Second.").when("two"));
    let server = play(script);
    let mut driven = StreamJsonProcess::start(&dirs, &server.url(), &["--replay-user-messages"]);
    let message = json!({"role": "user", "content": "hi"});
    driven.prompt("one");
    let invalid = [
        (json!({"type": "user", "uuid": 5, "message": message}), "line 2", Value::Null),
        (json!({"type": "user", "uuid": "u-3", "message": "hi"}), "line 3", json!("u-3")),
        (json!({"type": "user", "uuid": "u-4"}), "`message`", json!("u-4")),
        (json!({"type": "user", "message": message, "priority": 1}), "line 5", Value::Null),
    ];
    invalid.iter().for_each(|(line, ..)| driven.say(line));
    let first = driven.result();
    assert_eq!((&first["is_error"], &first["result"]), (&json!(false), &json!("First.")));
    for (line, words, uuid) in &invalid {
        let result = driven.result();
        assert_eq!(result["is_error"], true, "{result}");
        assert_eq!(result["subtype"], "error_during_execution", "{result}");
        assert!(result["errors"][0].as_str().is_some_and(|why| why.contains(words)), "{result}");
        assert_eq!(&result["user_message_uuid"], uuid, "{line}: {result}");
    }
    // What is no prompt has no turn; it is told at once.
    for line in [json!([1]), json!({"type": "control_request", "request_id": 5, "request": {}})] {
        driven.say(&line);
        let told = driven.until(|frame| frame["subtype"] == "informational");
        assert_eq!(told["level"], "warning", "{told}");
        assert!(told["content"].as_str().is_some_and(|why| why.contains("line ")), "{told}");
    }
    driven.prompt("two");
    assert_eq!(driven.result()["result"], "Second.");
    let finished = driven.end();
    assert_eq!(finished.code, Some(0), "the last prompt was answered: {finished:?}");
    assert_eq!(finished.stderr.lines().count(), 6, "{finished:?}");
    assert_eq!(server.request_count(), 2);
    let replayed = finished.frames.iter().filter(|frame| frame["isReplay"] == true);
    assert_eq!(replayed.count(), 2, "only what was sent is repeated");
}
