//! Random settings: limits so small that every one of them is met, switches both ways.

use std::sync::Arc;

use windlass_engine::settings::{After, Context, Hooks};
use windlass_engine::{Limits, Settings};
use windlass_permission::Rule;
use windlass_vocabulary::{
    Json, MicroUsd, Millis, Mode, ModelFacts, ModelName, Prices, Tokens, ToolName, ToolSpec,
};

use super::random::Random;

/// Tools on offer, each with what the registry would say of a call: see [`super::model::inspect`].
pub const TOOLS: [&str; 4] = ["Read", "Bash", "Edit", "Task"];

/// The one that starts a nested session.
pub const NESTED: &str = "Task";

/// Draws the settings of a run.
#[must_use]
pub fn draw(random: &mut Random) -> Settings {
    let is_priced = random.percent(50);
    let is_cramped = random.percent(60);
    let mut settings = Settings::new(model(random, "first", is_priced, is_cramped));
    for number in 0..random.between(0, 2) {
        let name = format!("fallback{number}");
        settings.fallbacks.push(model(random, &name, is_priced, is_cramped));
    }
    if random.percent(30) {
        settings.small_model = Some(model(random, "small", is_priced, is_cramped));
    }
    settings.limits = limits(random);
    settings.context = context(random);
    settings.hooks = Hooks {
        pre_tool_use: random.percent(40),
        post_tool_use: random.percent(30),
        post_tool_use_failure: random.percent(30),
        stop_failure: random.percent(30),
        pre_compact: random.percent(30),
        post_compact: random.percent(30),
        post_tool_batch: random.percent(30),
        can_defer: random.percent(60),
    };
    policy(random, &mut settings);
    if random.percent(30) {
        settings.system_prompt = Arc::from("You are a simulated agent.");
        settings.system_context.push(("place".to_owned(), "nowhere".to_owned()));
    }
    if random.percent(30) {
        settings.user_context = Some(Arc::from("Some context."));
    }
    if is_priced && random.percent(60) {
        settings.budget_max = Some(MicroUsd(random.between(100, 40_000)));
    }
    if random.percent(40) {
        settings.token_budget = Some(Tokens(random.between(100, 20_000)));
    }
    settings.agent.is_subagent = random.percent(20);
    settings.batch_tools = random.percent(25);
    settings.tool_labels = random.percent(25);
    settings.prefetch = random.percent(40);
    settings.jitter_seed = random.bits();
    if random.percent(30) {
        settings.wait_max = Millis(random.between(0, 20_000));
    }
    settings.tools = TOOLS.iter().map(|name| spec(random, name)).collect();
    if random.percent(10) {
        run_wild(random, &mut settings);
    }
    settings.after = After {
        title: random.percent(20),
        suggestion: random.percent(20),
        memory: random.percent(20),
        consolidation: false,
        questions: random.percent(20),
    };
    settings
}

/// Numbers nobody would set, which must not break anything either. Limits on turns stay small: a
/// session must end.
fn run_wild(random: &mut Random, settings: &mut Settings) {
    let extreme = |random: &mut Random| random.one_of([0, 1, u64::MAX, u64::MAX / 2]);
    let narrow = |random: &mut Random| random.one_of([0, 1, u8::MAX]);
    for _ in 0..random.between(1, 4) {
        let Settings { model, limits, context, .. } = settings;
        match random.below(20) {
            0 => model.window = Tokens(extreme(random)),
            1 => model.output_default = Tokens(extreme(random)),
            2 => model.output_max = Tokens(extreme(random)),
            3 => model.prices.input = extreme(random),
            4 => model.prices.output = extreme(random),
            5 => settings.budget_max = Some(MicroUsd(extreme(random))),
            6 => settings.token_budget = Some(Tokens(extreme(random))),
            7 => settings.wait_max = Millis(extreme(random)),
            8 => context.summary_tokens = Tokens(extreme(random)),
            9 => context.message_result_bytes_max = random.one_of([0, 1, usize::MAX]),
            10 => context.result_bytes_kept = random.one_of([0, 1, usize::MAX]),
            11 => context.verbose_bytes = random.one_of([0, 1, usize::MAX]),
            12 => context.microcompact_percent = narrow(random),
            13 => context.collapse_percent = narrow(random),
            14 => context.recent_turns = random.one_of([0, u32::MAX]),
            15 => context.turns_kept = Some(random.one_of([0, u32::MAX])),
            16 => limits.overloads_max = narrow(random),
            17 => limits.refill_turns = narrow(random),
            18 => limits.turns_max = 0,
            _ => limits.refills_max = narrow(random),
        }
    }
}

