//! What commands did to the working directory is shown: as a diff, in frames, to hooks, and what cannot be
//! restored is named.

use serde_json::{Value, json};
use windlass_rehearsal::{Script, ScriptedAnswer};

use crate::fixture::{TestDirs, play, run};
use crate::recorded_session::{SESSION, diff, find_call, record_session, rewind};
use crate::work_files::{bash, text, write};

#[test]
fn a_diff_shows_a_session_a_turn_and_a_call() {
    let dirs = TestDirs::new();
    write(&dirs.file("a"), "one\n");
    let _server =
        record_session(&dirs, &[&["echo two >> a", "echo b > b"], &["echo three >> a; rm b"]]);
    let whole = diff(&dirs, &[]);
    assert!(whole.contains("+two\n+three\n") && !whole.contains("b/b"), "{whole}");
    let first = diff(&dirs, &["--turn", "1"]);
    assert!(
        first.contains("+two") && first.contains("+++ b/b") && !first.contains("three"),
        "{first}"
    );
    let last = diff(&dirs, &["--last", "--stat"]);
    assert!(last.contains("modified  a  +1 -0") && last.contains("deleted   b  +0 -1"), "{last}");
    assert!(last.ends_with("2 files changed, +1 -1\n"), "{last}");
    let object: Value = serde_json::from_str(&diff(&dirs, &["--json"])).expect("JSON");
    assert_eq!(object["files"][0]["path"], "a", "{object}");
    let call = find_call(&dirs, "echo b > b");
    let shown = diff(&dirs, &["--call", &call]);
    assert!(shown.contains("+++ b/b") && !shown.contains("two"), "{shown}");
    assert!(
        run(&mut dirs.windlass(&["diff", SESSION, "--turn", "9"])).error_line(2).contains("has 2")
    );
    run(&mut dirs.windlass(&["diff", SESSION, "--call", "nothing"])).error_line(2);
}

#[test]
fn frames_name_the_files_that_calls_changed() {
    let dirs = TestDirs::new();
    let script = Script::new().answer(bash("echo x > made")).answer(ScriptedAnswer::text("Done."));
    let server = play(script);
    let arguments = [
        "--dangerously-skip-permissions",
        "-p",
        "go",
        "--output-format",
        "stream-json",
        "--verbose",
    ];
    let finished = run(&mut dirs.asking(&server.url(), &arguments));
    let frames: Vec<Value> =
        finished.answer().lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let place =
        frames.iter().position(|frame| frame["subtype"] == "files_changed").expect("a frame");
    assert_eq!(frames[place]["files"], json!([{"path": "made", "kind": "created"}]));
    assert_eq!(frames[place]["count"], 1);
    let end = frames.iter().position(|frame| frame["type"] == "result").expect("a result");
    assert!(place < end, "what changed is told before the run is over");
}

#[test]
fn hooks_are_told_which_files_changed_commands_included() {
    let dirs = TestDirs::new();
    write(&dirs.file("a"), "one\n");
    let log = dirs.home().join("hooks.log");
    let script = Script::new()
        .answer(bash("echo two > a; echo b > b"))
        .answer(bash("rm b"))
        .answer(ScriptedAnswer::text("Done.").repeat(0));
    let server = play(script);
    let command = format!("tr -d '\\n' >> {0}; echo >> {0}", log.display());
    let hooks = json!([{"hooks": [{"type": "command", "command": command}]}]);
    let settings = json!({"hooks": {"PostToolUse": hooks, "Stop": hooks}}).to_string();
    let flags = ["--dangerously-skip-permissions", "--settings", &settings, "-p", "go"];
    run(&mut dirs.asking(&server.url(), &flags)).answer();
    let told: Vec<Value> = text(&log)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect();
    let files = |told: &Value| told["files_changed"].to_string();
    let [first, second, stop] = told.as_slice() else { panic!("{told:?}") };
    assert_eq!(
        files(first),
        json!([{"path": "a", "kind": "modified"}, {"path": "b", "kind": "created"}]).to_string()
    );
    assert_eq!(files(second), json!([{"path": "b", "kind": "deleted"}]).to_string());
    assert_eq!(
        (&stop["hook_event_name"], &stop["files_changed_count"]),
        (&json!("Stop"), &json!(2))
    );
}

#[test]
fn what_cannot_be_restored_is_told_and_not_counted() {
    let dirs = TestDirs::new();
    write(&dirs.file("a"), "one\n");
    let big = std::fs::File::create(dirs.file("big")).expect("a file");
    big.set_len(17 << 20).expect("a size");
    let _server = record_session(&dirs, &[&["echo two > a; echo more >> big"]]);
    let told = rewind(&dirs, &["--to", "1", "--files"]);
    let line = told.lines().find(|line| line.contains("/big")).expect("a line");
    assert!(line.contains("cannot be restored"), "{told}");
    assert!(told.contains("Restored 1 file."), "{told}");
    assert_eq!(text(&dirs.file("a")), "one\n");
    assert_eq!(dirs.file("big").metadata().expect("a file").len(), (17 << 20) + 5);
}

#[test]
fn a_home_is_not_kept_as_a_whole_and_edits_go_back_all_the_same() {
    let dirs = TestDirs::new();
    let path = dirs.home().join("note");
    let write_call = json!({"file_path": path, "content": "new\n"});
    let script = Script::new()
        .answer(ScriptedAnswer::call("Write", write_call))
        .answer(bash("echo by a command > other"))
        .answer(ScriptedAnswer::text("Done."));
    let server = play(script);
    let mut command = dirs.asking(&server.url(), &["--dangerously-skip-permissions"]);
    command.args(["--session-id", SESSION, "--verbose", "-p", "go"]).current_dir(dirs.home());
    let finished = run(&mut command);
    assert!(finished.stderr.contains("home folder"), "{}", finished.stderr);
    rewind(&dirs, &["--to", "1", "--files"]);
    assert!(!path.exists(), "what a tool named is taken back as before");
    assert!(dirs.home().join("other").exists(), "what a command did there is not");
}
