//! Every state in which a loss of power can leave a journal: what was acknowledged is there, in
//! order and once, nothing is spliced, and writing goes on.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a panic is how a test says no"
)]

mod model;
#[path = "../stage/mod.rs"]
mod stage;

use std::path::Path;
use std::sync::Arc;

use model::{Model, Snapshot};
use stage::settings;
use windlass_engine::Event;
use windlass_journal::disk::replace;
use windlass_journal::{Durability, Entry, Head, Holder, Item, Opening, Reader, Writer};
use windlass_vocabulary::{Block, Ticket};

const PATH: &str = "/state/session.jsonl";

/// What one life of a process did to the journal.
struct Life {
    disk: Model,
    /// After so many operations so many events were acknowledged.
    acknowledged: Vec<(usize, usize)>,
}

/// A life writes until it is done or the disk is beyond help. Texts of many sizes, so that groups
/// end inside blocks and at their edges; every third group has two events.
fn live(disk: &Model, done: &[Event], todo: &[Event]) -> (Life, Vec<Event>) {
    let opening = Opening {
        head: Head { created: 7, ..Head::default() },
        holder: Holder { pid: 1, host: "host".into() },
        at: 7,
        disk: Arc::new(disk.clone()),
        ..Opening::new(Durability::Synced)
    };
    let mut life = Life { disk: disk.clone(), acknowledged: vec![(0, done.len())] };
    let mut attempted = done.to_vec();
    let Ok((mut writer, _)) = Writer::open_with(Path::new(PATH), opening, &settings()) else {
        return (life, attempted);
    };
    let mut rest = todo;
    while !rest.is_empty() {
        let (now, later) = rest.split_at(if rest.len().is_multiple_of(3) { 2 } else { 1 });
        let events: Vec<&Event> = now.iter().collect();
        // A second try is what a session does when there is room again.
        if writer.append(9, &events).is_err() && writer.append(9, &events).is_err() {
            attempted.extend(now.to_vec());
            break;
        }
        attempted.extend(now.to_vec());
        life.acknowledged.push((disk.operations(), attempted.len()));
        rest = later;
    }
    (life, attempted)
}

fn event(number: u64) -> Event {
    match number % 4 {
        0 => Event::TimerFired { ticket: Ticket(number) },
        n => {
            let text = format!("{number} ").repeat(usize::try_from(n * n * n * 5).unwrap());
            Event::UserSubmitted { content: vec![Block::Text(text)], pinned: false }
        }
    }
}

fn events_of(files: &Snapshot) -> Vec<Event> {
    let disk = Model::new(files, 0, None);
    let Ok(mut reader) = Reader::open_on(&disk, Path::new(PATH)) else { return Vec::new() };
    let mut events = Vec::new();
    while let Some(entry) = reader.next_entry().unwrap() {
        if let Ok(Entry::Record(record)) = entry
            && let Item::Event(event) = record.item
        {
            events.push(event);
        }
    }
    events
}

/// Checks every state after every operation of a life; gives the states for a second life.
fn check(life: &Life, attempted: &[Event], count: &mut u64) -> Vec<(Snapshot, Vec<Event>)> {
    let mut states = Vec::new();
    for operation in 0..life.disk.operations() {
        let reached = life.acknowledged.iter().rfind(|(after, _)| *after <= operation + 1);
        let acknowledged = reached.map_or(0, |(_, events)| *events);
        for files in life.disk.crashes(operation) {
            *count += 1;
            let found = events_of(&files);
            assert!(found.len() >= acknowledged, "lost after operation {operation}: {files:?}");
            assert!(attempted.starts_with(&found), "spliced after operation {operation}");
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
        let (life, attempted) = live(&Model::new(&Snapshot::new(), fails, short), &[], &events);
        let states = check(&life, &attempted, &mut count);
        let step = states.len().div_ceil(16).max(1);
        for (files, found) in states.into_iter().step_by(step) {
            // The next process goes on from there, and may die in its turn.
            let (second, attempted) = live(&Model::new(&files, 0, None), &found, &more);
            lives += 1;
            check(&second, &attempted, &mut count);
            let expected: Vec<Event> = found.iter().chain(&more).cloned().collect();
            assert_eq!(events_of(&second.disk.files()), expected, "the next life must go on");
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
    replace(&disk, path, &new).unwrap();
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
