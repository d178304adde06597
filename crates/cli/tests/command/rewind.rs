//! Sessions go back to an earlier prompt: what was said, what our tools did to files, or both.

use serde_json::{Value, json};
use windlass_rehearsal::{Rehearsal, Script, ScriptedAnswer};

use crate::fixture::{TestDirs, play, run};
use crate::work_files::text;

const SESSION: &str = "1f0e9d8c-7b6a-4958-8473-625140312233";

fn ask(dirs: &TestDirs, server: &Rehearsal, arguments: &[&str]) {
    let mut command = dirs.asking(&server.url(), &["--dangerously-skip-permissions"]);
    run(command.args(arguments)).answer();
}

fn rewind(dirs: &TestDirs, arguments: &[&str]) -> String {
    let mut command = dirs.windlass(&["rewind", SESSION]);
    run(command.args(arguments)).answer().to_owned()
}

/// A session in which one file is made, and then changed together with one that was there before.
fn record_session(dirs: &TestDirs) -> Rehearsal {
    let path = |name: &str| dirs.file(name).to_string_lossy().into_owned();
    let write = |name: &str, text: &str| json!({"file_path": path(name), "content": text});
    let read = |name: &str| json!({"file_path": path(name)});
    std::fs::write(dirs.file("old"), "as it was\n").expect("a file");
    let edit = json!({
        "file_path": path("old"), "old_string": "as it was", "new_string": "as it is\nand more",
    });
    let script = Script::new()
        .answer(ScriptedAnswer::call("Write", write("made", "one\n")))
        .answer(ScriptedAnswer::text("Made."))
        .answer(ScriptedAnswer::empty().tool("Read", read("made")).tool("Read", read("old")))
        .answer(
            ScriptedAnswer::empty().tool("Write", write("made", "two\nlines\n")).tool("Edit", edit),
        )
        .answer(ScriptedAnswer::text("Changed."))
        .answer(ScriptedAnswer::text("Going on.").repeat(0));
    let server = play(script);
    ask(dirs, &server, &["--session-id", SESSION, "-p", "make it"]);
    ask(dirs, &server, &["-c", "-p", "change them"]);
    server
}

#[test]
fn files_go_back_to_where_they_were_before_a_prompt() {
    let dirs = TestDirs::new();
    let _server = record_session(&dirs);
    assert_eq!(text(&dirs.file("made")), "two\nlines\n");
    let listed = rewind(&dirs, &[]);
    assert!(listed.contains("make it") && listed.contains("change them"), "{listed}");
    assert!(listed.contains("Ignored folders"), "{listed}");
    let shown = rewind(&dirs, &["--to", "2", "--files", "--dry-run"]);
    assert!(shown.contains("+1  -2") && shown.contains("Would restore 2 files"), "{shown}");
    for line in ["diff made (modified, +1 -2)", "-two", "-lines", "+one", "-as it is", "+as it was"]
    {
        assert!(shown.lines().any(|shown| shown == line), "{line}: {shown}");
    }
    assert_eq!(text(&dirs.file("made")), "two\nlines\n", "nothing was done");
    let object: Value =
        serde_json::from_str(&rewind(&dirs, &["--to", "1", "--files", "--dry-run", "--json"]))
            .expect("JSON");
    assert_eq!(object["files"][0]["removed"], true, "{object}");
    let diff = object["changes"][0]["diff"].as_str().expect("a diff");
    assert!(diff.contains("+++ /dev/null") && diff.contains("-two"), "{diff}");
    rewind(&dirs, &["--to", "2", "--files"]);
    assert_eq!(text(&dirs.file("made")), "one\n");
    assert_eq!(text(&dirs.file("old")), "as it was\n");
    rewind(&dirs, &["--to", "1", "--files"]);
    assert!(!dirs.file("made").exists(), "what we made is gone again");
    assert_eq!(text(&dirs.file("old")), "as it was\n");
    assert!(rewind(&dirs, &["--to", "1", "--files"]).starts_with("No files to restore."));
}

#[test]
fn a_rewind_of_files_outside_the_directory_is_undone_too() {
    let dirs = TestDirs::new();
    let outside = dirs.home().join("outside");
    std::fs::write(&outside, "one\n").expect("a file");
    std::fs::write(dirs.file("inside"), "one\n").expect("a file");
    let write = |path: &std::path::Path, text: &str| {
        ScriptedAnswer::call("Write", json!({"file_path": path, "content": text}))
    };
    let read = |path: &std::path::Path| ScriptedAnswer::call("Read", json!({"file_path": path}));
    let script = Script::new()
        .answer(read(&outside))
        .answer(write(&outside, "two\n"))
        .answer(write(&dirs.home().join("made"), "made\n"))
        .answer(ScriptedAnswer::text("Done."))
        .answer(read(&dirs.file("inside")))
        .answer(write(&dirs.file("inside"), "two\n"))
        .answer(ScriptedAnswer::text("Done.").repeat(0));
    let server = play(script);
    ask(&dirs, &server, &["--session-id", SESSION, "-p", "outside"]);
    ask(&dirs, &server, &["-c", "-p", "inside"]);
    let files = || {
        let made = dirs.home().join("made").exists();
        (text(&outside), made, text(&dirs.file("inside")))
    };
    let (one, two) = (|| "one\n".to_owned(), || "two\n".to_owned());
    rewind(&dirs, &["--to", "1", "--files"]);
    assert_eq!(files(), (one(), false, one()));
    let shown = rewind(&dirs, &["--undo", "--dry-run"]);
    assert!(shown.contains("Would restore 3 files") && shown.contains("+two"), "{shown}");
    rewind(&dirs, &["--undo"]);
    assert_eq!(files(), (two(), true, two()));
    rewind(&dirs, &["--undo"]);
    assert_eq!(files(), (one(), false, one()), "that is undone, too");
    rewind(&dirs, &["--undo"]);
    // A rewind of what is inside alone brings nothing outside along.
    rewind(&dirs, &["--to", "2", "--files"]);
    assert_eq!(files(), (two(), true, one()));
    rewind(&dirs, &["--undo"]);
    assert_eq!(files(), (two(), true, two()));
    // A person's change since is asked about here, too.
    rewind(&dirs, &["--to", "1", "--files"]);
    std::fs::write(&outside, "by hand\n").expect("a file");
    let refused = run(&mut dirs.windlass(&["rewind", SESSION, "--undo"]));
    assert!(refused.error_line(1).contains("outside"), "{refused:?}");
    rewind(&dirs, &["--undo", "--skip-changed"]);
    assert_eq!(files(), ("by hand\n".to_owned(), true, two()));
}

