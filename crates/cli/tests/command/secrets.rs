//! Keys planted wherever keys are, and everything the command wrote searched for them.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;
use windlass_rehearsal::{Script, ScriptedAnswer, ScriptedFault};

use crate::fixture::{FinishedCommand, TestDirs, play, run};

/// In the environment, as the key of the server.
const KEY: &str = "canary-key-b7f2d90c31";
/// In the environment, as a header of the user's.
const HEADER: &str = "canary-header-5e01aa";
/// In the user's configuration, as a header.
const CONFIGURED: &str = "canary-configured-9c4417";
/// In an address.
const IN_ADDRESS: &str = "canary-address-0d35";
const ALL: [&str; 4] = [KEY, HEADER, CONFIGURED, IN_ADDRESS];

/// Where they were planted.
const PLANTED: [&str; 2] = ["planted.txt", "config.toml"];

fn asking(dirs: &TestDirs, url: &str, arguments: &[&str]) -> Command {
    let mut command = dirs.asking(url, arguments);
    command.env("ANTHROPIC_API_KEY", KEY);
    command.env("ANTHROPIC_CUSTOM_HEADERS", format!("X-Team-Token: {HEADER}"));
    command
}

/// Every file below a folder that holds one of them.
fn holders(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = entry.file_name();
        if path.is_dir() {
            found.extend(holders(&path));
        } else if !PLANTED.iter().any(|planted| name == *planted) {
            let bytes = std::fs::read(&path).unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes);
            found.extend(ALL.iter().any(|key| text.contains(key)).then_some(path));
        }
    }
    found
}

fn says_none(dirs: &TestDirs, finished: &FinishedCommand) {
    for key in ALL {
        assert!(!finished.stdout.contains(key), "{key} in {}", finished.stdout);
        assert!(!finished.stderr.contains(key), "{key} in {}", finished.stderr);
    }
    let folder = dirs.work();
    let holders = holders(folder.parent().expect("a folder"));
    assert!(holders.is_empty(), "{holders:?}");
}

fn planted() -> TestDirs {
    let dirs = TestDirs::new();
    dirs.config(&format!("[provider.anthropic]\nheaders = {{ X-Org-Key = \"{CONFIGURED}\" }}\n"));
    let text = format!("{KEY} {HEADER} {CONFIGURED}\n");
    std::fs::write(dirs.file("planted.txt"), text).expect("a file");
    dirs
}

/// A tool prints them, at length; its own environment is written down beside.
#[test]
fn no_key_is_in_anything_that_is_written() {
    let dirs = planted();
    let command = "env > env.txt; cat /proc/self/environ > own.txt; cat planted.txt
        while read -r line; do for i in {1..900}; do echo \"$line\"; done; done < planted.txt";
    let script = Script::new()
        .answer(ScriptedAnswer::call("Bash", json!({ "command": command })))
        .answer(ScriptedAnswer::call("Read", json!({"file_path": dirs.file("planted.txt")})))
        .answer(ScriptedAnswer::text("Over.").repeat(0));
    let server = play(script);
    // A user who pastes one into a prompt means the words around it.
    let prompt = format!("go, and never mind {KEY}");
    let flags = ["-p", &prompt, "--dangerously-skip-permissions", "--verbose"];
    let finished = run(&mut asking(&dirs, &server.url(), &flags));
    assert_eq!(finished.code, Some(0), "{finished:?}");
    says_none(&dirs, &finished);
    let requests = server.requests();
    assert_eq!(requests.len(), 3, "{finished:?}");
    for request in &requests {
        // Where they belong they are, and nowhere else.
        assert_eq!(request.header("x-api-key"), Some(KEY));
        assert_eq!(request.header("x-team-token"), Some(HEADER));
        assert_eq!(request.header("x-org-key"), Some(CONFIGURED));
        assert!(!ALL.iter().any(|key| request.body.to_string().contains(key)), "{}", request.body);
    }
    assert!(requests[2].body.to_string().contains("[key removed]"));
    let spilled = dirs.journals()[0].with_extension("spill");
    assert!(std::fs::read_dir(&spilled).expect("long output").next().is_some(), "{spilled:?}");
    for shown in ["show", "list"] {
        let id = dirs.journals()[0].file_stem().expect("a name").to_string_lossy().into_owned();
        let words: &[&str] =
            if shown == "show" { &["sessions", "show", &id] } else { &["sessions", "list"] };
        says_none(&dirs, &run(&mut asking(&dirs, &server.url(), words)));
    }
}

/// The server sends them back, and an address holds one.
#[test]
fn no_key_is_in_an_error() {
    let dirs = planted();
    let body = json!({"type": "error", "error": {"type": "invalid_request_error",
        "message": format!("{KEY}, {HEADER} and {CONFIGURED} are no good")}});
    for status in [400, 401, 403, 500] {
        let fault = ScriptedFault::refuse_with(status, body.to_string());
        let server = play(Script::new().answer(ScriptedAnswer::from_fault(fault).repeat(0)));
        for format in ["text", "json"] {
            let flags = ["-p", "go", "--verbose", "--max-retries", "0", "--output-format", format];
            let finished = run(&mut asking(&dirs, &server.url(), &flags));
            assert_eq!(finished.code, Some(1), "{finished:?}");
            says_none(&dirs, &finished);
        }
    }
    let server = play(Script::new().answer(ScriptedAnswer::text("unused")));
    let url = server.url().replace("://", &format!("://user:{IN_ADDRESS}@"));
    let finished = run(&mut asking(&dirs, &url, &["-p", "go", "--verbose"]));
    assert_ne!(finished.code, Some(0), "{finished:?}");
    says_none(&dirs, &finished);
}

/// Held commands see only their own environment, whichever process they look at.
#[cfg(target_os = "linux")]
#[test]
fn no_key_is_in_any_process_that_a_held_command_can_see() {
    let dirs = planted();
    let command = "cat /proc/[0-9]*/environ > everybody.txt; env >> everybody.txt";
    let script = Script::new()
        .answer(ScriptedAnswer::call("Bash", json!({ "command": command })))
        .answer(ScriptedAnswer::text("Over.").repeat(0));
    let server = play(script);
    let finished = run(&mut asking(&dirs, &server.url(), &["-p", "go", "--sandbox=required"]));
    if finished.code == Some(1) && finished.stderr.contains("required and not available") {
        assert!(std::env::var_os("WINDLASS_ALL_TESTS").is_none(), "{finished:?}");
        return;
    }
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert!(dirs.file("everybody.txt").exists(), "{finished:?}");
    says_none(&dirs, &finished);
}
