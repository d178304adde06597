//! What every store of journals must do, whatever it keeps them in. Included by the tests of each.

use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use windlass_journal::store::{ClaimedSession, JournalStore};
use windlass_journal::{
    JournalError, JournalHead, JournalNote, NewRecordItem, RecordItem, RunEndedNote,
};
use windlass_vocabulary::{ContentBlock, MicroUsd, SessionId, Terminal};

pub(crate) fn note(number: u64) -> JournalNote {
    JournalNote::Titled(number.to_string())
}

pub(crate) fn put(
    store: &dyn JournalStore,
    claimed: &ClaimedSession,
    expected: u64,
) -> Result<u64, JournalError> {
    store.append(claimed, expected, 1, &[NewRecordItem::Note(&note(expected + 1))])
}

pub(crate) fn numbers(store: &dyn JournalStore, session: &SessionId, after: u64) -> Vec<u64> {
    let records = store.read_from(session, after).unwrap().map(Result::unwrap);
    records.map(|record| record.seq).collect()
}

/// Two stores over the same place, as two processes have them, and a session that is not there yet.
pub(crate) fn check_store(
    first: &dyn JournalStore,
    second: &dyn JournalStore,
    session: &SessionId,
) {
    check_claims_and_fences(first, second, session);
    check_groups_and_notes(second, session);
    check_titles_blobs_and_lists(first, second, session);
    check_waiting(first, second, session);
    check_search(first, second, session);
}

/// Words are found whatever their case, in the conversation and nowhere else. Afterwards there are
/// three more sessions.
fn check_search(first: &dyn JournalStore, second: &dyn JournalStore, session: &SessionId) {
    let texts = ["A Windlass lifts.", "Gr\u{fc}n \"lifts\" it\\all.", "Nothing of it."];
    let ids: Vec<SessionId> = (0..texts.len())
        .map(|number| SessionId::from(format!("{session}-search-{number}").as_str()))
        .collect();
    for (id, text) in ids.iter().zip(texts) {
        let claimed = first.claim(id, &JournalHead::default()).unwrap();
        let content = vec![ContentBlock::Text(text.to_owned())];
        // As it stands in a journal, so that stores elsewhere need not know the engine.
        let said = serde_json::json!({ "UserSubmitted": { "content": content, "pinned": false } });
        let prompt = serde_json::from_value(said).unwrap();
        first.append(&claimed, 0, 1, &[NewRecordItem::Event(&prompt)]).unwrap();
        first.release(&claimed);
    }
    let found = |words: &str, hits_max: usize| -> Vec<SessionId> {
        let hits = second.search(words, hits_max).unwrap();
        let mut found: Vec<SessionId> = hits.into_iter().map(|hit| hit.session).collect();
        found.sort();
        found
    };
    assert_eq!(found("LIFTS", 10), &ids[..2]);
    assert_eq!(found("gr\u{dc}n \"lifts\" it\\all", 10), &ids[1..2]);
    assert_eq!(found("lifts", 1).len(), 1, "no more than were asked for");
    assert_eq!(found("hoists", 10), []);
    let hits = second.search("windlass lifts", 10).unwrap();
    assert_eq!(hits[0].excerpt, "A Windlass lifts.");
}

