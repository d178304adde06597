//! A damaged record costs what it said and little more: what was said before and behind it stays.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a panic is how a test says no"
)]

mod session_fixtures;

use std::collections::VecDeque;
use std::io::Cursor;
use std::path::Path;

use proptest::prelude::*;
use session_fixtures::{recorded, settings};
use windlass_engine::{Effect, Event, Settings, State, step};
use windlass_journal::{
    Durability, FoldedJournal, JournalNote, JournalReader, JournalWriter, NewRecordItem,
    ToolIntent, replay, verify,
};
use windlass_vocabulary::{
    ContentBlock, Delta, EffectClass, Json, ModelStopReason, PermissionMode, Ticket, ToolCall,
    ToolInspection, ToolOutcome, Usage,
};

/// Six runs, each with two calls at once whose results come in the wrong order; written as a driver
/// would, with intents.
fn written(path: &Path, settings: &Settings) -> Vec<u8> {
    let (mut writer, folded) = JournalWriter::open(path, Durability::Written, settings).unwrap();
    let mut state: State = folded.state;
    let mut coming: VecDeque<Event> = VecDeque::new();
    let (mut runs, mut answers) = (0, 0);
    loop {
        let Some(event) = coming.pop_front() else {
            if runs == 6 {
                drop(writer);
                return std::fs::read(path).unwrap();
            }
            runs += 1;
            let content = vec![ContentBlock::Text(format!("question {runs}."))];
            coming.push_back(Event::UserSubmitted { content, pinned: false });
            continue;
        };
        let taken = step(state, event.clone(), settings);
        state = taken.state;
        let mut notes = Vec::new();
        let mut results: Vec<Event> = Vec::new();
        for effect in &taken.effects {
            match effect {
                Effect::CallModel(request) => {
                    answers += 1;
                    coming.extend(answer(request.attempt, answers));
                }
                Effect::StartTool { ticket, granted, .. } => {
                    let call = granted.get();
                    notes.push(JournalNote::Intended(ToolIntent::from_call(
                        *ticket,
                        call,
                        EffectClass::Pure,
                    )));
                    let outcome = ToolOutcome::from_text(format!("result of {}.", call.id));
                    results.insert(0, Event::ToolEnded { ticket: *ticket, outcome });
                }
                _ => {}
            }
        }
        // Results come behind the whole answer, the last call's first.
        for result in results {
            let end = coming.iter().position(|e| matches!(e, Event::ModelEnded { .. }));
            coming.insert(end.map_or(0, |end| end + 1), result);
        }
        let items = std::iter::once(NewRecordItem::Event(&event))
            .chain(notes.iter().map(NewRecordItem::Note));
        writer.append_items(1, &items.collect::<Vec<_>>()).unwrap();
    }
}

