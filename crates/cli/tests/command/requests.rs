//! Requests beside the conversation that look at files, ask aside, and look again.

use std::time::{Duration, UNIX_EPOCH};

use serde_json::{Value, json};
use windlass_rehearsal::{Script, ScriptedAnswer};

use crate::driven::StreamJsonProcess;
use crate::fixture::{TestDirs, play, run};

fn write(path: impl AsRef<std::path::Path>, text: impl AsRef<[u8]>) {
    let path = path.as_ref();
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    std::fs::write(path, text).expect("a file");
}

/// A file is given as far as it fits, and only where the model itself might read it unasked.
#[test]
fn a_file_is_read_for_a_client_as_the_rules_allow() {
    let dirs = TestDirs::new();
    write(dirs.file("a.txt"), "alpha\nbeta\n");
    write(dirs.file("b.bin"), [0, 159, 146, 150]);
    write(dirs.file("long"), vec![1; 600_000]);
    write(dirs.file("secret/key"), "hush");
    let outside = dirs.home().join("outside");
    write(&outside, "elsewhere");
    let server = play(Script::new());
    let flags = ["--disallowedTools", "Read(secret/**)"];
    let mut driven = StreamJsonProcess::start(&dirs, &server.url(), &flags);
    let mut read = |more: Value| {
        let mut request = json!({"subtype": "read_file"});
        let fields = request.as_object_mut().expect("an object");
        fields.extend(more.as_object().expect("an object").clone());
        driven.ask(&request)
    };
    let whole = read(json!({"path": "a.txt"})).expect("a file");
    assert_eq!(whole["contents"], "alpha\nbeta\n");
    assert_eq!((&whole["truncated"], &whole["lossy"]), (&json!(false), &json!(false)));
    assert_eq!(whole["absPath"], json!(dirs.file("a.txt")));
    let part = read(json!({"path": "a.txt", "max_bytes": 5})).expect("a file");
    assert_eq!((&part["contents"], &part["truncated"]), (&json!("alpha"), &json!(true)));
    let raw = read(json!({"path": "b.bin", "encoding": "base64"})).expect("a file");
    assert_eq!((&raw["contents"], &raw["encoding"]), (&json!("AJ+Slg=="), &json!("base64")));
    assert_eq!(read(json!({"path": "b.bin"})).expect("a file")["lossy"], true);
    // Six bytes for each on the line, which must stay short; every line is held against that.
    assert_eq!(read(json!({"path": "long"})).expect("a file")["truncated"], true);
    read(json!({"path": "secret/key"})).expect_err("a rule forbids it");
    read(json!({"path": outside})).expect_err("it would have to be asked for");
    read(json!({"path": "nothing"})).expect_err("it is not there");
    read(json!({"path": "."})).expect_err("it is a folder");
    assert_eq!(driven.end().code, Some(0));
}

/// What the client has shown the model need not be read again, unless it changed since.
#[test]
fn a_file_that_was_shown_may_be_changed() {
    for is_old in [false, true] {
        let dirs = TestDirs::new();
        write(dirs.file("a.txt"), "alpha\n");
        let path = dirs.file("a.txt");
        let edit = json!({"file_path": path, "old_string": "alpha", "new_string": "beta"});
        let server = play(
            Script::new()
                .answer(ScriptedAnswer::call("Edit", edit))
                .answer(ScriptedAnswer::text("Over.")),
        );
        let flags = ["--permission-mode", "acceptEdits"];
        let mut driven = StreamJsonProcess::start(&dirs, &server.url(), &flags);
        let changed = std::fs::metadata(&path).and_then(|found| found.modified()).expect("a time");
        let known = if is_old { changed - Duration::from_secs(60) } else { changed };
        let mtime = known.duration_since(UNIX_EPOCH).expect("after").as_millis();
        let seed = json!({"subtype": "seed_read_state", "path": path, "mtime": mtime as u64});
        driven.ask(&seed).expect("it is taken");
        driven.prompt("change it");
        driven.result();
        let now = std::fs::read_to_string(&path).expect("a file");
        assert_eq!(now, if is_old { "alpha\n" } else { "beta\n" });
        assert_eq!(driven.end().code, Some(0));
    }
}

