//! What may run in a session that nobody watches.

use serde_json::{Value, json};
use windlass_rehearsal::{Answer, Script};

use crate::stage::{Finished, World, play, run};

/// A model that wants to write a file, and says so.
fn wants_to_write() -> Script {
    Script::new()
        .answer(Answer::call("Bash", json!({"command": "touch made.txt"})))
        .answer(Answer::text("Over."))
}

fn ask(world: &World, flags: &[&str]) -> (Finished, Value) {
    let server = play(wants_to_write());
    let mut command = world.asking(&server.url(), &["-p", "go"]);
    command.args(flags);
    let finished = run(&mut command);
    let requests = server.requests();
    let last = requests.last().expect("a request").json().expect("JSON");
    (finished, last)
}

#[test]
fn what_would_have_to_be_asked_is_denied_and_told() {
    let world = World::new();
    let (finished, last) = ask(&world, &[]);
    assert_eq!((finished.code, finished.stdout.as_str()), (Some(0), "Over.\n"));
    assert!(!world.file("made.txt").exists());
    assert_eq!(finished.stderr.lines().count(), 1, "{finished:?}");
    assert!(finished.stderr.contains("not allowed: Bash touch made.txt:"), "{finished:?}");
    assert!(finished.stderr.contains("--allowedTools"), "{finished:?}");
    let said = last["messages"].to_string();
    assert!(said.contains("\"is_error\":true"), "{said}");

    let (finished, _) = ask(&world, &["--output-format", "json"]);
    let result: Value = serde_json::from_str(&finished.stdout).expect("one object");
    assert_eq!(result["permission_denials"][0]["tool_name"], "Bash");
    assert_eq!(result["permission_denials"][0]["tool_input"]["command"], "touch made.txt");
}

#[test]
fn rules_and_modes_let_it_run() {
    let allowing: &[&[&str]] = &[
        &["--dangerously-skip-permissions"],
        &["--permission-mode", "bypassPermissions"],
        &["--allowedTools", "Bash"],
        &["--allowed-tools", "Read,Bash(touch:*)"],
        &["--allowedTools", "Edit Bash(touch made.txt)"],
        &["--allowedTools", "Edit", "Bash"],
    ];
    for flags in allowing {
        let world = World::new();
        let (finished, _) = ask(&world, flags);
        assert_eq!(finished.answer(), "Over.\n", "{flags:?}");
        assert!(world.file("made.txt").exists(), "{flags:?}");
    }
}

#[test]
fn a_denied_rule_holds_in_every_mode() {
    let denying: &[&[&str]] = &[
        &["--disallowedTools", "Bash(touch:*)"],
        &["--disallowed-tools", "Bash", "--allowedTools", "Bash"],
    ];
    for flags in denying {
        let world = World::new();
        let mut all = vec!["--dangerously-skip-permissions"];
        all.extend_from_slice(flags);
        let (finished, last) = ask(&world, &all);
        assert_eq!(finished.code, Some(0), "{finished:?}");
        assert!(!world.file("made.txt").exists(), "{flags:?}");
        let offered = last["tools"].to_string().contains("\"Bash\"");
        assert_eq!(offered, flags[1].contains('('), "a bare name hides the tool");
    }
}

#[test]
fn more_directories_can_be_named() {
    let world = World::new();
    let other = tempfile::tempdir().expect("a folder");
    std::fs::write(other.path().join("far.txt"), "far away\n").expect("a file");
    let path = other.path().join("far.txt");
    let read = json!({"file_path": path.to_string_lossy()});
    let script = Script::new()
        .answer(Answer::call("Read", read))
        .answer(Answer::text("Seen.").when_result("far away"))
        .answer(Answer::text("Not seen."));
    let server = play(script);
    let directory = other.path().to_string_lossy();
    let arguments = ["-p", "go", "--add-dir", &*directory];
    let finished = run(&mut world.asking(&server.url(), &arguments));
    assert_eq!(finished.answer(), "Seen.\n");
}
