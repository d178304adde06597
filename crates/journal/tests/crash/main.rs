//! Every state in which a loss of power can leave a journal: what was acknowledged is there, in
//! order and once, nothing is spliced, and writing goes on.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a panic is how a test says no"
)]

mod model;
#[path = "../session_fixtures/mod.rs"]
mod session_fixtures;

use std::path::Path;
use std::sync::Arc;

use model::{Model, Snapshot};
use session_fixtures::settings;
use windlass_engine::Event;
use windlass_journal::disk::replace_file;
use windlass_journal::{
    ClaimHolder, Durability, JournalEntry, JournalHead, JournalOpenOptions, JournalReader,
    JournalWriter, NewRecordItem, RecordItem,
};
use windlass_vocabulary::{ContentBlock, Ticket};

const PATH: &str = "/state/session.jsonl";

/// What one run of a process did to the journal.
struct WriterRun {
    disk: Model,
    /// After so many operations so many events were acknowledged.
    acknowledged: Vec<(usize, usize)>,
}

/// A run writes until it is done or the disk is beyond help. Texts of many sizes, so that groups
/// end inside blocks and at their edges; every third group has two events. The disk is waited for
/// after so many groups, and the writer hears of it only after one more, as from another thread.
fn write_until_crash(
    disk: &Model,
    done: &[Event],
    todo: &[Event],
    every: usize,
) -> (WriterRun, Vec<Event>) {
    let opening = JournalOpenOptions {
        head: JournalHead { created: 7, ..JournalHead::default() },
        holder: ClaimHolder { pid: 1, host: "host".into() },
        at: 7,
        disk: Arc::new(disk.clone()),
        ..JournalOpenOptions::new(Durability::Synced)
    };
    let mut run = WriterRun { disk: disk.clone(), acknowledged: vec![(0, done.len())] };
    let mut attempted = done.to_vec();
    let Ok((mut writer, _)) = JournalWriter::open_with(Path::new(PATH), opening, &settings())
    else {
        return (run, attempted);
    };
    let mut rest = todo;
    let mut waited = None;
    for number in 1.. {
        let (now, later) = rest.split_at(match rest.len() {
            0 => break,
            many if many.is_multiple_of(3) => 2,
            _ => 1,
        });
        let items: Vec<NewRecordItem<'_>> = now.iter().map(NewRecordItem::Event).collect();
        // A second try is what a session does when there is room again.
        let written = writer.write_items(9, &items).or_else(|_| writer.write_items(9, &items));
        attempted.extend(now.to_vec());
        let Ok(seq) = written else { break };
        rest = later;
        if let Some((seq, result, events)) = waited.take() {
            if writer.complete_flush(seq, result).is_err() {
                break;
            }
            run.acknowledged.push((disk.operations(), events));
        }
        if number % every == 0 || rest.is_empty() {
            let result = writer.flusher().unwrap().flush();
            waited = Some((seq, result, attempted.len()));
        }
        if every == 1 || rest.is_empty() {
            let Some((seq, result, events)) = waited.take() else { continue };
            if writer.complete_flush(seq, result).is_err() {
                break;
            }
            run.acknowledged.push((disk.operations(), events));
        }
    }
    (run, attempted)
}

fn event(number: u64) -> Event {
    match number % 4 {
        0 => Event::TimerFired { ticket: Ticket(number) },
        n => {
            let text = format!("{number} ").repeat(usize::try_from(n * n * n * 5).unwrap());
            Event::UserSubmitted { content: vec![ContentBlock::Text(text)], pinned: false }
        }
    }
}

fn events_of(files: &Snapshot) -> Vec<Event> {
    let disk = Model::new(files, 0, None);
    let Ok(mut reader) = JournalReader::open_on(&disk, Path::new(PATH)) else { return Vec::new() };
    let mut events = Vec::new();
    while let Some(entry) = reader.next_entry().unwrap() {
        if let Ok(JournalEntry::Record(record)) = entry
            && let RecordItem::Event(event) = record.item
        {
            events.push(event);
        }
    }
    events
}

/// Checks every state after every operation of a run; gives the states for a second run.
fn check(run: &WriterRun, attempted: &[Event], count: &mut u64) -> Vec<(Snapshot, Vec<Event>)> {
    let mut states = Vec::new();
    for operation in 0..run.disk.operations() {
        let reached = run.acknowledged.iter().rfind(|(after, _)| *after <= operation + 1);
        let acknowledged = reached.map_or(0, |(_, events)| *events);
        for files in run.disk.crashes(operation) {
            *count += 1;
            let found = events_of(&files);
            assert!(found.len() >= acknowledged, "lost after operation {operation}: {files:?}");
            assert!(
                attempted.starts_with(&found),
                "spliced after operation {operation}: {:?}",
                files.values().map(|bytes| String::from_utf8_lossy(bytes)).collect::<Vec<_>>()
            );
            states.push((files, found));
        }
    }
    states
}

#[test]
fn acknowledged_records_survive_every_loss_of_power() {
    let events: Vec<Event> = (1..=7).map(event).collect();
    let more: Vec<Event> = (101..=102).map(event).collect();
    let mut count = 0;
    let mut lives = 0_u64;
    // A healthy disk, one that fails to keep a file, and one that is full.
    let faults = [0, 2, 4]
        .map(|wait| (1 << wait, None))
        .into_iter()
        .chain([2, 3, 5].map(|write| (0, Some(write))))
        .chain([(0, None)]);
    for (fails, short) in faults {
        for every in 1..=3 {
            let (run, attempted) =
                write_until_crash(&Model::new(&Snapshot::new(), fails, short), &[], &events, every);
            let states = check(&run, &attempted, &mut count);
            let step = states.len().div_ceil(16).max(1);
            for (files, found) in states.into_iter().step_by(step) {
                // The next process goes on from there, and may die in its turn.
                let (second, attempted) =
                    write_until_crash(&Model::new(&files, 0, None), &found, &more, every);
                lives += 1;
                check(&second, &attempted, &mut count);
                let expected: Vec<Event> = found.iter().chain(&more).cloned().collect();
                assert_eq!(events_of(&second.disk.files()), expected, "the next run must go on");
            }
        }
    }
    println!("{count} states after a loss of power were read; {lives} second lives went on");
    assert!(count > 10_000, "{count}");
}

#[test]
fn a_replaced_file_is_the_old_one_or_the_new_one() {
    let path = Path::new("/state/card.json");
    let old = b"old ".repeat(80);
    let new = b"newer ".repeat(70);
    let disk = Model::new(&Snapshot::from([(path.to_owned(), old.clone())]), 0, None);
    replace_file(&disk, path, &new).unwrap();
    let mut count = 0;
    for operation in 0..disk.operations() {
        for files in disk.crashes(operation) {
            count += 1;
            let found = &files[path];
            assert!(*found == old || *found == new, "after operation {operation}");
        }
    }
    let last = disk.crashes(disk.operations() - 1);
    assert!(last.iter().all(|files| files[path] == new), "when it returns the new one is there");
    println!("{count} states after a loss of power were read");
    assert!(count > 50, "{count}");
}
