//! Waits before the next try.
#![allow(clippy::expect_used, reason = "a panic is how a test says no")]

use windlass_engine::{Effect, Event, Settings, State, step};
use windlass_vocabulary::{
    AttemptId, ContentBlock, Delta, FailureKind, Millis, ModelFacts, ModelFailure, ModelStopReason,
    Prices, Tokens, Usage,
};

/// The wait after one failure of this kind, before or after the session's first answer.
fn wait(kind: FailureKind, has_answered: bool, seed: u64) -> Millis {
    let facts = ModelFacts {
        name: "one".into(),
        window: Tokens(100_000),
        output_default: Tokens(1_000),
        output_max: Tokens(1_000),
        prices: Prices::default(),
    };
    let mut settings = Settings::new(facts);
    settings.retry.jitter_seed = seed;
    let mut state = State::new(&settings);
    let submitted = || Event::UserSubmitted {
        content: vec![ContentBlock::Text("a question".to_owned())],
        pinned: false,
    };
    // The jitter depends on the attempt: both ways the second one fails.
    let attempt = AttemptId(1);
    let first = match has_answered {
        true => vec![
            Event::ModelDelta { attempt, delta: Delta::Block(ContentBlock::Text("a".to_owned())) },
            Event::ModelEnded { attempt, stop: ModelStopReason::EndTurn, usage: Usage::default() },
        ],
        false => vec![Event::Interrupted(windlass_engine::Interrupt::User)],
    };
    let failure = ModelFailure::new(kind, "no");
    let failed = Event::ModelFailed { attempt: AttemptId(2), failure };
    let events = std::iter::once(submitted()).chain(first).chain([submitted(), failed]);
    let mut waits = Vec::new();
    for event in events {
        let stepped = step(state, event, &settings);
        state = stepped.state;
        waits.extend(stepped.effects.iter().filter_map(|effect| match effect {
            Effect::SetTimer { after, .. } => Some(*after),
            _ => None,
        }));
    }
    waits.pop().expect("a wait")
}

#[test]
fn an_overload_is_waited_out_longer_before_the_first_answer() {
    for seed in 0..50 {
        let later = wait(FailureKind::Overloaded, true, seed);
        assert!((1..=1_000).contains(&later.0));
        assert_eq!(wait(FailureKind::Overloaded, false, seed), Millis(later.0 * 4));
        let transport = wait(FailureKind::Transport, true, seed);
        assert_eq!(wait(FailureKind::Transport, false, seed), transport, "nothing is gained here");
    }
}
