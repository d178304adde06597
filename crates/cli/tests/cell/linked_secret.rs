//! A second name of a secret, or of a file that a deny rule hides, is no way to read it.

use std::fs;

use serde_json::{Value, json};
use windlass_rehearsal::{Script, ScriptedAnswer};

use crate::fixture::{play, run};
use crate::held_session::{HeldSession, SECRET, for_each_user, last_tool_result};

fn ask_tool(session: &HeldSession, tool: &str, input: &Value) -> String {
    let script = Script::new()
        .answer(ScriptedAnswer::call(tool, input.clone()))
        .answer(ScriptedAnswer::text("Over.").repeat(0));
    let server = play(script);
    let finished = run(&mut session.command(&server, &["--disallowedTools", "Read(./hidden.txt)"]));
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let requests = server.requests();
    last_tool_result(requests.last().expect("a request").body.as_ref())
}

#[test]
fn tools_do_not_read_a_secret_by_a_second_name() {
    for_each_user(|session| {
        fs::write(session.dirs.file("hidden.txt"), format!("denied {SECRET}\n")).expect("a file");
        fs::hard_link(session.dirs.file("hidden.txt"), session.dirs.file("other.txt"))
            .expect("a link");
        fs::hard_link(session.dirs.home().join(".ssh/id_rsa"), session.dirs.file("key.txt"))
            .expect("a link");
        fs::write(session.dirs.file("twice.txt"), "harmless words\n").expect("a file");
        fs::hard_link(session.dirs.file("twice.txt"), session.dirs.file("again.txt"))
            .expect("a link");
        for name in ["other.txt", "key.txt"] {
            let path = session.dirs.file(name);
            let told = ask_tool(&session, "Read", &json!({ "file_path": path }));
            assert!(!told.contains(SECRET), "{:?} {name}: {told}", session.user);
            assert!(told.contains("another name"), "{:?} {name}: {told}", session.user);
            let input = json!({ "pattern": "canary", "path": path, "output_mode": "content" });
            let told = ask_tool(&session, "Grep", &input);
            assert!(!told.contains(SECRET), "{:?} {name}: {told}", session.user);
        }
        let input = json!({ "pattern": "canary|harmless", "output_mode": "content" });
        let told = ask_tool(&session, "Grep", &input);
        assert!(!told.contains(SECRET), "{:?}: {told}", session.user);
        assert!(told.contains("harmless words"), "{:?}: {told}", session.user);
        let path = session.dirs.file("again.txt");
        let told = ask_tool(&session, "Read", &json!({ "file_path": path }));
        assert!(told.contains("harmless words"), "{:?}: {told}", session.user);
    });
}
