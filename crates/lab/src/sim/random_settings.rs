//! Random settings: limits so small that every one of them is met, switches both ways.

use std::sync::Arc;

use windlass_engine::settings::{After, CircleGuard, Context, Hooks, RefillLimits};
use windlass_engine::{Limits, Settings};
use windlass_permission::Rule;
use windlass_vocabulary::{
    Json, MicroUsd, Millis, ModelFacts, ModelName, PermissionMode, Prices, Tokens, ToolName,
    ToolSpec,
};

use super::seeded_random::SeededRandom;

/// Tools on offer, each with what the registry would say of a call: see [`super::simulated_model::draw_inspection`].
pub const SIM_TOOLS: [&str; 4] = ["Read", "Bash", "Edit", "Task"];

pub const NESTED_SESSION_TOOL: &str = "Task";

#[must_use]
pub fn draw_settings(random: &mut SeededRandom) -> Settings {
    let is_priced = random.draw_percent(50);
    let is_cramped = random.draw_percent(60);
    let mut settings = Settings::new(draw_model(random, "first", is_priced, is_cramped));
    for number in 0..random.draw_between(0, 2) {
        let name = format!("fallback{number}");
        settings.fallbacks.push(draw_model(random, &name, is_priced, is_cramped));
    }
    if random.draw_percent(30) {
        settings.small_model = Some(draw_model(random, "small", is_priced, is_cramped));
    }
    settings.limits = draw_limits(random);
    settings.context = draw_context(random);
    settings.hooks = Hooks {
        pre_tool_use: random.draw_percent(40),
        post_tool_use: random.draw_percent(30),
        post_tool_use_failure: random.draw_percent(30),
        stop_failure: random.draw_percent(30),
        pre_compact: random.draw_percent(30),
        post_compact: random.draw_percent(30),
        post_tool_batch: random.draw_percent(30),
        can_defer: random.draw_percent(60),
    };
    draw_policy(random, &mut settings);
    if random.draw_percent(30) {
        settings.prompt.system_prompt = Arc::from("You are a simulated agent.");
        settings.prompt.system_context.push(("place".to_owned(), "nowhere".to_owned()));
    }
    if random.draw_percent(30) {
        settings.prompt.user_context = Some(Arc::from("Some context."));
    }
    if is_priced && random.draw_percent(60) {
        settings.budget.budget_max = Some(MicroUsd(random.draw_between(100, 40_000)));
    }
    if random.draw_percent(40) {
        settings.budget.token_budget = Some(Tokens(random.draw_between(100, 20_000)));
    }
    settings.agent.is_subagent = random.draw_percent(20);
    settings.switches.batch_tools = random.draw_percent(25);
    settings.switches.tool_labels = random.draw_percent(25);
    settings.switches.prefetch = random.draw_percent(40);
    settings.retry.jitter_seed = random.next_bits();
    // Not drawn, so that older seeds keep their worlds.
    settings.switches.circle_guard = match settings.retry.jitter_seed % 4 {
        0 => CircleGuard::Calls,
        1 => CircleGuard::Off,
        _ => CircleGuard::Turns,
    };
    if random.draw_percent(30) {
        settings.retry.wait_max = Millis(random.draw_between(0, 20_000));
    }
    settings.switches.blanks_results = !settings.retry.jitter_seed.is_multiple_of(5);
    settings.tools = SIM_TOOLS.iter().map(|name| draw_tool_spec(random, name)).collect();
    if random.draw_percent(10) {
        set_extreme_values(random, &mut settings);
    }
    settings.after = After {
        title: random.draw_percent(20),
        suggestion: random.draw_percent(20),
        memory: random.draw_percent(20),
        consolidation: false,
        questions: random.draw_percent(20),
    };
    settings
}

