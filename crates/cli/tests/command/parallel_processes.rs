//! Many processes of one user at once: they share a home, and none undoes what another does.

use std::process::Child;

use serde_json::json;
use windlass_rehearsal::{Script, ScriptedAnswer};

use crate::driven::StreamJsonProcess;
use crate::fixture::{TestDirs, play};

/// At the same time.
const PROCESSES: usize = 12;

/// J12: each changes the same file, and each holds a session of its own in the same folder.
#[test]
fn processes_that_share_a_home_leave_each_others_changes_alone() {
    let dirs = TestDirs::new();
    let server = play(Script::new().answer(ScriptedAnswer::text("Here.").repeat(0)));
    let children: Vec<Child> = (0..PROCESSES)
        .flat_map(|number| {
            let name = format!("server-{number}");
            let add = dirs.windlass(&["mcp", "add", &name, "--", "true"]).spawn();
            let ask = dirs.asking(&server.url(), &["-p", "Are you there?"]).spawn();
            [add, ask].map(|started| started.expect("it starts"))
        })
        .collect();
    for child in children {
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(0), "{output:?}");
    }
    let listed = dirs.windlass(&["mcp", "list"]).output().expect("it ends");
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    for number in 0..PROCESSES {
        assert!(listed.contains(&format!("server-{number}")), "{number}: {listed}");
    }
    assert_eq!(dirs.journals().len(), PROCESSES);
}

/// A client that ends one process and at once starts the next on the same session.
#[test]
fn the_next_process_waits_for_the_last_one_and_says_if_that_does_not_end() {
    let dirs = TestDirs::new();
    let server = play(Script::new().answer(ScriptedAnswer::text("Fine.").repeat(0)));
    let mut first = StreamJsonProcess::start(&dirs, &server.url(), &[]);
    first.prompt("hi");
    let id = first.result()["session_id"].as_str().expect("an id").to_owned();
    // It holds the session: the next one does not begin.
    let mut second = StreamJsonProcess::start(&dirs, &server.url(), &["--resume", &id]);
    let refused = second.ask(&json!({"subtype": "initialize"})).expect_err("it is in use");
    assert!(refused.contains("another process"), "{refused}");
    // It is told to end while the next one asks.
    let mut third = StreamJsonProcess::start(&dirs, &server.url(), &["--resume", &id]);
    let ended = std::thread::spawn(move || first.end());
    third.ask(&json!({"subtype": "initialize"})).expect("it waited");
    ended.join().expect("it ended");
    third.prompt("again");
    third.result();
    third.end();
    second.end();
}
