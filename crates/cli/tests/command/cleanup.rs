//! The clean-up of old sessions: it waits until the session is open, takes nothing that is in use, and
//! what it takes can be brought back.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use windlass_rehearsal::{Rehearsal, Script, ScriptedAnswer};

use crate::fixture::{FinishedCommand, RunningCommand, TestDirs, play, run};

const OLD: &str = "7c1d3b52-0f4e-4f6a-8d3c-1a2b3c4d5e6f";
const OTHER: &str = "8d2e4c63-1a5f-4a7b-9e4d-2b3c4d5e6f70";
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn server() -> Rehearsal {
    play(Script::new().answer(ScriptedAnswer::text("ok").repeat(0)))
}

fn state(dirs: &TestDirs) -> PathBuf {
    dirs.home().with_file_name("state").join("windlass")
}

fn journal_of(dirs: &TestDirs, id: &str) -> Option<PathBuf> {
    let is_wanted = |path: &PathBuf| path.file_stem().is_some_and(|stem| stem == id);
    dirs.journals().into_iter().find(is_wanted)
}

/// A session that was last used so many days ago, by its records and by its files.
fn leave_session(dirs: &TestDirs, server: &Rehearsal, id: &str, days: u32) -> PathBuf {
    let ask = ["-p", "remember the anchor", "--session-id", id];
    assert_eq!(run(&mut dirs.asking(&server.url(), &ask)).answer(), "ok\n");
    let journal = journal_of(dirs, id).expect("a journal");
    age(&journal, days);
    // Its summary is made anew from what the journal says now.
    let _ = std::fs::remove_file(state(dirs).join("sessions/index"));
    let _ = std::fs::remove_file(state(dirs).join("sessions/swept"));
    journal
}

/// Sets every time in a journal back. Checksums are those of the lines, so it is written anew.
fn age(journal: &Path, days: u32) {
    use windlass_journal::transcript::{ImportedConversation, write_imported_journal};
    use windlass_journal::{JournalEntry, JournalHead, JournalReader};
    use windlass_vocabulary::{Message, MessageId, MessageOrigin};
    let now = SystemTime::UNIX_EPOCH.elapsed().expect("a time").as_millis();
    let created = u64::try_from(now).expect("a time") - u64::from(days) * 86_400_000;
    let mut reader = JournalReader::open(journal).expect("a journal");
    let Some(Ok(JournalEntry::Head(head))) = reader.next_entry().expect("an entry") else {
        panic!("no head in {}", journal.display());
    };
    let session = head.session.clone().expect("an id");
    let head = JournalHead { created, ..head };
    let said = Message::user_text(MessageId(0), MessageOrigin::User, "remember the anchor");
    let imported = ImportedConversation { messages: vec![said], ..Default::default() };
    std::fs::remove_file(journal).expect("it was there");
    write_imported_journal(imported, journal, &session, &head).expect("written");
    let file = std::fs::File::options().append(true).open(journal).expect("a file");
    file.set_modified(SystemTime::now() - DAY * days).expect("a time");
}

fn ask(dirs: &TestDirs, server: &Rehearsal, flags: &[&str]) -> FinishedCommand {
    run(&mut dirs.asking(&server.url(), flags))
}

#[test]
fn an_old_session_that_is_resumed_while_a_clean_up_is_due_is_kept() {
    for _ in 0..5 {
        let dirs = TestDirs::new();
        let server = server();
        leave_session(&dirs, &server, OLD, 40);
        let finished = ask(&dirs, &server, &["-r", OLD, "-p", "what did I say?", "--verbose"]);
        assert_eq!(finished.stdout, "ok\n", "{finished:?}");
        let body = server.requests().pop().expect("a request").body;
        assert!(body.contains("remember the anchor"), "{body}");
        assert!(journal_of(&dirs, OLD).is_some(), "{finished:?}");
    }
}

#[test]
fn what_is_cleaned_up_is_said_and_can_be_brought_back_whole() {
    let dirs = TestDirs::new();
    let server = server();
    let journal = leave_session(&dirs, &server, OLD, 40);
    let transcripts = dirs.home().join(".claude/projects");
    let transcript = || {
        let folders = std::fs::read_dir(&transcripts).expect("transcripts").flatten();
        folders.map(|folder| folder.path().join(format!("{OLD}.jsonl"))).find(|path| path.exists())
    };
    assert!(transcript().is_some());
    std::fs::write(journal.with_extension("title"), "The anchor").expect("a title");
    let finished = ask(&dirs, &server, &["-p", "new", "--verbose"]);
    assert!(finished.stderr.contains(&format!("windlass sessions restore {OLD}")), "{finished:?}");
    assert!(!journal.exists() && transcript().is_none());
    assert!(!journal.with_extension("title").exists());
    // Asked for by name, it is an error with what to do, and no new session.
    let missing = ask(&dirs, &server, &["-r", OLD, "-p", "on"]);
    assert!(missing.error_line(2).contains(&format!("windlass sessions restore {OLD}")));
    assert!(!journal.exists());
    let listed = run(&mut dirs.windlass(&["sessions", "restore", "--json"]));
    let listed: Value = serde_json::from_str(listed.answer()).expect("one object");
    assert_eq!(listed["sessions"][0]["session_id"], json!(OLD));
    let restored = run(&mut dirs.windlass(&["sessions", "restore", OLD]));
    assert!(restored.answer().contains(&format!("windlass -r {OLD}")), "{restored:?}");
    assert!(journal.exists() && journal.with_extension("title").exists());
    assert!(transcript().is_some());
    let again = run(&mut dirs.windlass(&["sessions", "restore", OLD]));
    assert!(again.error_line(2).contains("there is no session"), "{again:?}");
    let _ = std::fs::remove_file(state(&dirs).join("sessions/swept"));
    let on = ask(&dirs, &server, &["-r", OLD, "-p", "on"]);
    assert_eq!(on.answer(), "ok\n");
    assert!(server.requests().pop().expect("a request").body.contains("remember the anchor"));
}

