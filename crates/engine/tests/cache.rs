//! The ledger foresees what the provider's cache will give and says in one sentence why it gave less.
#![allow(clippy::expect_used, reason = "a panic is how a test says no")]

use windlass_engine::{Effect, Event, Settings, State, step};
use windlass_vocabulary::{
    AttemptId, ContentBlock, Delta, ModelFacts, ModelStopReason, Prices, Tokens, Usage,
};

/// A session under way.
struct Session {
    state: Option<State>,
    settings: Settings,
    attempt: AttemptId,
}

impl Session {
    fn new() -> Self {
        let facts = |name: &str| ModelFacts {
            name: name.into(),
            window: Tokens(100_000),
            output_default: Tokens(1_000),
            output_max: Tokens(1_000),
            prices: Prices::default(),
        };
        let mut settings = Settings::new(facts("one"));
        settings.prompt.system_prompt = "Be brief.".into();
        let state = Some(State::new(&settings));
        Self { state, settings, attempt: AttemptId(0) }
    }

    fn take(&mut self, event: Event) {
        let state = self.state.take().expect("a state");
        let stepped = step(state, event, &self.settings);
        self.state = Some(stepped.state);
        for effect in stepped.effects {
            if let Effect::CallModel(request) = effect {
                self.attempt = request.attempt;
            }
        }
    }

    /// One exchange, billed like this.
    fn exchange(&mut self, usage: Usage) {
        let content = vec![ContentBlock::Text("a question of some length".to_owned())];
        self.take(Event::UserSubmitted { content, pinned: false });
        let attempt = self.attempt;
        let delta = Delta::Block(ContentBlock::Text("an answer".to_owned()));
        self.take(Event::ModelDelta { attempt, delta });
        self.take(Event::ModelEnded { attempt, stop: ModelStopReason::EndTurn, usage });
    }

    /// What was foreseen for the last request, and why it did not come.
    fn last(&self) -> (Tokens, Option<&str>) {
        let row = self.state.as_ref().and_then(|state| state.ledger.rows().last()).expect("a row");
        (row.predicted_read, row.cache_miss.as_deref())
    }
}

fn usage(input: u64, cache_write: u64, cache_read: u64) -> Usage {
    Usage {
        input: Tokens(input),
        output: Tokens(5),
        cache_write: Tokens(cache_write),
        cache_read: Tokens(cache_read),
    }
}

#[test]
fn a_request_that_goes_on_is_read_from_the_cache() {
    let mut session = Session::new();
    session.exchange(usage(3, 1_000, 0));
    assert_eq!(session.last(), (Tokens(0), None), "nothing is foreseen for the first");
    session.exchange(usage(3, 50, 1_000));
    assert_eq!(session.last(), (Tokens(1_000), None));
}

#[test]
fn a_prefix_that_the_provider_lost_is_told() {
    let mut session = Session::new();
    session.exchange(usage(3, 1_000, 0));
    session.exchange(usage(3, 1_050, 0));
    let (foreseen, why) = session.last();
    assert_eq!(foreseen, Tokens(1_000));
    assert!(why.is_some_and(|why| why.contains("1000 tokens were expected")), "{why:?}");
}

#[test]
fn a_break_of_our_own_is_named() {
    let mut session = Session::new();
    session.exchange(usage(3, 1_000, 0));
    session.settings.prompt.system_prompt = "Be long.".into();
    session.exchange(usage(3, 1_050, 0));
    assert_eq!(session.last(), (Tokens(0), Some("the system prompt changed")));
    session.settings.model.name = "two".into();
    session.exchange(usage(3, 1_050, 0));
    let (_, why) = session.last();
    assert!(why.is_some_and(|why| why.contains("another model is asked")), "{why:?}");
}

#[test]
fn a_provider_that_does_not_cache_owes_nothing() {
    let mut session = Session::new();
    session.exchange(usage(1_000, 0, 0));
    session.exchange(usage(1_050, 0, 0));
    assert_eq!(session.last(), (Tokens(0), None));
}