fn model(random: &mut Random, name: &str, is_priced: bool, is_cramped: bool) -> ModelFacts {
    let window = if is_cramped { random.between(300, 5_000) } else { 1_000_000 };
    let output_default = random.between(20, 2_000).min(window);
    let output_max = output_default * random.between(1, 4);
    let price = |random: &mut Random| if is_priced { random.between(0, 2_000_000) } else { 0 };
    ModelFacts {
        name: ModelName::from(name),
        window: Tokens(window),
        output_default: Tokens(output_default),
        output_max: Tokens(output_max),
        prices: Prices {
            input: price(random),
            output: price(random),
            cache_write: price(random),
            cache_read: price(random),
        },
    }
}

fn limits(random: &mut Random) -> Limits {
    Limits {
        turns_max: u32::from(if random.percent(20) {
            random.small(7, 40)
        } else {
            random.small(1, 6)
        }),
        models: 1,
        retries_max: random.small(0, 3),
        overloads_max: random.small(1, 3),
        pauses_max: random.small(0, 2),
        output_recoveries_max: random.small(0, 3),
        stop_blocks_max: random.small(0, 4),
        stop_same_max: random.small(1, 3),
        nudges_max: random.small(0, 5),
        summary_failures_max: random.small(1, 3),
        refills_max: random.small(0, 3),
        refill_turns: random.small(0, 3),
        tools_parallel_max: random.small(0, 4),
        auto_compact: random.percent(75),
        reactive_compact: random.percent(75),
        stop_hooks: random.percent(50),
    }
}

fn context(random: &mut Random) -> Context {
    Context {
        message_result_bytes_max: small(random, 200, 6_000),
        result_bytes_kept: small(random, 10, 200),
        spill_directory: Arc::from("spill"),
        cleared_by_provider: random.percent(20).then(|| "first".into()).into_iter().collect(),
        turns_kept: random.percent(30).then(|| u32::from(random.small(1, 3))),
        microcompact_percent: random.small(10, 100),
        recent_turns: u32::from(random.small(0, 3)),
        verbose_bytes: small(random, 10, 500),
        collapse_percent: random.small(10, 101),
        summary_tokens: Tokens(random.between(10, 500)),
    }
}

fn policy(random: &mut Random, settings: &mut Settings) {
    let policy = &mut settings.policy;
    policy.mode = random.one_of([
        Mode::Default,
        Mode::AcceptEdits,
        Mode::Plan,
        Mode::DontAsk,
        Mode::BypassPermissions,
        Mode::BypassPermissions,
    ]);
    policy.can_ask = random.percent(70);
    policy.directories = vec!["/w".to_owned()];
    for (rules, percent) in
        [(&mut policy.rules.allow, 30), (&mut policy.rules.ask, 15), (&mut policy.rules.deny, 15)]
    {
        if random.percent(percent)
            && let Some(tool) = random.pick(&TOOLS)
            && let Ok(rule) = Rule::parse(tool)
        {
            rules.push(rule);
        }
    }
}

/// A tool as the model is told of it.
pub fn spec(random: &mut Random, name: &str) -> ToolSpec {
    ToolSpec {
        name: ToolName::from(name),
        description: Arc::from("A simulated tool."),
        input_schema: Json::empty_object(),
        result_bytes_max: small(random, 100, 5_000),
    }
}

fn small(random: &mut Random, low: u64, high: u64) -> usize {
    usize::try_from(random.between(low, high)).unwrap_or(0)
}
