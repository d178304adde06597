//! Journals on a real disk: what was written comes back, whatever happened to the file since.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a panic is how a test says no"
)]

use std::fs;
use std::path::{Path, PathBuf};

use windlass_engine::{Event, Interrupt, Settings};
use windlass_journal::{Damage, Durability, JournalError, Reader, Writer, fold};
use windlass_vocabulary::{
    AttemptId, Block, Delta, FailureKind, Json, ModelFacts, ModelFailure, Prices, Stop, Ticket,
    Tokens, ToolOutcome, Usage,
};

fn settings() -> Settings {
    Settings::new(ModelFacts {
        name: "model".into(),
        window: Tokens(200_000),
        output_default: Tokens(8_000),
        output_max: Tokens(64_000),
        prices: Prices::default(),
    })
}

fn events() -> Vec<Event> {
    let attempt = AttemptId(1);
    let delta = |delta| Event::ModelDelta { attempt, delta };
    vec![
        Event::UserSubmitted {
            content: vec![Block::Text("line\nbreak \u{2028} é".into())],
            pinned: true,
        },
        Event::ModelStarted { attempt },
        delta(Delta::Text("hello".into())),
        delta(Delta::Raw(Json::from_checked(r#"{"a": [1, "\n"]}"#))),
        delta(Delta::Block(Block::Text("hello".into()))),
        Event::ModelEnded { attempt, stop: Stop::EndTurn, usage: Usage::default() },
        Event::ToolEnded { ticket: Ticket(9), outcome: ToolOutcome::failure("late") },
        Event::SummaryEnded {
            ticket: Ticket(3),
            result: Err(ModelFailure::new(FailureKind::Overloaded, "busy")),
            usage: Usage::default(),
        },
        Event::Interrupted(Interrupt::User),
    ]
}

/// A journal of all events, in a directory of its own.
fn written() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("session.jsonl");
    let (mut writer, folded) = Writer::open(&path, Durability::Synced, &settings()).unwrap();
    assert_eq!(folded.seq, 0);
    let events = events();
    writer.append(1_000, &[&events[0]]).unwrap();
    writer.append(2_000, &events[1..].iter().collect::<Vec<_>>()).unwrap();
    (directory, path)
}

fn read(path: &Path) -> (Vec<Event>, Vec<(u64, Damage)>, u64) {
    let mut reader = Reader::open(path).unwrap();
    let (mut events, mut damages) = (Vec::new(), Vec::new());
    while let Some(line) = reader.next_line().unwrap() {
        match line {
            Ok(record) => events.push(record.event),
            Err(damage) => damages.push((reader.line(), damage)),
        }
    }
    (events, damages, reader.torn_bytes())
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
fn torn_at_any_byte_the_whole_records_remain_and_writing_goes_on() {
    let (directory, path) = written();
    let bytes = fs::read(&path).unwrap();
    let last = bytes[..bytes.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    let torn = directory.path().join("torn.jsonl");
    for end in last..bytes.len() {
        fs::write(&torn, &bytes[..end]).unwrap();
        let (kept, damages, torn_bytes) = read(&torn);
        assert_eq!((kept.len(), damages.len(), torn_bytes), (8, 0, (end - last) as u64));
        let (mut writer, folded) = Writer::open(&torn, Durability::Written, &settings()).unwrap();
        assert_eq!(folded.seq, 8);
        let event = Event::TimerFired { ticket: Ticket(1) };
        writer.append(3_000, &[&event]).unwrap();
        let (kept, damages, torn_bytes) = read(&torn);
        assert_eq!((kept.last(), damages.len(), torn_bytes), (Some(&event), 0, 0));
    }
}

#[test]
fn any_flipped_byte_in_the_middle_costs_its_record_and_is_reported() {
    let (directory, path) = written();
    let bytes = fs::read(&path).unwrap();
    let starts: Vec<usize> =
        bytes.iter().enumerate().filter(|(_, b)| **b == b'\n').map(|(i, _)| i + 1).collect();
    let flipped = directory.path().join("flipped.jsonl");
    // Every byte of the third line but its end; the version first, which is refused as newer.
    for place in starts[1] + 6..starts[2] - 1 {
        let mut bytes = bytes.clone();
        bytes[place] ^= 1;
        if bytes[place] == b'\n' {
            continue;
        }
        fs::write(&flipped, &bytes).unwrap();
        let (kept, damages, _) = read(&flipped);
        // The record behind the gap is lost too: it is reported as out of place.
        assert_eq!((kept.len(), damages.len()), (7, 2), "byte {place}: {damages:?}");
        let folded = fold(&flipped, &settings()).unwrap();
        assert_eq!(folded.damages.first().map(|(line, _)| *line), Some(3));
        let before = fs::read(&flipped).unwrap();
        drop(Writer::open(&flipped, Durability::Written, &settings()).unwrap());
        assert_eq!(fs::read(&flipped).unwrap(), before, "a damaged journal is not rewritten");
    }
}

#[test]
fn a_newer_format_is_refused_and_left_alone() {
    let (_directory, path) = written();
    let mut bytes = fs::read(&path).unwrap();
    bytes.extend_from_slice(b"{\"v\":2,\"shape\":\"unknown\"}\nand a torn ta");
    fs::write(&path, &bytes).unwrap();
    let refused = |error| matches!(error, JournalError::Newer { found: 2, known: 1, .. });
    assert!(refused(fold(&path, &settings()).unwrap_err()));
    assert!(refused(Writer::open(&path, Durability::Written, &settings()).unwrap_err()));
    assert_eq!(fs::read(&path).unwrap(), bytes);
}

#[test]
fn one_writer_and_any_number_of_readers() {
    let (_directory, path) = written();
    let (writer, _) = Writer::open(&path, Durability::Written, &settings()).unwrap();
    let second = Writer::open(&path, Durability::Written, &settings());
    assert!(matches!(second, Err(JournalError::Busy { .. })));
    assert_eq!(read(&path).0.len(), 9);
    drop(writer);
    Writer::open(&path, Durability::Written, &settings()).unwrap();
}

#[test]
fn what_is_no_file_is_refused() {
    // A device that could be read for ever.
    for path in [Path::new("/dev/full"), Path::new("/dev/zero"), Path::new("/")] {
        let opened = Writer::open(path, Durability::Written, &settings()).map(|_| ());
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
