//! What commands did to the working directory is shown: as a diff, in frames, to hooks, and what cannot be
//! restored is named.

use serde_json::{Value, json};
use windlass_rehearsal::{Script, ScriptedAnswer};

use crate::conversation::talk::{READY, Talk};
use crate::driven::StreamJsonProcess;
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
fn a_client_takes_files_back_to_before_a_prompt_or_a_call() {
    let dirs = TestDirs::new();
    write(&dirs.file("a"), "one\n");
    let script = Script::new()
        .answer(bash("echo two >> a"))
        .answer(bash("echo b > b"))
        .answer(ScriptedAnswer::text("Done.").repeat(0));
    let server = play(script);
    let flags = ["--dangerously-skip-permissions", "--session-id", SESSION];
    let mut driven = StreamJsonProcess::start(&dirs, &server.url(), &flags);
    const PROMPT: &str = "5b0e9d8c-7b6a-4958-8473-625140312233";
    driven.say(&json!({
        "type": "user", "uuid": PROMPT, "message": {"role": "user", "content": "change them"},
    }));
    assert_eq!(driven.result()["is_error"], false);
    let mut ask = |point: &str, is_preview: bool| {
        driven.ask(&json!({
            "subtype": "rewind_files", "user_message_id": point, "dry_run": is_preview,
        }))
    };
    let shown = ask(PROMPT, true).expect("a preview");
    assert_eq!(shown["canRewind"], true, "{shown}");
    assert_eq!(shown["filesChanged"].as_array().map(Vec::len), Some(2), "{shown}");
    assert_eq!((text(&dirs.file("a")), dirs.file("b").exists()), ("one\ntwo\n".into(), true));
    assert_eq!(ask("nothing", true).expect("an answer")["canRewind"], false);
    ask("nothing", false).expect_err("no such prompt");
    let call = find_call(&dirs, "echo b > b");
    ask(&call, false).expect("files go back to before a call");
    assert_eq!((text(&dirs.file("a")), dirs.file("b").exists()), ("one\ntwo\n".into(), false));
    write(&dirs.file("a"), "by hand\n");
    let refused = ask(PROMPT, false).expect_err("a person changed it");
    assert!(refused.contains("/a"), "{refused}");
    write(&dirs.file("a"), "one\ntwo\n");
    ask(PROMPT, false).expect("files go back");
    assert_eq!(text(&dirs.file("a")), "one\n");
    assert_eq!(driven.end().code, Some(0));
}

#[test]
fn the_terminal_names_what_a_command_changed_and_shows_the_difference() {
    let dirs = TestDirs::new();
    write(&dirs.file("a"), "one\n");
    let script = Script::new()
        .answer(bash("echo two >> a; echo b > b; echo c > c"))
        .answer(ScriptedAnswer::text("All done."));
    let server = play(script);
    let flags = ["--dangerously-skip-permissions", "change them"];
    let mut talk = Talk::sized(dirs.asking(&server.url(), &flags), 40, 100);
    let shown = talk.until("All done.");
    let shown =
        if shown.contains("3 files changed") { shown } else { talk.until("3 files changed") };
    assert!(shown.contains("a, b (new), c (new)"), "{shown}");
    talk.until(READY);
    talk.key("/diff\r");
    let shown = talk.until("3 files changed since your last prompt.");
    for words in ["  a  +1 −0\n", "2 +two\n", "  b  +1 −0  created\n", "1 +c\n"] {
        assert!(shown.contains(words), "{words:?}:\n{shown}");
    }
    assert_eq!(talk.end(), Some(0));
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

#[test]
fn what_is_not_covered_is_told_once_by_name_and_size() {
    let dirs = TestDirs::new();
    write(&dirs.file(".gitignore"), "node_modules\n*.log\n");
    write(&dirs.file("node_modules/m"), "m");
    let make = |name: &str, bytes: u64| {
        std::fs::File::create(dirs.file(name))
            .and_then(|file| file.set_len(bytes))
            .expect("a file");
    };
    make("video", 20_000_000);
    make("x.log", 3_000_000);
    let ask = |command: &str| {
        let script = Script::new().answer(bash(command)).answer(ScriptedAnswer::text("Done."));
        let server = play(script);
        let flags = ["--dangerously-skip-permissions", "--verbose", "-p", "go"];
        run(&mut dirs.asking(&server.url(), &flags)).stderr
    };
    let told = ask("echo a > a");
    let sentence =
        "not covered by rewind: node_modules/ (ignored), video (20.0 MB), x.log (3.0 MB, ignored)";
    assert!(told.contains(sentence), "{told}");
    make("other.log", 3_000_000);
    let told = ask("echo b > b");
    assert!(!told.contains("not covered"), "ignored files come and go: {told}");
    make("film", 30_000_000);
    let told = ask("echo c > c");
    assert!(told.contains("not covered by rewind: film (30.0 MB)"), "{told}");
}
