//! The money limit against a provider that bills as it likes: any prices, any split between kinds of
//! input, always the most it may, nothing at all, or nonsense; nested sessions on one budget; and
//! processes that die with requests out. What the provider takes is counted here and not by the
//! engine. A bill beyond what a request can cost is the provider's own doing: nothing holds that, but
//! nothing is asked after it either.
#![allow(clippy::expect_used, clippy::panic, reason = "a panic is how a test says no")]

use proptest::prelude::*;
use windlass_engine::context::estimate;
use windlass_engine::revival::revival;
use windlass_engine::{Effect, Event, Interrupt, Settings, State, step};
use windlass_vocabulary::{
    Concurrency, ContentBlock, Delta, EffectClass, FailureKind, Json, MicroUsd, ModelFacts,
    ModelFailure, ModelRequest, ModelStopReason, Notice, PermissionMode, Prices, Tokens, ToolCall,
    ToolInspection, ToolOutcome, ToolSpec, Usage,
};

/// Numbers that look like chance and are the same every time.
#[derive(Clone, Debug)]
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides.max(1)
    }

    /// Up to this, and often exactly this.
    fn up_to(&mut self, most: u64) -> u64 {
        match self.roll(3) {
            0 => most,
            _ => self.roll(most.saturating_add(1)),
        }
    }
}

/// What the provider really took, and what of it was more than it could have taken.
#[derive(Clone, Copy, Debug, Default)]
struct Taken {
    all: u128,
    beyond: u128,
    requests: u32,
    shrunk: u32,
    deaths: u32,
}

impl Taken {
    fn add(&mut self, other: Self) {
        self.all += other.all;
        self.beyond += other.beyond;
        self.requests += other.requests;
        self.shrunk += other.shrunk;
        self.deaths += other.deaths;
    }
}

struct BillingSimulation<'a> {
    settings: Settings,
    state: Option<State>,
    coming: Vec<Event>,
    dice: &'a mut Dice,
    taken: Taken,
    input: Tokens,
    depth: u32,
    /// A process dies only as a whole, so only the outermost session is asked.
    dies: bool,
    is_over: bool,
    names: u32,
}

impl<'a> BillingSimulation<'a> {
    fn new(settings: Settings, dice: &'a mut Dice, depth: u32) -> Self {
        Self {
            state: Some(State::new(&settings)),
            settings,
            coming: Vec::new(),
            dice,
            taken: Taken::default(),
            input: Tokens(0),
            depth,
            dies: false,
            is_over: false,
            names: 0,
        }
    }

    fn state(&self) -> &State {
        self.state.as_ref().expect("a state")
    }

    fn take(&mut self, event: Event) {
        let stepped = step(self.state.take().expect("a state"), event, &self.settings);
        self.state = Some(stepped.state);
        stepped.effects.into_iter().for_each(|effect| self.perform(effect));
    }

    fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Tell(Notice::RequestStarted { input_estimate, .. }) => {
                self.input = input_estimate;
            }
            Effect::CallModel(request) => self.called(&request),
            Effect::Summarize { ticket, request } => {
                let input = Tokens(request.messages.iter().map(|_| 1).sum::<u64>());
                self.begins(&request);
                let usage = self.bill(input, &request);
                let result = Ok("A summary.".to_owned());
                self.coming.push(Event::SummaryEnded { ticket, result, usage });
            }
            Effect::StartTool { ticket, allowance, .. } => {
                let outcome = ToolOutcome::from_text(format!("result {}", self.names));
                let spent = allowance.map_or(MicroUsd(0), |allowance| self.nested(allowance));
                let outcome = ToolOutcome { spent, ..outcome };
                if self.dice.roll(4) == 0 && allowance.is_some() {
                    // It runs on in the background, and its bill comes when it likes.
                    let left = ToolOutcome { is_left: true, ..ToolOutcome::from_text("left") };
                    self.coming.push(Event::ToolEnded { ticket, outcome: left });
                }
                self.coming.push(Event::ToolEnded { ticket, outcome });
            }
            Effect::SetTimer { ticket, .. } => self.coming.push(Event::TimerFired { ticket }),
            Effect::Finish(_) => self.is_over = true,
            _ => {}
        }
    }

    /// Nothing goes out that would not fit, whatever was billed before.
    fn begins(&mut self, request: &ModelRequest) {
        self.taken.requests += 1;
        self.taken.shrunk += u32::from(request.output_max < self.settings.model.output_default);
    }

    fn check_reservation(&self) {
        let limit = self.settings.budget.budget_max.expect("a limit");
        let committed = self.state().ledger.committed();
        assert!(committed <= limit, "{committed} of {limit} with {:?}", self.taken);
    }

    fn cost(&self, usage: &Usage) -> u128 {
        u128::from(self.settings.model.prices.cost(usage).0)
    }

    /// What is taken for this request, and reported to the client.
    fn bill(&mut self, input: Tokens, request: &ModelRequest) -> Usage {
        let most = estimate::worst_case(input.0);
        let total = self.dice.up_to(most);
        let (cached, written) = (self.dice.up_to(total), self.dice.roll(2) == 0);
        let usage = Usage {
            input: Tokens(total - cached),
            output: Tokens(self.dice.up_to(request.output_max.0)),
            cache_write: Tokens(if written { cached } else { 0 }),
            cache_read: Tokens(if written { 0 } else { cached }),
        };
        if self.dice.roll(40) == 0 {
            // Nonsense, and it wants to be paid for it.
            let wild = Usage { input: Tokens(u64::MAX >> self.dice.roll(50)), ..usage };
            let longest = Usage { output: request.output_max, ..Usage::default() };
            let dearest = u128::from(self.settings.model.prices.max_input_price());
            let sent = (u128::from(most) * dearest).div_ceil(1_000_000);
            self.taken.all += self.cost(&wild);
            self.taken.beyond += self.cost(&wild).saturating_sub(sent + self.cost(&longest));
            return wild;
        }
        if self.dice.roll(8) == 0 {
            // It forgets to say what it took, which is what anybody would count.
            self.taken.all += self.cost(&Usage { input, ..Usage::default() });
            return Usage::default();
        }
        self.taken.all += self.cost(&usage);
        usage
    }

    fn called(&mut self, request: &ModelRequest) {
        self.begins(request);
        self.check_reservation();
        let attempt = request.attempt;
        if self.dice.roll(8) == 0 {
            let failure = ModelFailure::new(FailureKind::Overloaded, "busy");
            self.coming.push(Event::ModelFailed { attempt, failure });
            return;
        }
        self.coming.push(Event::ModelStarted { attempt, ids: None });
        let usage = self.bill(self.input, request);
        let calls = if self.depth > 2 { 0 } else { self.dice.roll(4) };
        for _ in 0..calls {
            self.names += 1;
            let call = ToolCall {
                id: format!("c{}", self.names).as_str().into(),
                name: "Agent".into(),
                input: Json::from_checked(&format!("{{\"n\":{}}}", self.names)),
                signature: None,
            };
            let inspection = ToolInspection {
                concurrency: Concurrency::Shared,
                class: EffectClass::Effect,
                spends: self.dice.roll(2) == 0,
                ..ToolInspection::SHARED_READ
            };
            self.coming
                .push(Event::ModelDelta { attempt, delta: Delta::Call { call, inspection } });
        }
        let delta = Delta::Block(ContentBlock::Text("Well.".to_owned()));
        self.coming.push(Event::ModelDelta { attempt, delta });
        self.coming.push(Event::ModelEnded { attempt, stop: ModelStopReason::EndTurn, usage });
    }

    /// A session inside this one, to its end.
    fn nested(&mut self, allowance: MicroUsd) -> MicroUsd {
        let mut settings = self.settings.clone();
        settings.budget.budget_max = Some(allowance);
        let mut inner = BillingSimulation::new(settings, self.dice, self.depth + 1);
        inner.say("go");
        inner.play();
        let (spent, taken) = (inner.state().ledger.spent(), inner.taken);
        self.taken.add(taken);
        spent
    }

    fn say(&mut self, words: &str) {
        let content = vec![ContentBlock::Text(words.to_owned())];
        self.is_over = false;
        self.take(Event::UserSubmitted { content, pinned: false });
    }

    fn play(&mut self) {
        for _ in 0..400 {
            if self.dies && self.dice.roll(12) == 0 {
                self.die();
            }
            if self.coming.is_empty() {
                return;
            }
            let event = self.coming.remove(0);
            self.take(event);
        }
    }

    /// Nothing that was under way reports any more; another process takes the session up.
    fn die(&mut self) {
        self.taken.deaths += 1;
        self.coming.clear();
        if self.dice.roll(2) == 0 {
            return self.take(Event::Interrupted(Interrupt::Crashed));
        }
        for event in revival(self.state()).events {
            self.take(event);
        }
    }
}

fn settings(prices: Prices, limit: u64, output: u64) -> Settings {
    let mut settings = Settings::new(ModelFacts {
        name: "greedy".into(),
        window: Tokens(200_000),
        output_default: Tokens(output),
        output_max: Tokens(output),
        prices,
    });
    settings.policy.mode = PermissionMode::BypassPermissions;
    settings.budget.budget_max = Some(MicroUsd(limit));
    settings.limits.turns_max = 30;
    settings.tools = [ToolSpec {
        name: "Agent".into(),
        description: "".into(),
        input_schema: Json::from_checked("{}"),
        result_bytes_max: 1_000,
    }]
    .into();
    settings
}

fn spend(settings: Settings, seed: u64) -> Taken {
    let mut dice = Dice(seed);
    let mut simulation = BillingSimulation::new(settings, &mut dice, 0);
    simulation.dies = true;
    for words in ["begin", "more", "and more", "the rest"] {
        simulation.say(words);
        simulation.play();
    }
    let limit = u128::from(simulation.settings.budget.budget_max.expect("a limit").0);
    let taken = simulation.taken;
    assert!(taken.all <= limit + taken.beyond, "{taken:?} of {limit}");
    taken
}

/// A price: usual, free, or out of this world.
fn price() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0..100_000_000_u64, 1 => Just(0), 1 => any::<u64>().prop_map(|it| it >> 8)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn what_is_taken_never_exceeds_the_limit(
        (input, output, cache_write, cache_read) in (price(), price(), price(), price()),
        limit in prop_oneof![0..5_000_000_u64, 0..50_000_u64, any::<u64>().prop_map(|it| it >> 4)],
        cap in 1..64_000_u64,
        seed in any::<u64>(),
    ) {
        spend(settings(Prices { input, output, cache_write, cache_read }, limit, cap), seed);
    }
}

/// The property means something only if money was short, answers were made shorter and processes
/// died.
#[test]
fn the_budget_is_really_tried() {
    let prices = Prices {
        input: 3_000_000,
        output: 15_000_000,
        cache_write: 3_750_000,
        cache_read: 300_000,
    };
    let mut all = Taken::default();
    for seed in 0..300 {
        all.add(spend(settings(prices, 300_000, 8_000), seed));
    }
    assert!(all.requests > 1_000 && all.shrunk > 100 && all.deaths > 100, "{all:?}");
    assert!(all.all - all.beyond.min(all.all) > 0, "{all:?}");
}
