//! A session controlled by the caller: it holds the last effects, and answers one event at a time.
//! For measurements and properties that need an exact sequence.
//!
//! Decides nothing and answers nothing by itself.

use std::collections::VecDeque;

use windlass_engine::{Effect, Event, Settings, State, step};
use windlass_vocabulary::notice::RunEnding;
use windlass_vocabulary::{
    AttemptId, ContentBlock, Delta, Json, ModelFacts, ModelName, ModelRequest, ModelStopReason,
    Notice, PermissionMode, Prices, RequestSource, Ticket, Tokens, ToolCall, ToolCallId,
    ToolInspection, ToolName, ToolOutcome, Usage,
};

#[derive(Debug)]
pub struct ManualSession {
    pub settings: Settings,
    state: Option<State>,
    pub request: Option<Box<ModelRequest>>,
    pub estimate: Tokens,
    pub summary: Option<(Ticket, Box<ModelRequest>)>,
    pub tools: VecDeque<Ticket>,
    pub ending: Option<RunEnding>,
    calls: u64,
}

impl ManualSession {
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self {
            state: Some(State::new(&settings)),
            settings,
            request: None,
            estimate: Tokens(0),
            summary: None,
            tools: VecDeque::new(),
            ending: None,
            calls: 0,
        }
    }

    /// Where it is.
    ///
    /// # Panics
    ///
    /// Never: a step always gives a state back.
    #[must_use]
    #[allow(clippy::expect_used, reason = "a step always gives a state back")]
    pub fn state(&self) -> &State {
        self.state.as_ref().expect("a step gives a state back")
    }

    /// One event, and everything the engine then wants done. What waits for an answer is kept.
    pub fn apply_event(&mut self, event: Event) -> Vec<Effect> {
        let Some(state) = self.state.take() else { return Vec::new() };
        let stepped = step(state, event, &self.settings);
        self.state = Some(stepped.state);
        let mut others = Vec::new();
        for effect in stepped.effects {
            match effect {
                Effect::CallModel(request) => self.request = Some(request),
                Effect::Summarize { ticket, request }
                    if request.source == RequestSource::Compaction =>
                {
                    self.summary = Some((ticket, request));
                }
                Effect::StartTool { ticket, .. } => self.tools.push_back(ticket),
                Effect::Finish(ending) => {
                    self.ending = Some(ending);
                    self.request = None;
                    self.summary = None;
                    self.tools.clear();
                }
                Effect::Tell(Notice::RequestStarted { input_estimate, .. }) => {
                    self.estimate = input_estimate;
                    others.push(effect);
                }
                other @ (Effect::CancelModel { .. }
                | Effect::CancelTool { .. }
                | Effect::AskPermission { .. }
                | Effect::RunHook { .. }
                | Effect::Summarize { .. }
                | Effect::Spill { .. }
                | Effect::Keep { .. }
                | Effect::Prefetch { .. }
                | Effect::SetTimer { .. }
                | Effect::Tell(_)) => others.push(other),
            }
        }
        others
    }

    #[must_use]
    pub fn attempt(&self) -> AttemptId {
        self.request.as_ref().map(|request| request.attempt).unwrap_or_default()
    }

    pub fn submit(&mut self, words: &str) -> Vec<Effect> {
        let content = vec![ContentBlock::Text(words.to_owned())];
        self.apply_event(Event::UserSubmitted { content, pinned: false })
    }

    /// A call under a name of its own, as a piece of the answer.
    pub fn call_event(&mut self, tool: &str, input: &str) -> Event {
        self.calls += 1;
        let call = ToolCall {
            id: ToolCallId::from(format!("call_{}", self.calls).as_str()),
            name: ToolName::from(tool),
            input: Json::from_checked(input),
            signature: None,
        };
        let delta = Delta::Call { call, inspection: ToolInspection::SHARED_READ };
        Event::ModelDelta { attempt: self.attempt(), delta }
    }

    /// A whole text, as a piece of the answer.
    #[must_use]
    pub fn text_event(&self, words: String) -> Event {
        Event::ModelDelta {
            attempt: self.attempt(),
            delta: Delta::Block(ContentBlock::Text(words)),
        }
    }

    /// The end of the answer, billed for so much input.
    #[must_use]
    pub fn end_event(&self, input: u64) -> Event {
        let usage = Usage { input: Tokens(input), output: Tokens(200), ..Usage::default() };
        Event::ModelEnded { attempt: self.attempt(), stop: ModelStopReason::EndTurn, usage }
    }

    pub fn result_event(&mut self, words: String) -> Event {
        let ticket = self.tools.pop_front().unwrap_or_default();
        Event::ToolEnded { ticket, outcome: ToolOutcome::from_text(words) }
    }

    pub fn summary_event(&mut self, words: &str) -> Option<Event> {
        let (ticket, _) = self.summary.take()?;
        let usage = Usage { input: Tokens(1), output: Tokens(1), ..Usage::default() };
        Some(Event::SummaryEnded { ticket, result: Ok(words.to_owned()), usage })
    }
}

/// Settings with one model of this window, in which every call may run.
#[must_use]
pub fn build_settings(window: u64, output: u64) -> Settings {
    let mut settings = Settings::new(ModelFacts {
        name: ModelName::from("model"),
        window: Tokens(window),
        output_default: Tokens(output),
        output_max: Tokens(output),
        prices: Prices { input: 3, output: 15, cache_write: 4, cache_read: 1 },
    });
    settings.limits.turns_max = u32::MAX;
    settings.policy.mode = PermissionMode::BypassPermissions;
    settings
}

/// What was estimated for the request that went out with these effects.
#[must_use]
pub fn find_estimate(effects: &[Effect]) -> Option<Tokens> {
    effects.iter().rev().find_map(|effect| {
        let Effect::Tell(Notice::RequestStarted { input_estimate, .. }) = effect else {
            return None;
        };
        Some(*input_estimate)
    })
}
