//! Every prefix of a journal is a session: cut anywhere, at a record or at a byte, it folds to a
//! state that goes on, and the next request is one a provider takes.
//!
//! The sessions are drawn by the simulator: random settings, storms of faults, late and doubled
//! events. Also with a record missing in the middle.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a panic is how a test says no"
)]

mod session_fixtures;

use std::sync::Arc;

use session_fixtures::recorded;
use windlass_engine::tool::queue::Stage;
use windlass_engine::{Effect, Event, Interrupt, Settings, State, Step, step};
use windlass_journal::{Durability, JournalReader, JournalWriter, NewRecordItem, replay};
use windlass_vocabulary::{
    ContentBlock, EffectClass, HookReport, HookVerdict, Message, ModelRequest, Role, ToolCallId,
};

/// What a process does that finds this journal: ends what was under way, and asks something new.
fn resumed(state: State, settings: &Settings) -> Option<Box<ModelRequest>> {
    let (running, was_running) = (running(&state), state.control.phase.is_running());
    let Step { state, effects } = step(state, Event::Interrupted(Interrupt::Crashed), settings);
    let ends = effects.iter().filter(|effect| matches!(effect, Effect::Finish(_))).count();
    assert!(ends <= 1, "a run ends once");
    // A deferred call stays so until something is said.
    let is_deferred = state.control.calls_open && !was_running;
    assert!(state.queue.entries.is_empty() || is_deferred, "no call stays open");
    let started = |effect: &Effect| matches!(effect, Effect::StartTool { .. });
    assert!(!effects.iter().any(started), "nothing is run again");
    assert!(
        pairs(state.transcript.messages()) != is_deferred,
        "every call has its result, except a deferred one"
    );
    for (call, class) in running {
        let text = result_of(&state, &call).unwrap_or_else(|| panic!("{call} has no result"));
        let expected = match class {
            EffectClass::Pure => "changes nothing",
            EffectClass::Idempotent | EffectClass::Effect => "unknown",
        };
        assert!(text.contains(expected), "{call}, {class:?}: {text}");
    }
    let content = vec![ContentBlock::Text("and now?".into())];
    let Step { state, mut effects } =
        step(state, Event::UserSubmitted { content, pinned: false }, settings);
    if is_deferred && let Some(event) = refused(&effects) {
        effects = step(state, event, settings).effects;
    }
    effects.into_iter().find_map(|effect| match effect {
        Effect::CallModel(request) => Some(request),
        _ => None,
    })
}

/// A refusal of the deferred call.
fn refused(effects: &[Effect]) -> Option<Event> {
    effects.iter().find_map(|effect| match effect {
        Effect::RunHook { ticket: Some(ticket), .. } => {
            let verdict = HookVerdict::Block("no".into());
            let report = HookReport { verdict, ..HookReport::default() };
            Some(Event::HookEnded { ticket: *ticket, report })
        }
        _ => None,
    })
}

/// Calls that run, and what running them twice would mean.
fn running(state: &State) -> Vec<(ToolCallId, EffectClass)> {
    let entries = state.queue.entries.iter();
    let running = entries.filter(|entry| matches!(entry.stage, Stage::Running(_)));
    running.map(|entry| (entry.call.id.clone(), entry.inspection.class)).collect()
}

fn result_of(state: &State, call: &ToolCallId) -> Option<String> {
    let mut results = state.transcript.messages().flat_map(|message| message.tool_results());
    results.find(|result| result.call == *call).map(|result| format!("{:?}", result.content))
}

/// Each call has exactly one result, in the next message, in the order of the calls. (What is left
/// empty by a repair is left out by the dialect.)
fn pairs<'a>(messages: impl Iterator<Item = &'a Arc<Message>>) -> bool {
    let mut open: Vec<&str> = Vec::new();
    for message in messages {
        let results: Vec<&str> =
            message.tool_results().map(|result| result.call.as_str()).collect();
        if results != open {
            return false;
        }
        open = message.tool_calls().map(|call| call.id.as_str()).collect();
    }
    open.is_empty()
}

