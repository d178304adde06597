//! What goes wrong, and how often. While the storm lasts everything does; afterwards nothing.

use windlass_vocabulary::{
    AttemptId, Delta, FailureKind, HookReport, Millis, ModelFailure, PermissionAnswer, Ticket,
    ToolOutcome, Usage,
};

use windlass_engine::Event;

use super::seeded_random::SeededRandom;

/// How often things go wrong, in percent unless it is said otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Faults {
    pub refused: u64,
    pub cut: u64,
    /// A summary fails, or is empty, or far too long.
    pub summary: u64,
    pub lost: u64,
    pub doubled: u64,
    /// An event comes although its errand was called off.
    pub late: u64,
    pub interrupted: u64,
    /// An event comes that answers nothing, or answers an errand of another kind; per thousand
    /// events.
    pub foreign: u64,
}

impl Faults {
    pub const NONE: Self = Self {
        refused: 0,
        cut: 0,
        summary: 0,
        lost: 0,
        doubled: 0,
        late: 0,
        interrupted: 0,
        foreign: 0,
    };

    /// A storm, not the same for every seed: some have much of one kind and none of another.
    pub fn draw(random: &mut SeededRandom) -> Self {
        let mut rate =
            |high: u64| if random.draw_percent(25) { 0 } else { random.draw_below(high) };
        Self {
            refused: rate(50),
            cut: rate(50),
            summary: rate(80),
            lost: rate(10),
            doubled: rate(20),
            late: rate(100),
            interrupted: rate(15),
            foreign: rate(20),
        }
    }
}

/// Every way a call can fail.
const FAILURE_KINDS: [FailureKind; 14] = [
    FailureKind::PromptTooLong,
    FailureKind::MediaTooLarge,
    FailureKind::BadImage,
    FailureKind::Overloaded,
    FailureKind::RateLimited,
    FailureKind::ServerFault,
    FailureKind::Transport,
    FailureKind::ModelGone,
    FailureKind::InvalidRequest,
    FailureKind::ForeignSignature,
    FailureKind::Unauthorised,
    FailureKind::Quota,
    FailureKind::Refused,
    FailureKind::Misconfigured,
];

/// A failure with a name of its own, so that it can be followed. The kinds a loop can act on come
/// more often than those that end everything.
pub fn draw_failure(random: &mut SeededRandom, number: u64) -> ModelFailure {
    let kind = match random.draw_below(100) {
        0..15 => FailureKind::PromptTooLong,
        15..30 => FailureKind::Overloaded,
        30..40 => FailureKind::Transport,
        _ => random.choose(FAILURE_KINDS),
    };
    let retry_after = random.draw_percent(30).then(|| Millis(random.draw_below(8_000)));
    ModelFailure { retry_after, ..ModelFailure::new(kind, format!("failure#{number}#")) }
}

/// An event that answers nothing that was ever asked.
pub fn draw_foreign_event(random: &mut SeededRandom) -> Event {
    let attempt = AttemptId(1_000_000 + random.draw_below(10));
    let ticket = Ticket(1_000_000 + random.draw_below(10));
    match random.draw_below(4) {
        0 => Event::ModelStarted { attempt, ids: None },
        1 => Event::ModelDelta { attempt, delta: Delta::Text("foreign".to_owned()) },
        2 => Event::ModelFailed { attempt, failure: draw_failure(random, 0) },
        _ => draw_crossed_event(random, ticket),
    }
}

/// A random response to this task, whatever the task is.
pub fn draw_crossed_event(random: &mut SeededRandom, ticket: Ticket) -> Event {
    match random.draw_below(6) {
        0 => Event::ToolEnded { ticket, outcome: ToolOutcome::from_text("crossed") },
        1 => Event::HookEnded { ticket, report: HookReport::default() },
        2 => {
            let result = Ok("crossed".to_owned());
            let usage = Usage::default();
            Event::SummaryEnded { ticket, result, usage }
        }
        3 => Event::ToolProgressed { ticket, text: "crossed".to_owned() },
        4 => {
            let answer = PermissionAnswer::Allow { updated_input: None, remember: Vec::new() };
            Event::PermissionAnswered { ticket, answer, inspection: None }
        }
        _ => Event::TimerFired { ticket },
    }
}