/// A question aside knows what was said, and is no part of it.
#[test]
fn a_side_question_is_answered_and_forgotten() {
    let dirs = TestDirs::new();
    let server = play(
        Script::new()
            .answer(ScriptedAnswer::text("A cedar.").when("plant a tree"))
            .answer(ScriptedAnswer::text("It is a cedar.").when("which one was it"))
            .answer(ScriptedAnswer::text("Watered.").when("water it")),
    );
    let mut driven = StreamJsonProcess::start(&dirs, &server.url(), &[]);
    driven.prompt("plant a tree");
    driven.result();
    let asked = json!({"subtype": "side_question", "question": "which one was it"});
    let said = driven.ask(&asked).expect("an answer");
    assert_eq!(said["response"], "It is a cedar.", "{said}");
    driven.prompt("water it");
    driven.result();
    let requests = server.requests();
    let aside = requests.iter().find(|request| request.body.contains("which one was it"));
    assert!(aside.expect("it was asked").body.contains("plant a tree"));
    let last = &requests.last().expect("a request").body;
    assert!(!last.contains("which one was it"), "{last}");
    assert_eq!(driven.end().code, Some(0));
}

/// Pages and styles that were written since are found on request.
#[test]
fn pages_and_styles_are_looked_for_again() {
    let dirs = TestDirs::new();
    let server =
        play(Script::new().answer(ScriptedAnswer::text("Over.").when("Say it to the sea.")));
    let mut driven = StreamJsonProcess::start(&dirs, &server.url(), &[]);
    let skills = |driven: &mut StreamJsonProcess| {
        driven.ask(&json!({"subtype": "reload_skills"})).expect("skills")["skills"].to_string()
    };
    assert!(!skills(&mut driven).contains("\"late\""));
    write(dirs.file(".claude/commands/late.md"), "Say it to $ARGUMENTS.");
    write(
        dirs.file(".claude/output-styles/salty.md"),
        "---\nname: Salty\ndescription: d\n---\nSpeak like a sailor.",
    );
    assert!(skills(&mut driven).contains("\"late\""));
    let styles = driven.ask(&json!({"subtype": "reload_output_styles"})).expect("styles");
    assert!(styles["available_output_styles"].to_string().contains("Salty"), "{styles}");
    driven.prompt("/late the sea");
    assert_eq!(driven.result()["result"], "Over.");
    assert_eq!(driven.end().code, Some(0));
}

/// What fills the window is told by file and drawn in squares, and a session has the name it was given.
#[test]
fn the_window_is_drawn_and_the_session_is_named() {
    let dirs = TestDirs::new();
    write(dirs.file("CLAUDE.md"), "Be brief.");
    let server = play(Script::new().answer(ScriptedAnswer::text("Over.")));
    let mut driven = StreamJsonProcess::start(&dirs, &server.url(), &[]);
    driven.ask(&json!({"subtype": "initialize", "title": "the long way"})).expect("a greeting");
    let usage = driven.ask(&json!({"subtype": "get_context_usage"})).expect("usage");
    let memory = usage["memoryFiles"].as_array().expect("files");
    let own = memory.iter().find(|file| file["path"] == json!(dirs.file("CLAUDE.md")));
    assert_eq!(own.expect("the project's")["type"], "Project", "{usage}");
    let rows = usage["gridRows"].as_array().expect("rows");
    assert!(rows.len() == 10 && rows.iter().all(|row| row.as_array().map(Vec::len) == Some(10)));
    assert_eq!(rows[0][0]["isFilled"], true, "{usage}");
    assert_eq!(rows[9][9]["categoryName"], "Free space", "{usage}");
    driven.prompt("hello");
    driven.result();
    assert_eq!(driven.end().code, Some(0));
    let listed = run(&mut dirs.windlass(&["sessions", "list"]));
    assert!(listed.stdout.contains("the long way"), "{listed:?}");
}
