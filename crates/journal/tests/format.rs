//! Journals on a real disk: what was written comes back, whatever happened to the file since.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a panic is how a test says no"
)]

mod session_fixtures;

use std::fs;
use std::path::{Path, PathBuf};

use session_fixtures::{events, read, settings};
use windlass_engine::Event;
use windlass_journal::{
    Durability, JournalEntry, JournalError, JournalNote, JournalOpenOptions, JournalReader,
    JournalWriter, NewRecordItem, RecordItem, ToolIntent, fold,
};
use windlass_vocabulary::{EffectClass, Json, Ticket, ToolOutcome};

/// A journal of all events, in a directory of its own.
fn written() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("session.jsonl");
    let (mut writer, folded) = JournalWriter::open(&path, Durability::Synced, &settings()).unwrap();
    assert_eq!(folded.seq, 0);
    let events = events();
    for event in &events[..7] {
        writer.append_events(1_000, &[event]).unwrap();
    }
    writer.append_events(2_000, &events[7..].iter().collect::<Vec<_>>()).unwrap();
    (directory, path)
}

/// Where each line begins.
fn starts(bytes: &[u8]) -> Vec<usize> {
    let ends = bytes.iter().enumerate().filter(|(_, b)| **b == b'\n').map(|(i, _)| i + 1);
    std::iter::once(0).chain(ends).collect()
}

#[test]
fn what_was_written_comes_back_and_folds_to_the_same_state() {
    let (_directory, path) = written();
    assert_eq!(read(&path), (events(), Vec::new(), 0));
    let mut state = windlass_engine::State::new(&settings());
    for event in events() {
        state = windlass_engine::step(state, event, &settings()).state;
    }
    let folded = fold(&path, &settings()).unwrap();
    assert_eq!(folded.state, state);
    assert_eq!(folded.seq, 9);
}

#[test]
fn torn_at_any_byte_the_whole_groups_remain_and_writing_goes_on() {
    let (directory, path) = written();
    let bytes = fs::read(&path).unwrap();
    let last = starts(&bytes[..bytes.len() - 1]).pop().unwrap();
    let torn = directory.path().join("torn.jsonl");
    for end in last..bytes.len() {
        fs::write(&torn, &bytes[..end]).unwrap();
        let (kept, damages, torn_bytes) = read(&torn);
        // The last two were written together and are gone together.
        assert_eq!((kept.len(), damages.len(), torn_bytes), (7, 0, (end - last) as u64));
        let (mut writer, folded) =
            JournalWriter::open(&torn, Durability::Written, &settings()).unwrap();
        assert_eq!(folded.seq, 7);
        let event = Event::TimerFired { ticket: Ticket(1) };
        writer.append_events(3_000, &[&event]).unwrap();
        let (kept, damages, torn_bytes) = read(&torn);
        assert_eq!((kept.last(), damages.len(), torn_bytes), (Some(&event), 0, 0));
        assert_eq!(kept.len(), 8);
        let now = fs::read(&torn).unwrap();
        assert!(now.starts_with(&bytes[..last]), "what was whole is untouched");
    }
}

#[test]
fn any_flipped_bit_costs_its_record_alone_and_is_reported() {
    let (directory, path) = written();
    let bytes = fs::read(&path).unwrap();
    let starts = starts(&bytes);
    let flipped = directory.path().join("flipped.jsonl");
    let mut tried = 0;
    // Head, claim, then the records: every bit of the fifth line, its version and its end included.
    for place in starts[4]..starts[5] {
        for bit in 0..8 {
            let mut bytes = bytes.clone();
            bytes[place] ^= 1 << bit;
            fs::write(&flipped, &bytes).unwrap();
            let (kept, damages, _) = read(&flipped);
            let is_end = place + 1 == starts[5];
            let expected = if is_end { 9 } else { 8 };
            assert_eq!(kept.len(), expected, "bit {bit} of byte {place}: {damages:?}");
            assert!((1..=2).contains(&damages.len()), "byte {place}: {damages:?}");
            assert_eq!(damages.first().map(|(line, _)| *line), Some(5));
            tried += 1;
        }
    }
    assert!(tried > 500);
    let before = fs::read(&flipped).unwrap();
    drop(JournalWriter::open(&flipped, Durability::Written, &settings()).unwrap());
    let after = fs::read(&flipped).unwrap();
    assert!(after.starts_with(&before), "a damaged journal is not rewritten");
}

