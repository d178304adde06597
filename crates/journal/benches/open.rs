//! How long it takes to open sessions of 10,000 messages, and what takes the time.
//! `cargo bench -p windlass-journal --bench open`
//!
//! Fails when it takes more than three times its budget: a busy machine must not fail it. Without
//! `--bench` a small session is tried once. `-- --write FILE` writes the session of 100 MB and stops:
//! what `LONG_SESSION` of `.ci/web` names.
#![allow(clippy::unwrap_used, reason = "a panic is how a bench says no")]

use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use windlass_engine::{Effect, Event, Settings, State, step};
use windlass_journal::session_trace::{SessionTrace, lock_trace, trace_session};
use windlass_journal::{Durability, JournalReader, JournalWriter, RecordItem, fold};
use windlass_vocabulary::{
    AttemptId, ContentBlock, Delta, Json, ModelFacts, ModelStopReason, Notice, PermissionMode,
    Prices, Tokens, ToolCall, ToolInspection, ToolOutcome, Usage,
};

/// A session to open: lines of each result, and how long it may take.
struct Case {
    lines: usize,
    budget: Duration,
}

/// An ordinary session, and one of 100 MB.
const CASES: [Case; 2] = [
    Case { lines: 30, budget: Duration::from_millis(100) },
    Case { lines: 220, budget: Duration::from_millis(300) },
];

fn main() -> ExitCode {
    let written = std::env::args().skip_while(|argument| argument != "--write").nth(1);
    if let Some(path) = written {
        write(Path::new(&path), 10_000, CASES[1].lines, &settings());
        return ExitCode::SUCCESS;
    }
    let is_measured = std::env::args().any(|argument| argument == "--bench");
    let slowest = CASES.iter().map(|case| measure(case, is_measured)).fold(0.0, f64::max);
    match is_measured && slowest > 3.0 {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    }
}

/// Measures one case. Says how much of its budget it took.
fn measure(case: &Case, is_measured: bool) -> f64 {
    let messages = if is_measured { 10_000 } else { 100 };
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("session.jsonl");
    let settings = settings();
    let events = write(&path, messages, case.lines, &settings);
    let bytes = path.metadata().unwrap().len();
    println!("{messages} messages, {events} events, {} MB", bytes / 1_000_000);
    let rounds = if is_measured { 5 } else { 1 };
    let best = |what: &str, run: &mut dyn FnMut()| {
        let time = |_| {
            let start = Instant::now();
            run();
            start.elapsed()
        };
        let took = (0..rounds).map(time).min().unwrap_or_default();
        println!("{what:<44} {took:>10.1?}");
        took
    };
    let took = best("opened, and its first request prepared", &mut || {
        let folded = fold(&path, &settings).unwrap();
        let content = vec![ContentBlock::Text("And now?".into())];
        let asked = step(folded.state, Event::UserSubmitted { content, pinned: false }, &settings);
        let calls = asked
            .effects
            .iter()
            .filter(|effect| matches!(effect, Effect::CallModel(_) | Effect::Summarize { .. }));
        assert_eq!(calls.count(), 1);
    });
    best("bytes read", &mut || drop(std::fs::read(&path).unwrap()));
    best("records read and checked", &mut || {
        let mut reader = JournalReader::open(&path).unwrap();
        while reader.next_record().unwrap().is_some() {}
    });
    best("traced for a viewer", &mut || {
        let trace = Arc::new(Mutex::new(SessionTrace::default()));
        let began = Instant::now();
        let first = std::thread::scope(|scope| {
            let (trace, path, settings) = (&trace, &path, &settings);
            scope.spawn(move || drop(trace_session(path, settings, trace).unwrap()));
            while lock_trace(trace).items.len() < messages.min(200) {
                std::thread::yield_now();
            }
            began.elapsed()
        });
        println!("{:<44} {first:>10.1?}", "its first 200 items");
    });
    let mut all: Vec<Vec<Event>> = (0..rounds).map(|_| read(&path)).collect();
    best("events folded, already in memory", &mut || {
        let mut state = State::new(&settings);
        for event in all.pop().unwrap_or_default() {
            state = step(state, event, &settings).state;
        }
    });
    took.as_secs_f64() / case.budget.as_secs_f64()
}