/// Afterwards nobody holds the session, and it has three records.
fn check_claims_and_fences(
    first: &dyn JournalStore,
    second: &dyn JournalStore,
    session: &SessionId,
) {
    let head = JournalHead { project: Some("/project".into()), ..JournalHead::default() };
    assert!(first.read_from(session, 0).is_err(), "it is not there yet");
    let old = first.claim(session, &head).unwrap();
    assert_eq!((old.epoch, old.seq), (1, 0));
    first.renew(&old).unwrap();
    assert_eq!(put(first, &old, 0).unwrap(), 1);
    assert!(matches!(put(first, &old, 0), Err(JournalError::Conflict { found: 1, .. })));
    assert!(matches!(put(first, &old, 5), Err(JournalError::Conflict { found: 1, .. })));
    let busy = second.claim(session, &head).unwrap_err();
    assert!(matches!(busy, JournalError::Busy { .. }), "{busy}");
    assert!(busy.to_string().contains(&std::process::id().to_string()), "{busy}");
    assert!(first.claim(session, &head).is_err(), "not even the same process gets it twice");
    assert_eq!(put(first, &old, 1).unwrap(), 2, "a claim that failed leaves the old one alone");
    first.release(&old);
    let new = second.claim(session, &head).unwrap();
    assert_eq!((new.epoch, new.seq), (2, 2));
    assert!(matches!(put(first, &old, 2), Err(JournalError::Fenced { ours: 1, .. })));
    assert!(matches!(first.renew(&old), Err(JournalError::Fenced { .. })));
    let blob = first.put_blob(&old, "late", b"no");
    assert!(matches!(blob, Err(JournalError::Fenced { .. })), "{blob:?}");
    let forged = ClaimedSession { epoch: 1, ..new.clone() };
    let fenced = put(second, &forged, 2);
    assert!(matches!(fenced, Err(JournalError::Fenced { ours: 1, current: 2 })), "{fenced:?}");
    first.release(&old);
    assert_eq!(put(second, &new, 2).unwrap(), 3, "an old claim cannot give the new one up");
    assert_eq!(numbers(first, session, 0), [1, 2, 3]);
    assert_eq!(numbers(first, session, 2), [3]);
    assert!(first.read_from(&SessionId::from("none"), 0).is_err());
    second.release(&new);
}

/// What is appended at once has one place after the other; notes come back as they were. Afterwards
/// the session has five records.
fn check_groups_and_notes(store: &dyn JournalStore, session: &SessionId) {
    let claimed = store.claim(session, &JournalHead::default()).unwrap();
    let ended = JournalNote::Ended(RunEndedNote {
        terminal: Terminal::Completed,
        turns: 1,
        messages: 2,
        cost: MicroUsd(7),
        deferred: false,
    });
    let title = note(4);
    let items = [NewRecordItem::Note(&title), NewRecordItem::Note(&ended)];
    assert_eq!(store.append(&claimed, 3, 9, &items).unwrap(), 5);
    let read: Vec<_> = store.read_from(session, 3).unwrap().map(Result::unwrap).collect();
    let items: Vec<_> = read.iter().map(|record| &record.item).collect();
    assert_eq!(items, [&RecordItem::Note(title), &RecordItem::Note(ended)]);
    assert_eq!(read[1].at, 9);
    store.release(&claimed);
}

fn check_titles_blobs_and_lists(
    first: &dyn JournalStore,
    second: &dyn JournalStore,
    session: &SessionId,
) {
    assert_eq!(first.read_title(session).unwrap(), None);
    first.set_title(session, "Rope").unwrap();
    assert_eq!(second.read_title(session).unwrap().as_deref(), Some("Rope"));
    second.set_title(session, "").unwrap();
    assert_eq!(first.read_title(session).unwrap(), None);

    let claimed = first.claim(session, &JournalHead::default()).unwrap();
    let bytes: Vec<u8> = (0..=255).collect();
    assert_eq!(second.read_blob(session, "kept.1").unwrap(), None);
    first.put_blob(&claimed, "kept.1", &bytes).unwrap();
    assert_eq!(second.read_blob(session, "kept.1").unwrap().as_deref(), Some(&*bytes));
    first.put_blob(&claimed, "kept.1", b"").unwrap();
    assert_eq!(second.read_blob(session, "kept.1").unwrap().as_deref(), Some(&b""[..]));
    for name in ["", "..", "a/b", "a b", ".hidden"] {
        assert!(first.put_blob(&claimed, name, b"x").is_err(), "{name:?}");
    }
    first.release(&claimed);

    let other = SessionId::from(format!("{session}-other").as_str());
    let claimed = second.claim(&other, &JournalHead::default()).unwrap();
    second.release(&claimed);
    let all = first.list().unwrap();
    assert!(all.contains(session) && all.contains(&other), "{all:?}");
}

fn check_waiting(first: &dyn JournalStore, second: &dyn JournalStore, session: &SessionId) {
    let claimed = first.claim(session, &JournalHead::default()).unwrap();
    assert_eq!(second.wait_for_records(session, 0, Duration::from_secs(60)).unwrap(), 5);
    assert_eq!(second.wait_for_records(session, 5, Duration::ZERO).unwrap(), 5);
    std::thread::scope(|scope| {
        let waits =
            scope.spawn(|| second.wait_for_records(session, 5, Duration::from_secs(60)).unwrap());
        put(first, &claimed, 5).unwrap();
        assert_eq!(waits.join().unwrap(), 6);
    });
    first.release(&claimed);
}