#[test]
fn a_run_of_zeros_or_a_foreign_line_costs_what_it_covers() {
    let (directory, path) = written();
    let bytes = fs::read(&path).unwrap();
    let starts = starts(&bytes);
    let damaged = directory.path().join("damaged.jsonl");
    let mut zeros = bytes.clone();
    zeros[starts[3] + 10..starts[5] + 20].fill(0);
    fs::write(&damaged, &zeros).unwrap();
    let (kept, damages, _) = read(&damaged);
    assert_eq!((kept.len(), damages.len()), (9 - 3, 1), "{damages:?}");
    // Zeros in front of a whole record, as after a crash that lost a block.
    let mut joined = bytes[..starts[3]].to_vec();
    joined.extend([0; 512]);
    joined.extend(&bytes[starts[3]..]);
    fs::write(&damaged, &joined).unwrap();
    let (kept, damages, _) = read(&damaged);
    assert_eq!((kept.len(), damages.len()), (9, 1), "{damages:?}");
    let mut foreign = bytes[..starts[3]].to_vec();
    foreign.extend(b"who wrote this?\n\n\xff\xfe\n");
    foreign.extend(&bytes[starts[3]..]);
    fs::write(&damaged, &foreign).unwrap();
    let (kept, damages, _) = read(&damaged);
    assert_eq!((kept.len(), damages.len()), (9, 3), "{damages:?}");
}

#[test]
fn a_newer_format_is_refused_and_left_alone() {
    let (_directory, path) = written();
    let mut bytes = fs::read(&path).unwrap();
    bytes.extend_from_slice(b"{\"v\":3,\"shape\":\"unknown\"}\nand a torn ta");
    fs::write(&path, &bytes).unwrap();
    let refused = |error| matches!(error, JournalError::Newer { found: 3, known: 2, .. });
    assert!(refused(fold(&path, &settings()).unwrap_err()));
    assert!(refused(JournalWriter::open(&path, Durability::Written, &settings()).unwrap_err()));
    assert_eq!(fs::read(&path).unwrap(), bytes);
}

#[test]
fn the_older_format_is_read_and_continued() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("old.jsonl");
    let old = include_bytes!("fixtures/format_1.jsonl");
    fs::write(&path, old).unwrap();
    let (mut writer, folded) =
        JournalWriter::open(&path, Durability::Written, &settings()).unwrap();
    assert_eq!((folded.seq, folded.damages.len()), (5, 0));
    assert_eq!(folded.state.transcript.entries().len(), 2);
    let event = Event::TimerFired { ticket: Ticket(1) };
    writer.append_events(3_000, &[&event]).unwrap();
    let (kept, damages, _) = read(&path);
    assert_eq!((kept.len(), damages.len(), kept.last()), (6, 0, Some(&event)));
    assert!(fs::read(&path).unwrap().starts_with(old));
}

