//! The law of a store, kept by local files; what another store must pass as well.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a panic is how a test says no"
)]

mod session_fixtures;

use std::process::{Command, Stdio};
use std::time::Duration;

use windlass_engine::Event;
use windlass_journal::{
    ClaimedSession, Durability, FileJournalStore, JournalError, JournalHead, JournalReader,
    JournalStore, NewRecordItem, RecordItem,
};
use windlass_vocabulary::{SessionId, Ticket};

fn event(number: u64) -> Event {
    Event::TimerFired { ticket: Ticket(number) }
}

fn put(
    store: &dyn JournalStore,
    claimed: &ClaimedSession,
    expected: u64,
) -> Result<u64, JournalError> {
    store.append(claimed, expected, 1, &[NewRecordItem::Event(&event(expected + 1))])
}

fn numbers(store: &dyn JournalStore, session: &SessionId, after: u64) -> Vec<u64> {
    let records = store.read_from(session, after).unwrap().map(Result::unwrap);
    records.map(|record| record.seq).collect()
}

#[test]
fn one_claim_holds_and_appends_are_fenced() {
    let directory = tempfile::tempdir().unwrap();
    let first = FileJournalStore::new(directory.path(), Durability::Synced);
    let second = FileJournalStore::new(directory.path(), Durability::Synced);
    let session = SessionId::from("one");
    let head = JournalHead { project: Some("/project".into()), ..JournalHead::default() };
    let old = first.claim(&session, &head).unwrap();
    assert_eq!((old.epoch, old.seq), (1, 0));
    first.renew(&old).unwrap();
    assert_eq!(put(&first, &old, 0).unwrap(), 1);
    assert!(matches!(put(&first, &old, 0), Err(JournalError::Conflict { found: 1, .. })));
    assert!(matches!(put(&first, &old, 5), Err(JournalError::Conflict { found: 1, .. })));
    let busy = second.claim(&session, &head).unwrap_err();
    assert!(busy.to_string().contains(&std::process::id().to_string()), "{busy}");
    assert!(first.claim(&session, &head).is_err(), "not even the same process gets it twice");
    assert_eq!(put(&first, &old, 1).unwrap(), 2, "a claim that failed leaves the old one alone");

    first.release(&old);
    let new = second.claim(&session, &head).unwrap();
    assert_eq!((new.epoch, new.seq), (2, 2));
    assert!(matches!(put(&first, &old, 2), Err(JournalError::Fenced { ours: 1, .. })));
    assert!(matches!(first.renew(&old), Err(JournalError::Fenced { .. })));
    let forged = ClaimedSession { epoch: 1, ..new.clone() };
    let fenced = put(&second, &forged, 2);
    assert!(matches!(fenced, Err(JournalError::Fenced { ours: 1, current: 2 })));
    assert_eq!(put(&second, &new, 2).unwrap(), 3);
    assert_eq!(numbers(&first, &session, 0), [1, 2, 3]);
    assert_eq!(numbers(&first, &session, 2), [3]);
    assert!(first.read_from(&SessionId::from("none"), 0).is_err());
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
    store.append(&new, 1, 1, &[NewRecordItem::Event(&event(20))]).unwrap();
    store.append(&new, 2, 1, &[NewRecordItem::Event(&event(30))]).unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    bytes.extend(late);
    std::fs::write(&path, bytes).unwrap();
    let items: Vec<RecordItem> =
        store.read_from(&session, 0).unwrap().map(|record| record.unwrap().item).collect();
    assert_eq!(items, [1, 20, 30].map(|number| RecordItem::Event(event(number))));
}

#[test]
fn who_waits_sees_what_comes_and_no_longer_than_asked() {
    let directory = tempfile::tempdir().unwrap();
    let store = FileJournalStore::new(directory.path(), Durability::Written);
    let session = SessionId::from("one");
    let claimed = store.claim(&session, &JournalHead::default()).unwrap();
    put(&store, &claimed, 0).unwrap();
    assert_eq!(store.wait_for_records(&session, 0, Duration::from_secs(60)).unwrap(), 1);
    assert_eq!(store.wait_for_records(&session, 1, Duration::ZERO).unwrap(), 1);
    let reader = FileJournalStore::new(directory.path(), Durability::Written);
    std::thread::scope(|scope| {
        let waits =
            scope.spawn(|| reader.wait_for_records(&session, 1, Duration::from_secs(60)).unwrap());
        put(&store, &claimed, 1).unwrap();
        assert_eq!(waits.join().unwrap(), 2);
    });
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
