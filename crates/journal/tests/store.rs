//! The law of a store, kept by local files; what another store must pass as well.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a panic is how a test says no"
)]

mod store_conformance;

use std::process::{Command, Stdio};
use std::time::Duration;

use store_conformance::{
    check_killed_and_frozen_writers, check_store, find_writer_session, note, put, write_until_lost,
};
use windlass_journal::{
    Durability, FileJournalStore, JournalError, JournalHead, JournalReader, JournalStore,
    NewRecordItem, RecordItem,
};
use windlass_vocabulary::SessionId;

#[test]
fn files_pass_what_every_store_must() {
    let directory = tempfile::tempdir().unwrap();
    let first = FileJournalStore::new(directory.path(), Durability::Synced);
    let second = FileJournalStore::new(directory.path(), Durability::Synced);
    check_store(&first, &second, &SessionId::from("one"));
}

#[test]
fn files_pass_when_writers_are_killed_or_frozen() {
    const PLACE: &str = "WINDLASS_TEST_JOURNAL_DIRECTORY";
    if let (Ok(directory), Some(session)) = (std::env::var(PLACE), find_writer_session()) {
        let store = FileJournalStore::new(directory, Durability::Written);
        return write_until_lost(&store, &session);
    }
    let directory = tempfile::tempdir().unwrap();
    let store = FileJournalStore::new(directory.path(), Durability::Written);
    let place = directory.path().to_str().unwrap();
    let test = "files_pass_when_writers_are_killed_or_frozen";
    check_killed_and_frozen_writers(&store, test, PLACE, place, false);
}

/// A writer that lost its claim without knowing it, as on a disk shared by machines whose locks do
/// not see each other: what it still writes does not count.
#[test]
fn what_was_written_under_an_older_claim_does_not_count() {
    let directory = tempfile::tempdir().unwrap();
    let store = FileJournalStore::new(directory.path(), Durability::Written);
    let session = SessionId::from("one");
    let old = store.claim(&session, &JournalHead::default()).unwrap();
    put(&store, &old, 0).unwrap();
    let path = store.path(&session);
    let before = std::fs::read(&path).unwrap();
    put(&store, &old, 1).unwrap();
    let late = std::fs::read(&path).unwrap().split_off(before.len());
    store.release(&old);
    std::fs::write(&path, &before).unwrap();
    let new = store.claim(&session, &JournalHead::default()).unwrap();
    store.append(&new, 1, 1, &[NewRecordItem::Note(&note(20))]).unwrap();
    store.append(&new, 2, 1, &[NewRecordItem::Note(&note(30))]).unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    bytes.extend(late);
    std::fs::write(&path, bytes).unwrap();
    let items: Vec<RecordItem> =
        store.read_from(&session, 0).unwrap().map(|record| record.unwrap().item).collect();
    assert_eq!(items, [1, 20, 30].map(|number| RecordItem::Note(note(number))));
}

/// The lock dies with the process, however it dies.
#[test]
fn a_killed_writer_leaves_no_lock() {
    const DIRECTORY: &str = "WINDLASS_TEST_JOURNAL_DIRECTORY";
    let session = SessionId::from("one");
    if let Ok(directory) = std::env::var(DIRECTORY) {
        let store = FileJournalStore::new(directory, Durability::Written);
        let claimed = store.claim(&session, &JournalHead::default()).unwrap();
        put(&store, &claimed, 0).unwrap();
        println!("claimed");
        // Until killed: nothing ever comes on the standard input.
        let _ = std::io::stdin().read_line(&mut String::new());
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_killed_writer_leaves_no_lock", "--nocapture"])
        .env(DIRECTORY, directory.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let store = FileJournalStore::new(directory.path(), Durability::Written);
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    assert!(lines.any(|line| line.unwrap().contains("claimed")));
    let Err(JournalError::Busy { holder: Some(holder), .. }) =
        store.claim(&session, &JournalHead::default())
    else {
        panic!("it must be held");
    };
    assert_eq!(holder.pid, child.id());
    child.kill().unwrap();
    child.wait().unwrap();
    // One that dies while it starts another leaves the lock with that for a moment.
    let left = std::fs::OpenOptions::new().append(true).open(store.path(&session)).unwrap();
    left.lock().unwrap();
    let claimed = std::thread::scope(|scope| {
        scope.spawn(move || {
            std::thread::park_timeout(Duration::from_millis(50));
            drop(left);
        });
        store.claim(&session, &JournalHead::default()).unwrap()
    });
    assert_eq!((claimed.epoch, claimed.seq), (2, 1));
    assert!(JournalReader::open(&store.path(&session)).is_ok());
}
