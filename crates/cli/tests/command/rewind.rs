//! Sessions go back to an earlier prompt: what was said, what our tools did to files, or both.

use std::path::Path;

use serde_json::{Value, json};
use windlass_rehearsal::{Rehearsal, Script, ScriptedAnswer};

use crate::stage::{World, play, run};

const SESSION: &str = "1f0e9d8c-7b6a-4958-8473-625140312233";

fn ask(world: &World, server: &Rehearsal, arguments: &[&str]) {
    let mut command = world.asking(&server.url(), &["--dangerously-skip-permissions"]);
    run(command.args(arguments)).answer();
}

fn rewind(world: &World, arguments: &[&str]) -> String {
    let mut command = world.windlass(&["rewind", SESSION]);
    run(command.args(arguments)).answer().to_owned()
}

/// A session in which one file is made, and then changed together with one that was there before.
fn worked(world: &World) -> Rehearsal {
    let path = |name: &str| world.file(name).to_string_lossy().into_owned();
    let write = |name: &str, text: &str| json!({"file_path": path(name), "content": text});
    let read = |name: &str| json!({"file_path": path(name)});
    std::fs::write(world.file("old"), "as it was\n").expect("a file");
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
    ask(world, &server, &["--session-id", SESSION, "-p", "make it"]);
    ask(world, &server, &["-c", "-p", "change them"]);
    server
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

#[test]
fn files_go_back_to_where_they_were_before_a_prompt() {
    let world = World::new();
    let _server = worked(&world);
    assert_eq!(text(&world.file("made")), "two\nlines\n");
    let listed = rewind(&world, &[]);
    assert!(listed.contains("make it") && listed.contains("change them"), "{listed}");
    assert!(listed.contains("not what commands did"), "{listed}");
    let shown = rewind(&world, &["--to", "2", "--files", "--dry-run"]);
    assert!(shown.contains("+1  -2") && shown.contains("would go back"), "{shown}");
    assert_eq!(text(&world.file("made")), "two\nlines\n", "nothing was done");
    let object: Value =
        serde_json::from_str(&rewind(&world, &["--to", "1", "--files", "--dry-run", "--json"]))
            .expect("JSON");
    assert_eq!(object["files"][0]["removed"], true, "{object}");
    rewind(&world, &["--to", "2", "--files"]);
    assert_eq!(text(&world.file("made")), "one\n");
    assert_eq!(text(&world.file("old")), "as it was\n");
    rewind(&world, &["--to", "1", "--files"]);
    assert!(!world.file("made").exists(), "what we made is gone again");
    assert_eq!(text(&world.file("old")), "as it was\n");
    assert!(rewind(&world, &["--to", "1", "--files"]).starts_with("No file changes."));
}

#[test]
fn what_others_changed_since_is_left_alone() {
    let world = World::new();
    let _server = worked(&world);
    std::fs::write(world.file("old"), "by hand\n").expect("a file");
    let mut command = world.windlass(&["rewind", SESSION, "--to", "2"]);
    let finished = run(&mut command);
    let line = finished.refusal(1);
    assert!(line.contains("old") && line.contains("--overwrite"), "{line}");
    assert_eq!(text(&world.file("made")), "two\nlines\n", "all or nothing is begun");
    let shown = rewind(&world, &["--to", "2", "--dry-run"]);
    assert!(shown.contains("changed by others since"), "{shown}");
    rewind(&world, &["--to", "2", "--overwrite"]);
    assert_eq!(text(&world.file("old")), "as it was\n");
    assert_eq!(text(&world.file("made")), "one\n");
}

#[test]
fn the_conversation_goes_back_and_files_stay_true_to_what_followed() {
    let world = World::new();
    let server = worked(&world);
    rewind(&world, &["--to", "2", "--conversation"]);
    assert_eq!(text(&world.file("made")), "two\nlines\n");
    ask(&world, &server, &["-c", "-p", "another way"]);
    let words =
        server.requests().pop().expect("a request").json().expect("JSON")["messages"].to_string();
    assert!(words.contains("make it") && words.contains("another way"), "{words}");
    assert!(!words.contains("change them"), "{words}");
    // The records behind that prompt are numbered like those that no longer count.
    let shown = rewind(&world, &["--to", "2", "--files", "--dry-run"]);
    assert!(shown.starts_with("No file changes."), "{shown}");
    let shown = rewind(&world, &["--to", "1", "--files", "--dry-run"]);
    assert!(shown.contains("2 files would go back."), "{shown}");
}

#[test]
fn a_prompt_can_ask_for_it_and_needs_no_key() {
    let world = World::new();
    let _server = worked(&world);
    let said = |prompt: &str| run(&mut world.windlass(&["-c", "-p", prompt])).answer().to_owned();
    assert!(said("/rewind").contains("change them"));
    assert!(said("/rewind 2 files dry-run").contains("2 files would go back."));
    assert!(said("/rewind 2").contains("The conversation goes on before prompt 2"));
    assert_eq!(text(&world.file("old")), "as it was\n");
    assert!(said("/cost").contains("all"));
    assert!(said("/context").contains("tokens"));
    run(&mut world.windlass(&["-c", "-p", "/rewind 9"])).refusal(2);
    run(&mut world.windlass(&["rewind", SESSION, "--to", "nothing"])).refusal(2);
}
