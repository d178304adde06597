//! Files through the editor: what is not saved is read, what is written the editor writes, and a rule
//! of ours comes before either.

use std::path::Path;

use serde_json::{Value, json};
use windlass_rehearsal::{Rehearsal, Script, ScriptedAnswer};

use crate::acp_client::{AcpClient, selected};
use crate::fixture::{TestDirs, play};

fn read(path: &Path) -> ScriptedAnswer {
    ScriptedAnswer::call("Read", json!({"file_path": path}))
}

fn edit(path: &Path, old: &str, new: &str) -> ScriptedAnswer {
    let input = json!({"file_path": path, "old_string": old, "new_string": new});
    ScriptedAnswer::call("Edit", input)
}

/// An editor with a session where edits need no question.
fn open_editor(dirs: &TestDirs, server: &Rehearsal) -> (AcpClient, String) {
    let arguments = ["acp", "--permission-mode", "acceptEdits"];
    let mut client = AcpClient::spawn(&mut dirs.asking(&server.url(), &arguments));
    client.initialize();
    let session = client.open(&dirs.work());
    (client, session)
}

fn last_request(server: &Rehearsal) -> String {
    server.requests().last().expect("a request").body.to_string()
}

fn methods(client: &AcpClient) -> Vec<&str> {
    client.files.calls.iter().map(|(method, _)| method.as_str()).collect()
}

#[test]
fn text_that_is_not_saved_is_read_and_changed_in_the_editor() {
    let dirs = TestDirs::new();
    let path = dirs.file("a.txt");
    std::fs::write(&path, "saved\n").expect("a file");
    let script = Script::new()
        .answer(read(&path))
        .answer(edit(&path, "unsaved", "changed"))
        .answer(ScriptedAnswer::text("Done."));
    let server = play(script);
    let (mut client, session) = open_editor(&dirs, &server);
    client.files.unsaved.insert(path.clone(), "unsaved\nsecond\n".to_owned());
    client.prompt(&session, "change it").expect("an answer");
    assert!(server.requests()[1].body.contains("unsaved"), "the model saw the buffer");
    assert!(!server.requests()[1].body.contains("saved\\n\"}"), "and not the disk");
    assert_eq!(std::fs::read_to_string(&path).expect("a file"), "changed\nsecond\n");
    assert!(methods(&client).contains(&"fs/write_text_file"), "{:?}", client.files.calls);
    assert!(client.files.calls.iter().all(|(_, asked)| *asked == path), "only this file");
    assert_eq!(client.end(), Some(0));
}

#[test]
fn an_edit_of_text_that_the_user_changed_meanwhile_is_refused() {
    let dirs = TestDirs::new();
    let path = dirs.file("a.txt");
    std::fs::write(&path, "one\n").expect("a file");
    let script = Script::new()
        .answer(read(&path))
        .answer(ScriptedAnswer::text("I have read it."))
        .answer(edit(&path, "one", "two"))
        .answer(ScriptedAnswer::text("It was changed."));
    let server = play(script);
    let (mut client, session) = open_editor(&dirs, &server);
    client.prompt(&session, "read it").expect("an answer");
    client.files.unsaved.insert(path.clone(), "one and more\n".to_owned());
    client.prompt(&session, "change it").expect("an answer");
    assert!(last_request(&server).contains("has changed since it was read"));
    assert_eq!(std::fs::read_to_string(&path).expect("a file"), "one\n");
    assert_eq!(client.files.unsaved[&path], "one and more\n");
    assert_eq!(client.end(), Some(0));
}

#[test]
fn a_refused_write_goes_to_the_disk_only_if_nothing_is_unsaved() {
    let dirs = TestDirs::new();
    let clean = dirs.file("clean.txt");
    let dirty = dirs.file("dirty.txt");
    std::fs::write(&clean, "one\n").expect("a file");
    std::fs::write(&dirty, "one\n").expect("a file");
    let script = Script::new()
        .answer(read(&clean))
        .answer(edit(&clean, "one", "two"))
        .answer(read(&dirty))
        .answer(edit(&dirty, "mine", "two"))
        .answer(ScriptedAnswer::text("One of two."));
    let server = play(script);
    let (mut client, session) = open_editor(&dirs, &server);
    client.files.write_refusal = Some("the buffer is locked".to_owned());
    client.files.unsaved.insert(dirty.clone(), "mine\n".to_owned());
    client.prompt(&session, "change both").expect("an answer");
    assert_eq!(std::fs::read_to_string(&clean).expect("a file"), "two\n");
    assert_eq!(std::fs::read_to_string(&dirty).expect("a file"), "one\n", "left alone");
    let told = last_request(&server);
    assert!(told.contains("the buffer is locked") && told.contains("unsaved changes"), "{told}");
    assert_eq!(client.end(), Some(0));
}

