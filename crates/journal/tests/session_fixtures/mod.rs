//! What several tests of journals need: settings, events, and a way to read everything back.
#![allow(dead_code, reason = "each test is a crate of its own and uses part of this")]
#![allow(clippy::unwrap_used, reason = "a panic is how a test says no")]

use std::path::Path;

use windlass_engine::{Event, Interrupt, Settings, State, Step, step};
use windlass_journal::record::{BilledRow, RunEndedNote};
use windlass_journal::{
    JournalEntry, JournalNote, JournalReader, LineDamage, RecordItem, ToolIntent,
};
use windlass_lab::sim::fault::Faults;
use windlass_lab::sim::random_settings;
use windlass_lab::sim::seeded_random::SeededRandom;
use windlass_lab::sim::sim_world::{SimWorld, StepEstimate};
use windlass_vocabulary::{
    AttemptId, ContentBlock, Delta, EffectClass, FailureKind, Json, MicroUsd, ModelFacts,
    ModelFailure, ModelStopReason, Prices, RequestSource, Terminal, Ticket, Tokens, ToolCall,
    ToolInspection, ToolOutcome, Usage,
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
            content: vec![ContentBlock::Text("line\nbreak \u{2028} é".into())],
            pinned: true,
        },
        Event::ModelStarted { attempt, ids: None },
        delta(Delta::Text("hello".into())),
        delta(Delta::Raw(Json::from_checked(r#"{"v":[1, "\n"]}"#))),
        delta(Delta::Block(ContentBlock::Text("hello".into()))),
        Event::ModelEnded { attempt, stop: ModelStopReason::EndTurn, usage: Usage::default() },
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
pub(crate) fn read(path: &Path) -> (Vec<Event>, Vec<(u64, LineDamage)>, u64) {
    let mut reader = JournalReader::open(path).unwrap();
    let (mut events, mut damages) = (Vec::new(), Vec::new());
    while let Some(entry) = reader.next_entry().unwrap() {
        match entry {
            Ok(JournalEntry::Record(record)) => match record.item {
                RecordItem::Event(event) => events.push(event),
                RecordItem::Note(_) => {}
            },
            Ok(JournalEntry::Head(_) | JournalEntry::Claim(_)) => {}
            Err(damage) => damages.push((reader.line_number(), damage)),
        }
    }
    (events, damages, reader.torn_bytes())
}

/// One run as a driver writes it down: groups of events and the notes that follow from them. One
/// answer is withdrawn, one calls a tool, one is the last.
pub(crate) fn conversation(prompt: &str) -> Vec<(Vec<Event>, Vec<JournalNote>)> {
    let delta = |attempt, delta| Event::ModelDelta { attempt: AttemptId(attempt), delta };
    let text = |attempt, text: &str| delta(attempt, Delta::Block(ContentBlock::Text(text.into())));
    let ended = |attempt| Event::ModelEnded {
        attempt: AttemptId(attempt),
        stop: ModelStopReason::EndTurn,
        usage: Usage { input: Tokens(100), output: Tokens(20), ..Usage::default() },
    };
    let call = ToolCall {
        id: "call_1".into(),
        name: "Bash".into(),
        input: Json::from_checked(r#"{"command":"look"}"#),
        signature: None,
    };
    let intent =
        JournalNote::Intended(ToolIntent::from_call(Ticket(2), &call, EffectClass::Effect));
    let row = |cost| {
        JournalNote::Billed(BilledRow {
            agent: "main".into(),
            model: "model".into(),
            source: RequestSource::Main,
            predicted: Tokens(90),
            predicted_read: Tokens(0),
            billed: Usage { input: Tokens(100), output: Tokens(20), ..Usage::default() },
            cost: MicroUsd(cost),
            kept: MicroUsd(0),
            prices: Some("2026-11".into()),
            cache_miss: None,
        })
    };
    let end = RunEndedNote {
        terminal: Terminal::Completed,
        turns: 2,
        messages: 4,
        cost: MicroUsd(1_500),
        deferred: false,
    };
    let failed = Event::ModelFailed {
        attempt: AttemptId(1),
        failure: ModelFailure::new(FailureKind::Transport, "cut"),
    };
    let outcome = ToolOutcome::from_text("```\nmarker-of-the-result\n```");
    let content = vec![ContentBlock::Text(prompt.into())];
    vec![
        (vec![Event::UserSubmitted { content, pinned: false }], vec![]),
        (vec![Event::ModelStarted { attempt: AttemptId(1), ids: None }], vec![]),
        (vec![text(1, "a withdrawn answer")], vec![]),
        (vec![failed, Event::TimerFired { ticket: Ticket(1) }], vec![]),
        (
            vec![Event::ModelStarted { attempt: AttemptId(2), ids: None }, text(2, "I look.")],
            vec![],
        ),
        (
            vec![delta(2, Delta::Call { call, inspection: ToolInspection::EXCLUSIVE_EFFECT })],
            vec![intent],
        ),
        (vec![ended(2)], vec![row(1_000)]),
        (vec![Event::ToolEnded { ticket: Ticket(2), outcome }], vec![]),
        (vec![Event::ModelStarted { attempt: AttemptId(3), ids: None }, text(3, "Done.")], vec![]),
        (vec![ended(3)], vec![row(500), JournalNote::Ended(end)]),
    ]
}

/// A session of at most so many events, as a driver would have written it down. Asked something
/// more so many times when it has come to rest.
pub(crate) fn recorded(
    seed: u64,
    events_max: usize,
    mut asked_more: u32,
) -> (Settings, Vec<Event>) {
    let mut random = SeededRandom::new(seed);
    let settings = random_settings::draw_settings(&mut random);
    let faults = Faults::draw(&mut random);
    let mut world = SimWorld::new(random, faults);
    let mut state = State::new(&settings);
    let mut events = Vec::new();
    loop {
        let Some(happening) = world.next_event() else {
            if asked_more == 0 {
                break;
            }
            asked_more -= 1;
            world.submit_probe();
            continue;
        };
        events.push(happening.event.clone());
        let Step { state: next, effects } = step(state, happening.event, &settings);
        state = next;
        if events.len() == events_max {
            break;
        }
        for effect in &effects {
            // Whether the loop keeps its promises is looked at elsewhere.
            let _ = world.tasks.record_effect(effect);
        }
        let mut told = StepEstimate::default();
        for effect in &effects {
            told.record_effect(effect);
            world.perform(effect, told, &state, &settings);
        }
    }
    (settings, events)
}