#[test]
fn a_session_that_another_process_has_open_is_not_cleaned_up() {
    let dirs = TestDirs::new();
    let server = server();
    let journal = leave_session(&dirs, &server, OLD, 40);
    let manual = crate::fixture::ManualServer::open();
    let mut command = dirs.asking(&manual.url(), &["-r", OLD, "-p", "long work"]);
    let running = RunningCommand::start(&mut command);
    let mut stream = manual.request();
    // Its clean-up has begun or not; the next process does one of its own.
    let old = std::fs::File::options().append(true).open(&journal).expect("a file");
    old.set_modified(SystemTime::now() - DAY * 40).expect("a time");
    let _ = std::fs::remove_file(state(&dirs).join("sessions/swept"));
    let finished = ask(&dirs, &server, &["-p", "new", "--verbose"]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert!(journal.exists(), "{finished:?}");
    crate::fixture::ManualServer::answer(&mut stream, "done");
    assert_eq!(running.finish().answer(), "done\n");
    assert!(journal.exists());
}

#[test]
fn a_clock_that_does_not_fit_the_files_cleans_nothing_up() {
    // The newest of the other sessions is in the future, or more than a year old.
    for (newest, words) in [(None, "the clock does not fit"), (Some(400), "the clock does not fit")]
    {
        let dirs = TestDirs::new();
        let server = server();
        let journal = leave_session(&dirs, &server, OLD, 500);
        let other = leave_session(&dirs, &server, OTHER, newest.unwrap_or(40));
        if newest.is_none() {
            let file = std::fs::File::options().append(true).open(&other).expect("a file");
            file.set_modified(SystemTime::now() + DAY * 3).expect("a time");
        }
        let finished = ask(&dirs, &server, &["-p", "new", "--verbose"]);
        assert!(finished.stderr.contains(words), "{finished:?}");
        assert!(journal.exists() && other.exists());
    }
}

#[test]
fn a_session_whose_files_are_young_is_not_old() {
    let dirs = TestDirs::new();
    let server = server();
    let journal = leave_session(&dirs, &server, OLD, 40);
    let file = std::fs::File::options().append(true).open(&journal).expect("a file");
    file.set_modified(SystemTime::now() - DAY).expect("a time");
    let finished = ask(&dirs, &server, &["-p", "new", "--verbose"]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert!(journal.exists(), "{finished:?}");
    assert!(state(&dirs).join("sessions/swept").exists());
}

#[test]
fn the_trash_is_emptied_after_a_week() {
    let dirs = TestDirs::new();
    let server = server();
    leave_session(&dirs, &server, OLD, 40);
    ask(&dirs, &server, &["-p", "new", "--verbose"]);
    let folder = state(&dirs).join("trash").join(OLD);
    assert!(folder.is_dir());
    let manifest = std::fs::File::options().append(true).open(folder.join("manifest.json"));
    manifest.expect("a manifest").set_modified(SystemTime::now() - DAY * 8).expect("a time");
    std::fs::remove_file(state(&dirs).join("sessions/swept")).expect("a mark");
    let finished = ask(&dirs, &server, &["-p", "new", "--verbose"]);
    assert!(finished.stderr.contains("deleted from the trash"), "{finished:?}");
    assert!(!folder.exists());
}

#[test]
fn snapshots_stay_as_long_as_a_session_may_come_back_and_go_with_it() {
    let dirs = TestDirs::new();
    let call = json!({"command": "echo made > made", "description": "Make a file"});
    let script = Script::new()
        .answer(ScriptedAnswer::call("Bash", call))
        .answer(ScriptedAnswer::text("ok").repeat(0));
    let changing = play(script);
    // It works in a folder of its own, in which no later session takes snapshots.
    let folder = dirs.file("other");
    std::fs::create_dir(&folder).expect("a folder");
    let mut command = dirs.asking(&changing.url(), &["--dangerously-skip-permissions"]);
    command.args(["-p", "make it", "--session-id", OLD]).current_dir(&folder);
    run(&mut command).answer();
    let stores = || std::fs::read_dir(state(&dirs).join("workspaces")).expect("stores").count();
    assert_eq!(stores(), 1);
    let journal = journal_of(&dirs, OLD).expect("a journal");
    age(&journal, 40);
    let log = journal.with_extension("kept").join("log");
    let log = std::fs::File::options().append(true).open(log).expect("a log");
    log.set_modified(SystemTime::now() - DAY * 40).expect("a time");
    let sweep = || {
        let _ = std::fs::remove_file(state(&dirs).join("sessions/index"));
        let _ = std::fs::remove_file(state(&dirs).join("sessions/swept"));
        ask(&dirs, &server(), &["-p", "new", "--verbose"])
    };
    sweep();
    let trashed = state(&dirs).join("trash").join(OLD);
    assert!(trashed.is_dir());
    assert_eq!(stores(), 1, "the session may come back for a week");
    let manifest = std::fs::File::options().append(true).open(trashed.join("manifest.json"));
    manifest.expect("a manifest").set_modified(SystemTime::now() - DAY * 8).expect("a time");
    let finished = sweep();
    assert!(finished.stderr.contains("deleted snapshots"), "{finished:?}");
    assert_eq!(stores(), 0);
}
