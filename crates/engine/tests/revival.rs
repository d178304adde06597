//! A run that died with its process goes on in another one, wherever it died.
#![allow(clippy::expect_used, clippy::panic, reason = "a panic is how a test says no")]

use windlass_engine::revival::revival;
use windlass_engine::{Effect, Event, Settings, State, step};
use windlass_vocabulary::{
    ContentBlock, Delta, Json, ModelFacts, ModelStopReason, Notice, PermissionAnswer,
    PermissionMode, Prices, Terminal, Tokens, ToolCall, ToolInspection, ToolOutcome, ToolSpec,
    Usage,
};

/// Answers each effect as a kind world would; a session is played to its end, and the process dies
/// after so many events.
struct World {
    settings: Settings,
    state: Option<State>,
    /// What the driver of the living process would still report.
    coming: Vec<Event>,
    answers: u32,
    started: u32,
    ending: Option<Terminal>,
    turns: u32,
}

impl World {
    fn new() -> Self {
        let mut settings = Settings::new(ModelFacts {
            name: "one".into(),
            window: Tokens(100_000),
            output_default: Tokens(1_000),
            output_max: Tokens(1_000),
            prices: Prices::default(),
        });
        settings.policy.mode = PermissionMode::Default;
        settings.policy.can_ask = true;
        settings.hooks.pre_tool_use = true;
        settings.hooks.post_tool_use = true;
        settings.limits.stop_hooks = true;
        settings.tools = [ToolSpec {
            name: "Bash".into(),
            description: "".into(),
            input_schema: Json::from_checked("{}"),
            result_bytes_max: 1_000,
        }]
        .into();
        let state = Some(State::new(&settings));
        let (coming, answers, started, turns) = (Vec::new(), 0, 0, 0);
        Self { settings, state, coming, answers, started, ending: None, turns }
    }

    fn take(&mut self, event: Event) {
        let stepped = step(self.state.take().expect("a state"), event, &self.settings);
        self.state = Some(stepped.state);
        stepped.effects.into_iter().for_each(|effect| self.perform(effect));
    }

    fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::CallModel(request) => {
                let attempt = request.attempt;
                self.answers += 1;
                self.coming.push(Event::ModelStarted { attempt, ids: None });
                let delta = match request.messages.len() < 6 {
                    true => Delta::Call {
                        call: ToolCall {
                            id: format!("c{}", self.answers).as_str().into(),
                            name: "Bash".into(),
                            input: Json::from_checked("{\"command\":\"touch x\"}"),
                            signature: None,
                        },
                        inspection: ToolInspection::EXCLUSIVE_EFFECT,
                    },
                    false => Delta::Block(ContentBlock::Text("done".to_owned())),
                };
                self.coming.push(Event::ModelDelta { attempt, delta });
                let usage = Usage::default();
                self.coming.push(Event::ModelEnded {
                    attempt,
                    stop: ModelStopReason::EndTurn,
                    usage,
                });
            }
            Effect::StartTool { ticket, .. } => {
                self.started += 1;
                let outcome = ToolOutcome::from_text(format!("ran {}", self.started));
                self.coming.push(Event::ToolEnded { ticket, outcome });
            }
            Effect::AskPermission { ticket, .. } => {
                let answer = PermissionAnswer::Allow { updated_input: None, remember: Vec::new() };
                self.coming.push(Event::PermissionAnswered { ticket, answer, inspection: None });
            }
            Effect::RunHook { ticket: Some(ticket), .. } => {
                self.coming.push(Event::HookEnded { ticket, report: Default::default() });
            }
            Effect::SetTimer { ticket, .. } => self.coming.push(Event::TimerFired { ticket }),
            Effect::Tell(Notice::Continued { turn, .. }) => self.turns = turn,
            Effect::Finish(ending) => self.ending = Some(ending.terminal),
            _ => {}
        }
    }

    /// Plays on until the end, or until so many events have happened.
    fn play(&mut self, events: &mut usize) {
        while self.ending.is_none() && *events > 0 && !self.coming.is_empty() {
            *events -= 1;
            let event = self.coming.remove(0);
            self.take(event);
        }
    }

    /// Everything that was under way is gone; a new process takes the session up.
    fn die(&mut self) {
        self.coming.clear();
        let revival = revival(self.state.as_ref().expect("a state"));
        revival.effects.into_iter().for_each(|effect| self.perform(effect));
        for event in revival.events {
            self.take(event);
        }
    }
}

#[test]
fn a_run_goes_on_wherever_its_process_died() {
    let mut deaths = 0;
    for place in 0..60 {
        let mut world = World::new();
        let content = vec![ContentBlock::Text("go".to_owned())];
        world.take(Event::UserSubmitted { content, pinned: false });
        let mut left = place;
        world.play(&mut left);
        if world.ending.is_some() {
            break;
        }
        deaths += 1;
        let turn_before = world.state.as_ref().expect("a state").control.turn;
        world.die();
        let is_fine = world.ending.is_none_or(|terminal| terminal == Terminal::Completed);
        assert!(is_fine, "{place}: the run goes on, or was at its end: {:?}", world.ending);
        let turn_after = world.state.as_ref().expect("a state").control.turn;
        assert!(turn_after >= turn_before, "{place}: turns are counted on");
        world.play(&mut usize::MAX.clone());
        assert_eq!(world.ending, Some(Terminal::Completed), "died after {place} events");
        let state = world.state.as_ref().expect("a state");
        let results: usize = state.transcript.messages().map(|m| m.tool_results().count()).sum();
        let calls: usize = state.transcript.messages().map(|m| m.tool_calls().count()).sum();
        assert_eq!(results, calls, "died after {place} events");
    }
    assert!(deaths > 15, "{deaths}");
    let idle = World::new();
    let revival = revival(idle.state.as_ref().expect("a state"));
    assert!(revival.events.is_empty() && revival.effects.is_empty());
}
