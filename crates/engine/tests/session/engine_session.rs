//! A session of the engine alone: its settings, its state, and one event after the other.

use windlass_engine::{Effect, Event, Settings, State, step};
use windlass_vocabulary::{
    AttemptId, ContentBlock, Delta, FailureKind, ModelFacts, ModelFailure, ModelStopReason, Prices,
    Tokens, Usage,
};

pub(crate) struct EngineSession {
    pub(crate) settings: Settings,
    state: State,
    attempts: u64,
}

impl EngineSession {
    pub(crate) fn new() -> Self {
        let facts = ModelFacts {
            name: "one".into(),
            window: Tokens(100_000),
            output_default: Tokens(1_000),
            output_max: Tokens(1_000),
            prices: Prices::default(),
        };
        let settings = Settings::new(facts);
        let state = State::new(&settings);
        Self { settings, state, attempts: 0 }
    }

    pub(crate) fn state(&self) -> &State {
        &self.state
    }

    /// Begins anew with the settings as they are now.
    pub(crate) fn restart(&mut self) {
        self.state = State::new(&self.settings);
    }

    pub(crate) fn take(&mut self, event: Event) -> Vec<Effect> {
        let before = std::mem::replace(&mut self.state, State::new(&self.settings));
        let stepped = step(before, event, &self.settings);
        self.state = stepped.state;
        let called = |effect: &Effect| match effect {
            Effect::CallModel(request) => Some(request.attempt.0),
            _ => None,
        };
        self.attempts =
            stepped.effects.iter().filter_map(called).next_back().unwrap_or(self.attempts);
        stepped.effects
    }

    pub(crate) fn submit(&mut self, prompt: &str) -> Vec<Effect> {
        let content = vec![ContentBlock::Text(prompt.to_owned())];
        self.take(Event::UserSubmitted { content, pinned: false })
    }

    /// The model answers what it was asked last with one text.
    pub(crate) fn answer(&mut self, text: &str, stop: ModelStopReason) -> Vec<Effect> {
        let attempt = AttemptId(self.attempts);
        let delta = Delta::Block(ContentBlock::Text(text.to_owned()));
        self.take(Event::ModelDelta { attempt, delta });
        self.take(Event::ModelEnded { attempt, stop, usage: Usage::default() })
    }

    /// The request that was sent last fails.
    pub(crate) fn fail(&mut self, kind: FailureKind) -> Vec<Effect> {
        let attempt = AttemptId(self.attempts);
        self.take(Event::ModelFailed { attempt, failure: ModelFailure::new(kind, "no") })
    }
}
