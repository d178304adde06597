//! What one step of the engine costs, against a budget. `cargo bench -p windlass-lab --bench step`
//!
//! Prints a small table and fails when something costs more than three times its budget: enough to
//! catch a wrong order of growth, not so little that a busy machine fails it. Without `--bench`
//! (when tests build everything) each is only tried once.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use windlass_engine::{Event, Settings, State, step};
use windlass_vocabulary::{
    ContentBlock, Delta, Json, ModelFacts, ModelName, ModelStopReason, PermissionMode, Prices,
    Ticket, Tokens, ToolCall, ToolCallId, ToolInspection, ToolName, ToolOutcome, Usage,
};

/// Over the budget by more than this is a failure.
const TOLERANCE: u32 = 3;
/// The best of so many batches counts: noise only ever adds.
const BATCHES: u32 = 15;

struct Case {
    name: &'static str,
    budget: Duration,
    /// Plays a batch; says how many steps it timed and how long they took.
    batch: fn() -> (u32, Duration),
}

const CASES: [Case; 4] = [
    Case { name: "one streamed piece of text", budget: Duration::from_micros(1), batch: texts },
    Case { name: "one dead event", budget: Duration::from_micros(1), batch: dead },
    Case { name: "one tool turn, 20 messages", budget: Duration::from_micros(20), batch: short },
    Case { name: "one tool turn, 2000 messages", budget: Duration::from_micros(250), batch: long },
];

fn main() -> ExitCode {
    let is_measured = std::env::args().any(|argument| argument == "--bench");
    let mut is_over = false;
    println!("{:<32} {:>12} {:>12}", "step", "budget", "measured");
    for Case { name, budget, batch } in CASES {
        let batches = if is_measured { BATCHES } else { 1 };
        let best = (0..batches)
            .map(|_| batch())
            .map(|(steps, took)| took / steps.max(1))
            .min()
            .unwrap_or_default();
        let mark = if best > budget { "  over" } else { "" };
        println!("{name:<32} {budget:>12.2?} {best:>12.2?}{mark}");
        is_over |= best > budget * TOLERANCE;
    }
    match is_over && is_measured {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    }
}

fn settings() -> Settings {
    let mut settings = Settings::new(ModelFacts {
        name: ModelName::from("model"),
        window: Tokens(1_000_000_000),
        output_default: Tokens(1_000),
        output_max: Tokens(1_000),
        prices: Prices { input: 3, output: 15, cache_write: 4, cache_read: 1 },
    });
    settings.limits.turns_max = u32::MAX;
    settings.policy.mode = PermissionMode::BypassPermissions;
    settings
}

/// A session under way, and the attempt it waits for.
struct Session {
    settings: Settings,
    state: Option<State>,
    attempt: windlass_vocabulary::AttemptId,
    ticket: Ticket,
    calls: u64,
}

impl Session {
    fn new() -> Self {
        let settings = settings();
        let state = Some(State::new(&settings));
        let (attempt, ticket) = Default::default();
        let mut session = Self { settings, state, attempt, ticket, calls: 0 };
        let content = vec![ContentBlock::Text("go".to_owned())];
        session.take(Event::UserSubmitted { content, pinned: false });
        session
    }

    fn take(&mut self, event: Event) {
        let Some(state) = self.state.take() else {
            return;
        };
        let step = step(state, event, &self.settings);
        for effect in &step.effects {
            match effect {
                windlass_engine::Effect::CallModel(request) => self.attempt = request.attempt,
                windlass_engine::Effect::StartTool { ticket, .. } => self.ticket = *ticket,
                _ => {}
            }
        }
        self.state = Some(step.state);
    }

    /// The model asks for a tool, the tool answers, the next request goes out: four steps.
    fn turn(&mut self) {
        self.calls += 1;
        let attempt = self.attempt;
        let id = ToolCallId::from(format!("call{}", self.calls).as_str());
        let input = Json::from_checked(&format!("{{\"number\":{}}}", self.calls));
        let call = ToolCall { id, name: ToolName::from("Read"), input, signature: None };
        let delta = Delta::Call { call, inspection: ToolInspection::SHARED_READ };
        self.take(Event::ModelDelta { attempt, delta });
        let usage = Usage { input: Tokens(100), output: Tokens(20), ..Usage::default() };
        self.take(Event::ModelEnded { attempt, stop: ModelStopReason::EndTurn, usage });
        let outcome = ToolOutcome::from_text("some text of a file ".repeat(20));
        self.take(Event::ToolEnded { ticket: self.ticket, outcome });
    }
}

fn texts() -> (u32, Duration) {
    let mut session = Session::new();
    let attempt = session.attempt;
    let steps = 100_000;
    let events: Vec<Event> = (0..steps)
        .map(|_| Event::ModelDelta { attempt, delta: Delta::Text("a few words ".to_owned()) })
        .collect();
    let began = Instant::now();
    for event in events {
        session.take(event);
    }
    (steps, began.elapsed())
}

fn dead() -> (u32, Duration) {
    let mut session = Session::new();
    let steps = 100_000;
    let began = Instant::now();
    for _ in 0..steps {
        session.take(Event::TimerFired { ticket: Ticket(1_000_000) });
    }
    (steps, began.elapsed())
}

fn short() -> (u32, Duration) {
    turns(10, 20)
}

fn long() -> (u32, Duration) {
    turns(1_000, 20)
}

/// Turns after so many turns have gone by.
fn turns(before: u32, steps: u32) -> (u32, Duration) {
    let mut session = Session::new();
    for _ in 0..before {
        session.turn();
    }
    let began = Instant::now();
    for _ in 0..steps {
        session.turn();
    }
    (steps, began.elapsed())
}
