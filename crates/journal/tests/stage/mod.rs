//! What several tests of journals need: settings, events, and a way to read everything back.
#![allow(dead_code, reason = "each test is a crate of its own and uses part of this")]
#![allow(clippy::unwrap_used, reason = "a panic is how a test says no")]

use std::path::Path;

use windlass_engine::{Event, Interrupt, Settings};
use windlass_journal::{Damage, Entry, Item, Reader};
use windlass_vocabulary::{
    AttemptId, Block, Delta, FailureKind, Json, ModelFacts, ModelFailure, Prices, Stop, Ticket,
    Tokens, ToolOutcome, Usage,
};

pub(crate) fn settings() -> Settings {
    Settings::new(ModelFacts {
        name: "model".into(),
        window: Tokens(200_000),
        output_default: Tokens(8_000),
        output_max: Tokens(64_000),
        prices: Prices { input: 3_000_000, output: 15_000_000, ..Prices::default() },
    })
}

/// One event of each shape that is written differently.
pub(crate) fn events() -> Vec<Event> {
    let attempt = AttemptId(1);
    let delta = |delta| Event::ModelDelta { attempt, delta };
    vec![
        Event::UserSubmitted {
            content: vec![Block::Text("line\nbreak \u{2028} é".into())],
            pinned: true,
        },
        Event::ModelStarted { attempt },
        delta(Delta::Text("hello".into())),
        delta(Delta::Raw(Json::from_checked(r#"{"v":[1, "\n"]}"#))),
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

/// Everything there is to read: events, damaged lines, bytes of a torn end.
pub(crate) fn read(path: &Path) -> (Vec<Event>, Vec<(u64, Damage)>, u64) {
    let mut reader = Reader::open(path).unwrap();
    let (mut events, mut damages) = (Vec::new(), Vec::new());
    while let Some(entry) = reader.next_entry().unwrap() {
        match entry {
            Ok(Entry::Record(record)) => match record.item {
                Item::Event(event) => events.push(event),
                Item::Note(_) => {}
            },
            Ok(Entry::Head(_) | Entry::Claim(_)) => {}
            Err(damage) => damages.push((reader.line(), damage)),
        }
    }
    (events, damages, reader.torn_bytes())
}