#[test]
fn rules_are_judged_before_the_editor_is_asked() {
    let dirs = TestDirs::new();
    let secret = dirs.file("secret.txt");
    let outside = dirs.home().join("outside.txt");
    let link = dirs.file("link.txt");
    std::fs::write(&secret, "hidden\n").expect("a file");
    std::fs::write(&outside, "elsewhere\n").expect("a file");
    std::os::unix::fs::symlink(&outside, &link).expect("a link");
    let script = Script::new()
        .answer(read(&secret))
        .answer(read(&outside))
        .answer(read(&link))
        .answer(ScriptedAnswer::text("Nothing of it."));
    let server = play(script);
    let rule = format!("Read(/{})", secret.display());
    let arguments = ["acp", "--disallowedTools", &rule];
    let mut client = AcpClient::spawn(&mut dirs.asking(&server.url(), &arguments));
    client.initialize();
    let session = client.open(&dirs.work());
    for path in [&secret, &outside, &link] {
        client.files.unsaved.insert(path.clone(), "from the editor".to_owned());
    }
    let id = client.send_prompt(&session, "read them");
    // Outside the directory there is a question; after a yes it is the disk that is read.
    let asked = client.answer("session/request_permission", &selected("allow_once"));
    assert_eq!(asked["toolCall"]["locations"][0]["path"], json!(outside));
    let ended = loop {
        let frame = client
            .until(|frame| frame["id"] == id || frame["method"] == "session/request_permission");
        if frame["id"] == id && frame.get("method").is_none() {
            break frame;
        }
        client
            .say(&json!({"jsonrpc": "2.0", "id": frame["id"], "result": selected("reject_once")}));
    };
    assert_eq!(ended["result"]["stopReason"], "end_turn");
    assert_eq!(client.files.calls, Vec::new(), "the editor was asked for nothing");
    assert!(!last_request(&server).contains("from the editor"));
    assert!(last_request(&server).contains("elsewhere"), "the disk was read after the yes");
    assert_eq!(client.end(), Some(0));
}

#[test]
fn line_ends_and_a_mark_that_editors_hide_are_no_change() {
    let dirs = TestDirs::new();
    let path = dirs.file("dos.txt");
    std::fs::write(&path, "\u{feff}one\r\ntwo\r\n").expect("a file");
    let script = Script::new()
        .answer(read(&path))
        .answer(edit(&path, "two", "three"))
        .answer(ScriptedAnswer::text("Done."));
    let server = play(script);
    let (mut client, session) = open_editor(&dirs, &server);
    // As editors hand it out: no mark, plain line ends, and a line that is not saved.
    client.files.unsaved.insert(path.clone(), "zero\none\ntwo\n".to_owned());
    client.prompt(&session, "change it").expect("an answer");
    let written = std::fs::read_to_string(&path).expect("a file");
    assert_eq!(written, "\u{feff}zero\r\none\r\nthree\r\n");
    assert_eq!(client.end(), Some(0));
}

#[test]
fn an_editor_that_never_answers_about_files_costs_one_wait() {
    let dirs = TestDirs::new();
    let path = dirs.file("a.txt");
    std::fs::write(&path, "one\n").expect("a file");
    let script = Script::new()
        .answer(read(&path))
        .answer(edit(&path, "one", "two"))
        .answer(ScriptedAnswer::text("Done."));
    let server = play(script);
    let (mut client, session) = open_editor(&dirs, &server);
    client.files.is_silent = true;
    client.prompt(&session, "change it").expect("an answer");
    assert_eq!(std::fs::read_to_string(&path).expect("a file"), "two\n");
    assert_eq!(methods(&client), ["fs/read_text_file"], "it is asked once");
    let warned = client.updates("notice");
    let is_told = |notice: &Value| notice["title"].to_string().contains("did not answer");
    assert!(warned.iter().any(is_told), "{warned:?}");
    assert_eq!(client.end(), Some(0));
}