/// Unusual numbers, which must not break anything. Limits on turns stay small, because a session
/// must end.
fn set_extreme_values(random: &mut SeededRandom, settings: &mut Settings) {
    let extreme = |random: &mut SeededRandom| random.choose([0, 1, u64::MAX, u64::MAX / 2]);
    let narrow = |random: &mut SeededRandom| random.choose([0, 1, u8::MAX]);
    for _ in 0..random.draw_between(1, 4) {
        let Settings { model, limits, context, .. } = settings;
        match random.draw_below(20) {
            0 => model.window = Tokens(extreme(random)),
            1 => model.output_default = Tokens(extreme(random)),
            2 => model.output_max = Tokens(extreme(random)),
            3 => model.prices.input = extreme(random),
            4 => model.prices.output = extreme(random),
            5 => settings.budget.budget_max = Some(MicroUsd(extreme(random))),
            6 => settings.budget.token_budget = Some(Tokens(extreme(random))),
            7 => settings.retry.wait_max = Millis(extreme(random)),
            8 => context.summary_tokens = Tokens(extreme(random)),
            9 => context.message_result_bytes_max = random.choose([0, 1, usize::MAX]),
            10 => context.result_bytes_kept = random.choose([0, 1, usize::MAX]),
            11 => context.verbose_bytes = random.choose([0, 1, usize::MAX]),
            12 => context.microcompact_percent = narrow(random),
            13 => context.collapse_percent = narrow(random),
            14 => context.recent_turns = random.choose([0, u32::MAX]),
            15 => context.turns_kept = Some(random.choose([0, u32::MAX])),
            16 => limits.overloads_max = narrow(random),
            17 => limits.refill.refill_turns = narrow(random),
            18 => limits.turns_max = 0,
            _ => limits.refill.refills_max = narrow(random),
        }
    }
}

fn draw_model(
    random: &mut SeededRandom,
    name: &str,
    is_priced: bool,
    is_cramped: bool,
) -> ModelFacts {
    let window = if is_cramped { random.draw_between(300, 5_000) } else { 1_000_000 };
    let output_default = random.draw_between(20, 2_000).min(window);
    let output_max = output_default * random.draw_between(1, 4);
    let price =
        |random: &mut SeededRandom| if is_priced { random.draw_between(0, 2_000_000) } else { 0 };
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

fn draw_limits(random: &mut SeededRandom) -> Limits {
    Limits {
        turns_max: u32::from(if random.draw_percent(20) {
            random.draw_small(7, 40)
        } else {
            random.draw_small(1, 6)
        }),
        models: 1,
        retries_max: random.draw_small(0, 3),
        overloads_max: random.draw_small(1, 3),
        pauses_max: random.draw_small(0, 2),
        output_recoveries_max: random.draw_small(0, 3),
        stop_blocks_max: random.draw_small(0, 4),
        stop_same_max: random.draw_small(1, 3),
        nudges_max: random.draw_small(0, 5),
        summary_failures_max: random.draw_small(1, 3),
        refill: RefillLimits {
            refills_max: random.draw_small(0, 3),
            refill_turns: random.draw_small(0, 3),
        },
        tools_parallel_max: random.draw_small(0, 4),
        auto_compact: random.draw_percent(75),
        reactive_compact: random.draw_percent(75),
        stop_hooks: random.draw_percent(50),
    }
}

fn draw_context(random: &mut SeededRandom) -> Context {
    Context {
        message_result_bytes_max: draw_usize(random, 200, 6_000),
        result_bytes_kept: draw_usize(random, 10, 200),
        spill_directory: Arc::from("spill"),
        cleared_by_provider: random.draw_percent(20).then(|| "first".into()).into_iter().collect(),
        turns_kept: random.draw_percent(30).then(|| u32::from(random.draw_small(1, 3))),
        microcompact_percent: random.draw_small(10, 100),
        recent_turns: u32::from(random.draw_small(0, 3)),
        verbose_bytes: draw_usize(random, 10, 500),
        collapse_percent: random.draw_small(10, 101),
        summary_tokens: Tokens(random.draw_between(10, 500)),
    }
}

fn draw_policy(random: &mut SeededRandom, settings: &mut Settings) {
    let policy = &mut settings.policy;
    policy.mode = random.choose([
        PermissionMode::Default,
        PermissionMode::AcceptEdits,
        PermissionMode::Plan,
        PermissionMode::DontAsk,
        PermissionMode::BypassPermissions,
        PermissionMode::BypassPermissions,
    ]);
    policy.can_ask = random.draw_percent(70);
    policy.directories = vec!["/w".to_owned()];
    for (rules, percent) in
        [(&mut policy.rules.allow, 30), (&mut policy.rules.ask, 15), (&mut policy.rules.deny, 15)]
    {
        if random.draw_percent(percent)
            && let Some(tool) = random.pick(&SIM_TOOLS)
            && let Ok(rule) = Rule::parse(tool)
        {
            rules.push(rule);
        }
    }
}

/// The description of a tool for the model.
pub fn draw_tool_spec(random: &mut SeededRandom, name: &str) -> ToolSpec {
    ToolSpec {
        name: ToolName::from(name),
        description: Arc::from("A simulated tool."),
        input_schema: Json::empty_object(),
        result_bytes_max: draw_usize(random, 100, 5_000),
    }
}

fn draw_usize(random: &mut SeededRandom, low: u64, high: u64) -> usize {
    usize::try_from(random.draw_between(low, high)).unwrap_or(0)
}
