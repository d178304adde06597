//! A session of the engine alone: its settings, its state, and one event after the other.

use windlass_engine::{Effect, Event, Settings, State, step};
use windlass_vocabulary::{
    AttemptId, ContentBlock, Delta, FailureKind, Json, ModelFacts, ModelFailure, ModelStopReason,
    PermissionMode, Prices, Tokens, ToolCall, ToolInspection, ToolOutcome, ToolSpec, Usage,
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

    /// A session with one tool, all of whose calls are allowed.
    pub(crate) fn with_tool() -> Self {
        let mut session = Self::new();
        session.settings.policy.mode = PermissionMode::BypassPermissions;
        session.settings.policy.can_ask = true;
        session.settings.tools = [ToolSpec {
            name: "Read".into(),
            description: "".into(),
            input_schema: Json::from_checked("{}"),
            result_bytes_max: 1_000_000,
        }]
        .into();
        session.restart();
        session
    }

    /// The model answers what it was asked last with one call of that tool.
    pub(crate) fn call_tool(&mut self) -> Vec<Effect> {
        let attempt = AttemptId(self.attempts);
        let call = ToolCall {
            id: format!("c{}", self.attempts).as_str().into(),
            name: "Read".into(),
            input: Json::from_checked("{\"f\":\"a\"}"),
            signature: None,
        };
        let delta = Delta::Call { call, inspection: ToolInspection::EXCLUSIVE_EFFECT };
        let mut effects = self.take(Event::ModelDelta { attempt, delta });
        let (stop, usage) = (ModelStopReason::EndTurn, Usage::default());
        effects.extend(self.take(Event::ModelEnded { attempt, stop, usage }));
        effects
    }

    /// The tool that these effects start ends with this.
    pub(crate) fn end_tool(&mut self, started: &[Effect], text: &str) {
        let ticket = started.iter().find_map(|effect| match effect {
            Effect::StartTool { ticket, .. } => Some(*ticket),
            _ => None,
        });
        let ticket = ticket.unwrap_or_else(|| panic!("nothing started: {started:?}"));
        self.take(Event::ToolEnded { ticket, outcome: ToolOutcome::from_text(text.to_owned()) });
    }

    /// The request that was sent last fails.
    pub(crate) fn fail(&mut self, kind: FailureKind) -> Vec<Effect> {
        let attempt = AttemptId(self.attempts);
        self.take(Event::ModelFailed { attempt, failure: ModelFailure::new(kind, "no") })
    }
}