fn assert_legal(request: &ModelRequest, words: &str) {
    let first = request.messages.iter().next().unwrap();
    assert_eq!(first.role, Role::User, "{words}");
    assert!(pairs(request.messages.iter()), "{words}");
    let last = request.messages.iter().last().unwrap();
    assert_eq!(last.role, Role::User, "{words}");
    let asked = request.messages.iter().any(|message| message.text().contains("and now?"));
    assert!(asked, "what was asked is sent: {words}");
}

#[test]
fn every_prefix_of_every_session_goes_on() {
    let (mut prefixes, mut requests) = (0_u64, 0_u64);
    for seed in 0..250 {
        let (settings, events) = recorded(seed, 160, 1);
        for end in 0..=events.len() {
            let mut state = State::new(&settings);
            for event in &events[..end] {
                state = step(state, event.clone(), &settings).state;
            }
            prefixes += 1;
            if let Some(request) = resumed(state, &settings) {
                requests += 1;
                assert_legal(&request, &format!("seed {seed}, {end} events"));
            }
        }
    }
    println!("{prefixes} prefixes were resumed, {requests} requests were looked at");
    assert!(requests > 5_000, "{requests}");
}

#[test]
fn a_journal_cut_at_any_byte_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("session.jsonl");
    let (mut cuts, mut requests) = (0_u64, 0_u64);
    for seed in 0..12 {
        let (settings, events) = recorded(seed, 40, 0);
        let _ = std::fs::remove_file(&path);
        let (mut writer, _) = JournalWriter::open(&path, Durability::Written, &settings).unwrap();
        for group in events.chunks(3) {
            let items: Vec<NewRecordItem<'_>> = group.iter().map(NewRecordItem::Event).collect();
            writer.append_items(1, &items).unwrap();
        }
        drop(writer);
        let bytes = std::fs::read(&path).unwrap();
        let step = bytes.len().div_ceil(1_500);
        for end in (0..=bytes.len()).step_by(step) {
            let reader = JournalReader::new(std::io::Cursor::new(bytes[..end].to_vec()), &path);
            let folded = replay(reader, &settings, |_| {}).unwrap();
            assert_eq!(folded.damages, [], "a cut is no damage");
            assert_eq!(folded.whole_bytes + folded.torn_bytes, end as u64);
            cuts += 1;
            if let Some(request) = resumed(folded.state, &settings) {
                requests += 1;
                assert_legal(&request, &format!("seed {seed}, cut at byte {end}"));
            }
        }
    }
    println!("{cuts} cuts were resumed, {requests} requests were looked at");
    assert!(requests > 5_000, "{requests}");
}

/// A record that is lost must not make the rest illegal, whatever it was.
#[test]
fn a_session_that_lost_one_record_goes_on() {
    let mut requests = 0_u64;
    for seed in 0..120 {
        let (settings, events) = recorded(seed, 120, 2);
        for lost in 0..events.len() {
            let mut state = State::new(&settings);
            let kept = events.iter().enumerate().filter(|(at, _)| *at != lost);
            for (_, event) in kept {
                state = step(state, event.clone(), &settings).state;
            }
            if let Some(request) = resumed(state, &settings) {
                requests += 1;
                assert_legal(&request, &format!("seed {seed} without event {lost}"));
            }
        }
    }
    println!("{requests} requests of sessions that lost a record were looked at");
    assert!(requests > 3_000, "{requests}");
}

#[test]
fn a_long_journal_is_read_beside_the_fold_to_the_same_state() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("session.jsonl");
    let mut tried = 0;
    for seed in 0..20 {
        let (settings, events) = recorded(seed, 4_000, 200);
        if events.len() < 700 {
            continue;
        }
        tried += 1;
        let _ = std::fs::remove_file(&path);
        let (mut writer, _) = JournalWriter::open(&path, Durability::Written, &settings).unwrap();
        for event in &events {
            writer.append_events(1, &[event]).unwrap();
        }
        let mut state = State::new(&settings);
        for event in events {
            state = step(state, event, &settings).state;
        }
        assert_eq!(windlass_journal::fold(&path, &settings).unwrap().state, state);
    }
    assert!(tried > 0);
}
