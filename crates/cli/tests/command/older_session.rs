//! A session that an earlier version wrote: it plays again with the same decisions, and goes on.
//!
//! `recorded/session_2026_11.jsonl` was written before every name outside the engine changed; it must
//! never be made anew, or it shows nothing.

use windlass_rehearsal::{Script, ScriptedAnswer};

use crate::fixture::{TestDirs, play, run};

const RECORDED: &str = include_str!("recorded/session_2026_11.jsonl");

#[test]
fn a_session_of_an_earlier_version_plays_again_and_goes_on() {
    let dirs = TestDirs::new();
    let journal = dirs.file("session.jsonl");
    std::fs::write(&journal, RECORDED).expect("a file");
    let path = journal.to_str().expect("a path of letters");

    let replayed = run(&mut dirs.windlass(&["replay", path, "--json"]));
    let replay: serde_json::Value = serde_json::from_str(replayed.answer()).expect("one object");
    assert_eq!(replay["difference"], serde_json::Value::Null, "{replay}");
    assert_eq!((&replay["same"], &replay["records"]), (&11.into(), &56.into()), "{replay}");

    let server = play(Script::new().answer(ScriptedAnswer::text("Still here.").repeat(0)));
    let went_on = run(&mut dirs.asking(&server.url(), &["-p", "and now", "--journal", path]));
    assert_eq!(went_on.answer(), "Still here.\n");
    let request = server.requests().pop().expect("a request").json().expect("JSON");
    let said = request["messages"].to_string();
    for words in ["what is in here", "I will look.", "toolu_", "Done.", "and now"] {
        assert!(said.contains(words), "{words}: {said}");
    }

    // What was there is still there, byte for byte; the rest was appended.
    let after = std::fs::read_to_string(&journal).expect("the journal");
    assert!(after.starts_with(RECORDED), "the old records were rewritten");
    assert!(after.len() > RECORDED.len());
}