fn settings() -> Settings {
    let mut settings = Settings::new(ModelFacts {
        name: "model".into(),
        window: Tokens(200_000),
        output_default: Tokens(8_000),
        output_max: Tokens(64_000),
        prices: Prices { input: 3_000_000, output: 15_000_000, ..Prices::default() },
    });
    settings.policy.mode = PermissionMode::BypassPermissions;
    settings
}

fn read(path: &Path) -> Vec<Event> {
    let mut reader = JournalReader::open(path).unwrap();
    let mut events = Vec::new();
    while let Some(record) = reader.next_record().unwrap() {
        if let RecordItem::Event(event) = record.item {
            events.push(event);
        }
    }
    events
}

/// Plays a session of so many messages and writes it down as the driver would.
fn write(path: &Path, messages: usize, lines: usize, settings: &Settings) -> usize {
    let (mut writer, folded) = JournalWriter::open(path, Durability::Written, settings).unwrap();
    let mut state = folded.state;
    let mut coming = std::collections::VecDeque::new();
    let mut count = 0;
    let mut turns = 0;
    let mut input = Tokens(0);
    loop {
        let Some(event) = coming.pop_front() else {
            if state.transcript.entries().len() >= messages {
                return count;
            }
            let content = vec![ContentBlock::Text("Go on with the next part of the work.".into())];
            coming.push_back(Event::UserSubmitted { content, pinned: false });
            continue;
        };
        writer.append_events(1_700_000_000_000, &[&event]).unwrap();
        count += 1;
        let taken = step(state, event, settings);
        state = taken.state;
        for effect in taken.effects {
            match effect {
                Effect::Tell(Notice::RequestStarted { input_estimate, .. }) => {
                    input = input_estimate;
                    for event in &mut coming {
                        if let Event::ModelEnded { usage, .. } = event {
                            usage.input = input;
                        }
                    }
                }
                Effect::CallModel(request) => {
                    turns += 1;
                    let is_over = state.transcript.entries().len() >= messages;
                    answer(request.attempt, turns, turns % 200 == 0 || is_over, &mut coming);
                }
                Effect::StartTool { ticket, .. } => {
                    let line = "fn name(argument: &str) -> Result<\"quoted\", Error> { body }\n";
                    let outcome = ToolOutcome::from_text(line.repeat(lines));
                    coming.push_back(Event::ToolEnded { ticket, outcome });
                }
                Effect::Summarize { ticket, .. } => coming.push_back(Event::SummaryEnded {
                    ticket,
                    result: Ok("What was done so far.".repeat(100)),
                    usage: Usage { input, ..Usage::default() },
                }),
                _ => {}
            }
        }
    }
}

fn answer(
    attempt: AttemptId,
    turn: u64,
    is_last: bool,
    coming: &mut std::collections::VecDeque<Event>,
) {
    let words = "I look at the file and say what I find there.\n".repeat(30);
    let delta = |delta| Event::ModelDelta { attempt, delta };
    coming.push_back(Event::ModelStarted { attempt, ids: None });
    coming.push_back(delta(Delta::Text(words.clone())));
    coming.push_back(delta(Delta::Block(ContentBlock::Text(words))));
    if !is_last {
        let input = format!(r#"{{"path":"src/file_{turn}.rs","offset":{turn}}}"#);
        let call = ToolCall {
            id: format!("call_{turn}").as_str().into(),
            name: "Read".into(),
            input: Json::from_checked(&input),
            signature: None,
        };
        let inspection = ToolInspection::SHARED_READ;
        coming.push_back(delta(Delta::Call { call, inspection }));
    }
    let usage = Usage { output: Tokens(500), ..Usage::default() };
    coming.push_back(Event::ModelEnded { attempt, stop: ModelStopReason::EndTurn, usage });
}