/// In a process of its own: appends until it is killed, or its claim is lost.
pub(crate) fn write_until_lost(store: &dyn JournalStore, session: &SessionId) {
    let claimed = store.claim(session, &JournalHead::default()).unwrap();
    let mut seq = claimed.seq;
    while let Ok(next) = store.renew(&claimed).and_then(|()| put(store, &claimed, seq)) {
        seq = next;
        println!("wrote {seq}");
        std::thread::park_timeout(Duration::from_millis(1));
    }
    println!("lost");
}

/// This test again as another process, with the place of the store in a variable.
struct WriterProcess {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl WriterProcess {
    fn start(test: &str, variable: &str, place: &str, session: &SessionId) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", test, "--nocapture"]).env(variable, place);
        command.env(WRITER_SESSION, session.as_str()).stdin(Stdio::null());
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// Reads until this many records more are there. Returns the number of the last one.
    fn wait_for_records(&mut self, count: usize) -> u64 {
        let wrote = self.lines.by_ref().filter_map(|line| {
            // What the test runner writes may stand before it.
            Some(line.unwrap().split_once("wrote ")?.1.parse().unwrap())
        });
        wrote.take(count).last().unwrap()
    }

    fn signal(&self, signal: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
    }

    /// Kills it. Returns the number of the last record that it knows to be kept, 0 if it said nothing
    /// more.
    fn kill(&mut self) -> u64 {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        let rest = self.lines.by_ref().map_while(Result::ok);
        let wrote = rest.filter_map(|line| line.split_once("wrote ")?.1.parse().ok());
        wrote.last().unwrap_or(0)
    }
}

impl Drop for WriterProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The session that the process of a test writes, if it is one.
pub(crate) fn find_writer_session() -> Option<SessionId> {
    std::env::var(WRITER_SESSION).ok().map(|session| SessionId::from(session.as_str()))
}

fn claim_in_time(store: &dyn JournalStore, session: &SessionId) -> ClaimedSession {
    let began = Instant::now();
    loop {
        match store.claim(session, &JournalHead::default()) {
            Ok(claimed) => return claimed,
            Err(error) => assert!(began.elapsed() < Duration::from_secs(60), "{error}"),
        }
        std::thread::park_timeout(Duration::from_millis(20));
    }
}

/// Writers in processes of their own are killed and frozen. `test` is the name of the test that calls
/// this, and that calls `write_until_lost` when `variable` has the place of the store. `has_leases` if
/// the store gives a session of a frozen holder to others.
pub(crate) fn check_killed_and_frozen_writers(
    store: &dyn JournalStore,
    test: &str,
    variable: &str,
    place: &str,
    has_leases: bool,
) {
    let session = SessionId::from("killed");
    let mut writer = WriterProcess::start(test, variable, place, &session);
    let seen = writer.wait_for_records(20);
    let kept = writer.kill().max(seen);
    let claimed = claim_in_time(store, &session);
    assert!(claimed.epoch == 2 && claimed.seq >= kept, "{claimed:?}, {kept} were acknowledged");
    assert_eq!(numbers(store, &session, 0), (1..=claimed.seq).collect::<Vec<_>>());
    put(store, &claimed, claimed.seq).unwrap();
    store.release(&claimed);

    let session = SessionId::from("frozen");
    let mut writer = WriterProcess::start(test, variable, place, &session);
    writer.wait_for_records(20);
    writer.signal("-STOP");
    if !has_leases {
        // Its lock is held as long as it lives.
        let busy = store.claim(&session, &JournalHead::default()).unwrap_err();
        assert!(matches!(busy, JournalError::Busy { .. }), "{busy}");
        writer.signal("-CONT");
        writer.wait_for_records(20);
        return;
    }
    let claimed = claim_in_time(store, &session);
    let ours = store.append(&claimed, claimed.seq, 1, &[NewRecordItem::Note(&note(0))]).unwrap();
    writer.signal("-CONT");
    assert!(writer.lines.any(|line| line.unwrap().contains("lost")), "it is told");
    let records = store.read_from(&session, 0).unwrap().map(Result::unwrap);
    let last = records.last().unwrap();
    assert_eq!((last.seq, last.item), (ours, RecordItem::Note(note(0))));
    store.release(&claimed);
}

const WRITER_SESSION: &str = "WINDLASS_TEST_WRITER_SESSION";