fn answer(attempt: windlass_vocabulary::AttemptId, number: u32) -> Vec<Event> {
    let delta = |delta| Event::ModelDelta { attempt, delta };
    let mut events = vec![
        Event::ModelStarted { attempt, ids: None },
        delta(Delta::Block(ContentBlock::Text(format!("answer {number}.")))),
    ];
    if number % 2 == 1 {
        for which in ["first", "second"] {
            let call = ToolCall {
                id: format!("{which}_{number}").as_str().into(),
                name: "Read".into(),
                input: Json::from_checked(&format!(r#"{{"path":"{which}{number}"}}"#)),
                signature: None,
            };
            events.push(delta(Delta::Call { call, inspection: ToolInspection::SHARED_READ }));
        }
    }
    events.push(Event::ModelEnded {
        attempt,
        stop: ModelStopReason::EndTurn,
        usage: Usage::default(),
    });
    events
}

fn folded(bytes: &[u8], settings: &Settings) -> FoldedJournal {
    let reader = JournalReader::new(Cursor::new(bytes.to_vec()), Path::new("session.jsonl"));
    replay(reader, settings, |_| {}).unwrap()
}

/// What the conversation says, and which result stands under which call.
fn said(state: &State) -> (String, Vec<(String, String)>) {
    let mut words = String::new();
    let mut results = Vec::new();
    for message in state.transcript.messages() {
        words.push_str(&message.text());
        for result in message.tool_results() {
            let text = format!("{:?}", result.content);
            results.push((result.call.as_str().to_owned(), text));
        }
    }
    // Input that waits for the next run is not lost.
    words.push_str(&format!("{:?}", state.inbox.queued));
    (words, results)
}

#[test]
fn a_lost_line_costs_no_more_than_its_run_and_swaps_no_results() {
    let directory = tempfile::tempdir().unwrap();
    let mut settings = settings();
    settings.policy.mode = PermissionMode::BypassPermissions;
    let bytes = written(&directory.path().join("session.jsonl"), &settings);
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let (whole, all) = said(&folded(&bytes, &settings).state);
    assert_eq!(all.len(), 12);
    assert!((1..=6).all(|run| whole.contains(&format!("question {run}."))));
    assert!((1..=12).all(|number| whole.contains(&format!("answer {number}."))));
    for lost in 2..lines.len() {
        let mut damaged: Vec<u8> = lines[..lost].concat();
        damaged.extend(b"something else\n");
        damaged.extend(lines[lost + 1..].concat());
        let folded = folded(&damaged, &settings);
        assert_eq!(folded.damages.len(), 1);
        let (words, results) = said(&folded.state);
        let questions = (1..=6).filter(|n| !words.contains(&format!("question {n}."))).count();
        let answers = (1..=12).filter(|n| !words.contains(&format!("answer {n}."))).count();
        assert!(questions <= 1, "line {lost}: {questions} questions are gone");
        assert!(answers <= 2, "line {lost}: {answers} answers are gone: {words}");
        for (call, text) in &results {
            let is_own = text.contains(&format!("result of {call}."));
            assert!(is_own || !text.contains("result of"), "line {lost}: {call} got {text}");
        }
        let own = results.iter().filter(|(_, text)| text.contains("result of")).count();
        assert!(own >= 10, "line {lost}: {own} results are left");
        // It is written to as ever, and what is written counts.
        let path = directory.path().join("damaged.jsonl");
        std::fs::write(&path, &damaged).unwrap();
        let (mut writer, folded) =
            JournalWriter::open(&path, Durability::Written, &settings).unwrap();
        let late = Event::TimerFired { ticket: Ticket(u64::MAX) };
        writer.append_events(2, &[&late]).unwrap();
        assert_eq!(session_fixtures::read(&path).0.last(), Some(&late));
        assert!(folded.seq > 0);
    }
}

#[test]
fn a_replay_decides_what_was_decided_and_other_settings_are_found_out() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("session.jsonl");
    let mut settings = settings();
    settings.policy.mode = PermissionMode::BypassPermissions;
    let bytes = written(&path, &settings);
    let verified = verify(&path, &settings).unwrap();
    assert_eq!(verified.difference, None);
    // Intents alone were noted: twelve bills, six transitions and six ends were not.
    assert_eq!((verified.same, verified.missing), (12, 24));
    let mut others = settings.clone();
    others.switches.batch_tools = true;
    let (seq, note) = verify(&path, &others).unwrap().difference.unwrap();
    assert!(seq > 0 && matches!(note, JournalNote::Intended(_)), "{note:?}");
    std::fs::write(&path, &bytes).unwrap();
    let (mut writer, _) = JournalWriter::open(&path, Durability::Written, &settings).unwrap();
    let forged = JournalNote::Intended(ToolIntent {
        ticket: Ticket(1),
        call: "never".into(),
        tool: "Bash".into(),
        class: EffectClass::Effect,
    });
    let last = writer.append_items(1, &[NewRecordItem::Note(&forged)]).unwrap();
    drop(writer);
    assert_eq!(verify(&path, &settings).unwrap().difference, Some((last, forged)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Whatever the bytes are, they are read to the end without a panic.
    #[test]
    fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..2_000)) {
        let length = bytes.len() as u64;
        let mut reader = JournalReader::new(Cursor::new(bytes), Path::new("any"));
        while reader.next_entry().unwrap().is_some() {}
        prop_assert_eq!(reader.whole_bytes() + reader.torn_bytes(), length);
    }

    /// Whatever is done to a journal of a drawn session, it folds, and it is the same twice.
    #[test]
    fn any_damage_folds(
        seed in 0..500_u64,
        wounds in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 1..200_usize), 1..6),
        is_cut in any::<bool>(),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("session.jsonl");
        let (settings, events) = recorded(seed, 80, 1);
        let (mut writer, _) = JournalWriter::open(&path, Durability::Written, &settings).unwrap();
        for event in &events {
            writer.append_events(1, &[event]).unwrap();
        }
        drop(writer);
        let mut bytes = std::fs::read(&path).unwrap();
        for (place, byte, length) in wounds {
            let at = place.index(bytes.len());
            let end = (at + length).min(bytes.len());
            match is_cut {
                true => drop(bytes.drain(at..end)),
                false => bytes[at..end].fill(byte),
            }
        }
        let reader = || JournalReader::new(Cursor::new(bytes.clone()), &path);
        // A wound may make a line look like one of a newer format; then it is refused.
        if let Ok(first) = replay(reader(), &settings, |_| {}) {
            let second = replay(reader(), &settings, |_| {}).unwrap();
            prop_assert_eq!(first.state, second.state);
        }
    }
}