#[test]
fn notes_stand_beside_events_and_unknown_ones_are_kept() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("session.jsonl");
    let (mut writer, _) = JournalWriter::open(&path, Durability::Written, &settings()).unwrap();
    let intent = JournalNote::Intended(ToolIntent {
        ticket: Ticket(7),
        call: "call".into(),
        tool: "Bash".into(),
        class: EffectClass::Effect,
    });
    let later = JournalNote::Unknown(r#"{"invented_later":{"a":[1,2]}}"#.into());
    let event = &events()[0];
    let items =
        [NewRecordItem::Event(event), NewRecordItem::Note(&intent), NewRecordItem::Note(&later)];
    assert_eq!(writer.append_items(5, &items).unwrap(), 3);
    let mut reader = JournalReader::open(&path).unwrap();
    let mut items = Vec::new();
    while let Some(entry) = reader.next_entry().unwrap() {
        if let JournalEntry::Record(record) = entry.unwrap() {
            items.push((record.seq, record.at, record.item));
        }
    }
    let expected =
        [RecordItem::Event(event.clone()), RecordItem::Note(intent), RecordItem::Note(later)];
    let expected: Vec<_> = (1..).zip(expected).map(|(seq, item)| (seq, 5, item)).collect();
    assert_eq!(items, expected);
}

#[test]
fn one_writer_and_any_number_of_readers() {
    let (_directory, path) = written();
    let (writer, _) = JournalWriter::open(&path, Durability::Written, &settings()).unwrap();
    assert_eq!(writer.epoch(), 2);
    let second = JournalWriter::open(&path, Durability::Written, &settings());
    let Err(JournalError::Busy { holder: Some(holder), .. }) = second else {
        panic!("{second:?}");
    };
    assert_eq!(holder.pid, std::process::id());
    assert!(!holder.host.is_empty());
    assert_eq!(read(&path).0.len(), 9);
    drop(writer);
    JournalWriter::open(&path, Durability::Written, &settings()).unwrap();
}

#[test]
fn what_is_no_file_is_refused() {
    // A device that could be read for ever.
    for path in [Path::new("/dev/full"), Path::new("/dev/zero"), Path::new("/")] {
        let opened = JournalWriter::open(path, Durability::Written, &settings()).map(|_| ());
        for refused in [opened, fold(path, &settings()).map(|_| ())] {
            let error = refused.unwrap_err().to_string();
            assert!(error.contains("not a regular file"), "{error}");
        }
    }
}

#[test]
fn a_journal_that_is_not_there_is_empty() {
    let directory = tempfile::tempdir().unwrap();
    let folded = fold(&directory.path().join("none"), &settings()).unwrap();
    assert_eq!((folded.seq, folded.damages.len()), (0, 0));
}

#[test]
fn a_clock_that_jumps_changes_no_order() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("session.jsonl");
    let times = [1_700_000_000_000, 5, u64::MAX, 0, 1_600_000_000_000];
    for (number, at) in (1..).zip(times) {
        // Each by a process of its own, some of which began before those before them.
        let opening = JournalOpenOptions { at, ..JournalOpenOptions::new(Durability::Written) };
        let (mut writer, folded) = JournalWriter::open_with(&path, opening, &settings()).unwrap();
        assert_eq!((folded.seq, folded.damages.len()), (number - 1, 0));
        writer.append_events(at, &[&Event::TimerFired { ticket: Ticket(number) }]).unwrap();
    }
    let expected: Vec<Event> =
        (1..=5).map(|number| Event::TimerFired { ticket: Ticket(number) }).collect();
    assert_eq!(read(&path), (expected, Vec::new(), 0));
    windlass_journal::cost_report::load_requests(&path).unwrap();
}

#[test]
fn what_is_nested_without_end_is_written_and_read_without_harm() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("session.jsonl");
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let mut outcome = ToolOutcome::from_text("deep");
    outcome.structured = Some(Json::from_checked(&deep));
    let events =
        [Event::ToolEnded { ticket: Ticket(1), outcome }, Event::TimerFired { ticket: Ticket(2) }];
    let (mut writer, _) = JournalWriter::open(&path, Durability::Written, &settings()).unwrap();
    for event in &events {
        writer.append_events(1, &[event]).unwrap();
    }
    drop(writer);
    let (read, damages, torn) = read(&path);
    assert_eq!(torn, 0);
    // Taken in, or set aside and reported; what follows counts in any case.
    assert_eq!(read.len() + damages.len(), 2, "{damages:?}");
    assert_eq!(read.last(), events.last());
    fold(&path, &settings()).unwrap();
}
