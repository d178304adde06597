//! What a killed process left running is found and ended by the next start of its session.

use std::process::Stdio;
use std::time::Instant;

use serde_json::json;
use windlass_rehearsal::{Script, ScriptedAnswer};

use crate::fixture::{PATIENCE, TestDirs, play, run};

/// Waits until it holds, for a while.
fn until(is_so: impl Fn() -> bool) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        if is_so() {
            return true;
        }
        std::thread::yield_now();
    }
    false
}

fn is_running(id: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
}

#[test]
fn no_command_outlives_a_killed_process_for_long() {
    // A command that is waited for, one in the background, and one that only reads.
    for (name, input) in [
        ("waited for", json!({"command": "echo $$ > id; sleep 300; true"})),
        ("left", json!({"command": "echo $$ > id; sleep 300; true", "run_in_background": true})),
        ("deep", json!({"command": "setsid bash -c 'echo $$ > id; exec sleep 300' & wait"})),
    ] {
        let dirs = TestDirs::new();
        let script = Script::new()
            .answer(ScriptedAnswer::call("Bash", input))
            .answer(ScriptedAnswer::text("done").when("again"))
            .answer(ScriptedAnswer::call("Bash", json!({"command": "sleep 300"})));
        let server = play(script);
        let flags = ["-p", "go", "--journal", "run.jsonl", "--dangerously-skip-permissions"];
        let mut first = dirs.asking(&server.url(), &flags);
        let mut child = first.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a child");
        let id = || std::fs::read_to_string(dirs.file("id")).unwrap_or_default();
        let has_begun = until(|| id().ends_with('\n'));
        child.kill().expect("it can be killed");
        child.wait().expect("it ends");
        let id = id().trim().to_owned();
        assert!(has_begun && is_running(&id), "{name}: it outlives its owner");
        let flags = ["-p", "again", "--journal", "run.jsonl", "--verbose"];
        let finished = run(&mut dirs.asking(&server.url(), &flags));
        assert_eq!(finished.code, Some(0), "{name}: {finished:?}");
        assert!(until(|| !is_running(&id)), "{name}: {id} is still there");
        assert!(finished.stderr.contains("left running was ended"), "{name}: {finished:?}");
    }
}