#[test]
fn a_session_that_was_rewound_to_its_beginning_goes_on() {
    let dirs = TestDirs::new();
    let server = play(Script::new().answer(ScriptedAnswer::text("Fine.").repeat(0)));
    ask(&dirs, &server, &["--session-id", SESSION, "-p", "the first try"]);
    rewind(&dirs, &["--to", "1", "--conversation"]);
    ask(&dirs, &server, &["-c", "-p", "the second try"]);
    let sent = server.requests().pop().expect("a request").body.to_string();
    assert!(sent.contains("the second try") && !sent.contains("the first try"), "{sent}");
    let listed = rewind(&dirs, &[]);
    assert!(listed.contains("the second try"), "it is the same session: {listed}");
}

#[test]
fn prompts_are_listed_in_the_words_that_were_typed() {
    let dirs = TestDirs::new();
    std::fs::write(dirs.file("notes.txt"), "contents of the file\n").expect("a file");
    let server = play(Script::new().answer(ScriptedAnswer::text("Read.").repeat(0)));
    ask(&dirs, &server, &["--session-id", SESSION, "-p", "sum up @notes.txt please"]);
    let sent = server.requests().pop().expect("a request").body.to_string();
    assert!(sent.contains("contents of the file"), "{sent}");
    let listed = rewind(&dirs, &[]);
    let sessions = run(&mut dirs.windlass(&["sessions", "list"])).answer().to_owned();
    let preview = rewind(&dirs, &["--to", "1", "--dry-run"]);
    let why = run(&mut dirs.windlass(&["why", SESSION])).answer().to_owned();
    for shown in [listed, sessions, preview, why] {
        assert!(shown.contains("sum up @notes.txt please"), "{shown}");
        assert!(!shown.contains("contents of the file"), "{shown}");
    }
}

#[test]
fn what_others_changed_since_is_left_alone() {
    let dirs = TestDirs::new();
    let _server = record_session(&dirs);
    std::fs::write(dirs.file("old"), "by hand\n").expect("a file");
    let mut command = dirs.windlass(&["rewind", SESSION, "--to", "2"]);
    let finished = run(&mut command);
    let line = finished.error_line(1);
    assert!(line.contains("old") && line.contains("--overwrite"), "{line}");
    assert_eq!(text(&dirs.file("made")), "two\nlines\n", "all or nothing is begun");
    let shown = rewind(&dirs, &["--to", "2", "--dry-run"]);
    assert!(shown.contains("changed by others since"), "{shown}");
    rewind(&dirs, &["--to", "2", "--overwrite"]);
    assert_eq!(text(&dirs.file("old")), "as it was\n");
    assert_eq!(text(&dirs.file("made")), "one\n");
}

#[test]
fn the_conversation_goes_back_and_files_stay_true_to_what_followed() {
    let dirs = TestDirs::new();
    let server = record_session(&dirs);
    rewind(&dirs, &["--to", "2", "--conversation"]);
    assert_eq!(text(&dirs.file("made")), "two\nlines\n");
    ask(&dirs, &server, &["-c", "-p", "another way"]);
    let words =
        server.requests().pop().expect("a request").json().expect("JSON")["messages"].to_string();
    assert!(words.contains("make it") && words.contains("another way"), "{words}");
    assert!(!words.contains("change them"), "{words}");
    // The records behind that prompt are numbered like those that no longer count.
    let shown = rewind(&dirs, &["--to", "2", "--files", "--dry-run"]);
    assert!(shown.starts_with("No files to restore."), "{shown}");
    let shown = rewind(&dirs, &["--to", "1", "--files", "--dry-run"]);
    assert!(shown.contains("Would restore 2 files."), "{shown}");
}

#[test]
fn a_prompt_can_ask_for_it_and_needs_no_key() {
    let dirs = TestDirs::new();
    let _server = record_session(&dirs);
    let said = |prompt: &str| run(&mut dirs.windlass(&["-c", "-p", prompt])).answer().to_owned();
    assert!(said("/rewind").contains("change them"));
    assert!(said("/rewind 2 files dry-run").contains("Would restore 2 files."));
    assert!(said("/rewind 2").contains("Conversation rewound to before prompt 2"));
    assert_eq!(text(&dirs.file("old")), "as it was\n");
    assert!(said("/cost").contains("all"));
    assert!(said("/context").contains("tokens"));
    run(&mut dirs.windlass(&["-c", "-p", "/rewind 9"])).error_line(2);
    run(&mut dirs.windlass(&["rewind", SESSION, "--to", "nothing"])).error_line(2);
}
