//! A journal that cannot be used, and a transcript that can: at a terminal the user is asked.

use std::path::PathBuf;

use windlass_rehearsal::{Rehearsal, Script, ScriptedAnswer};

use super::talk::{READY, Talk};
use crate::fixture::{TestDirs, play, run};

const GARBAGE: &str = "no journal at all\n";
const QUESTION: &str = "Continue from the transcript?";

/// A session with one prompt, whose journal is damaged afterwards.
fn damaged_session(dirs: &TestDirs) -> (Rehearsal, PathBuf) {
    let script = Script::new()
        .answer(ScriptedAnswer::text("Noted."))
        .answer(ScriptedAnswer::text("It was that fish."));
    let server = play(script);
    let said = run(&mut dirs.asking(&server.url(), &["-p", "remember swordfish"]));
    assert_eq!(said.code, Some(0), "{said:?}");
    let journal = dirs.journals().pop().expect("a journal");
    std::fs::write(&journal, GARBAGE).expect("damaged");
    (server, journal)
}

#[test]
fn a_damaged_journal_is_continued_from_its_transcript_when_the_user_says_yes() {
    let dirs = TestDirs::new();
    let (server, journal) = damaged_session(&dirs);
    let id = journal.file_stem().expect("a name").to_string_lossy().into_owned();
    let asking = |flags: &[&str]| Talk::sized(dirs.asking(&server.url(), flags), 40, 100);
    // No is no: nothing is changed, and the question comes again.
    for flags in [&["-c"][..], &["-r", &id]] {
        let mut talk = asking(flags);
        talk.until(QUESTION);
        talk.key("No\r");
        assert_eq!(talk.over().code(), Some(0), "{flags:?}");
        assert_eq!(std::fs::read_to_string(&journal).expect("left alone"), GARBAGE);
    }
    let mut talk = asking(&["-c"]);
    talk.until(QUESTION);
    talk.key("Yes\r");
    talk.until(READY);
    talk.key("what was it?\r");
    talk.until("It was that fish.");
    assert_eq!(talk.end(), Some(0));
    let body = server.requests().pop().expect("a request").body;
    assert!(body.contains("remember swordfish") && body.contains("what was it?"), "{body}");
    let aside = journal.with_file_name(format!("{id}.jsonl.damaged-1"));
    assert_eq!(std::fs::read_to_string(aside).expect("set aside"), GARBAGE);
    // The new journal is whole: nobody is asked again.
    let talk = asking(&["-c"]);
    talk.until(READY);
    assert!(!talk.sent().contains(QUESTION), "once");
    assert_eq!(talk.end(), Some(0));
}
