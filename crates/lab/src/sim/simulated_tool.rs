//! Tools and hooks: outcomes of every kind, verdicts of every kind, truthful or not.

use std::sync::Arc;

use windlass_vocabulary::{
    ContextUpdate, HookPoint, HookReport, HookVerdict, Json, MediaContent, MicroUsd, Millis,
    PermissionMode, ToolOutcome, ToolResultPart,
};

use super::random_settings::draw_tool_spec;
use super::seeded_random::SeededRandom;
use super::simulated_model::{ModelHabits, draw_inspection};

/// The outcome of a call. A nested session never spends more than allowed.
pub fn draw_outcome(
    random: &mut SeededRandom,
    habits: &ModelHabits,
    allowance: Option<MicroUsd>,
) -> ToolOutcome {
    let text = match random.draw_below(10) {
        _ if random.draw_percent(habits.long_results) => {
            "long ".repeat(usize::from(random.draw_small(1, 255)) * 8)
        }
        0..6 => "the same".to_owned(),
        6 | 7 => format!("result {}", random.draw_below(1_000)),
        8 => "grün 緑 🌳 ".repeat(usize::from(random.draw_small(1, 60))),
        _ => String::new(),
    };
    let mut outcome = ToolOutcome::from_text(text);
    if random.draw_percent(2) {
        outcome.content.clear();
    }
    outcome.is_error = random.draw_percent(15);
    outcome.changed_workspace = random.draw_percent(10);
    if random.draw_percent(20) {
        outcome.files.push(Arc::from(format!("/w/file{}", random.draw_below(30))));
    }
    if random.draw_percent(5) {
        outcome.content.push(ToolResultPart::Media(build_image()));
    }
    if random.draw_percent(5) {
        outcome.update = Some(ContextUpdate {
            mode: random.draw_percent(50).then(|| {
                random.choose([
                    PermissionMode::Default,
                    PermissionMode::Plan,
                    PermissionMode::BypassPermissions,
                    PermissionMode::DontAsk,
                ])
            }),
            directories: vec![Arc::from("/elsewhere")],
            tools: random
                .draw_percent(50)
                .then(|| draw_tool_spec(random, "Late"))
                .into_iter()
                .collect(),
            working_directory: random.draw_percent(50).then(|| Arc::from("/elsewhere/deep")),
            tasks: random.draw_percent(50).then(|| {
                Arc::from(random.choose(["", "1. weigh anchor", "1. set sail\n2. sleep"]))
            }),
        });
    }
    outcome.spent = match allowance {
        Some(allowance) => MicroUsd(random.draw_below(allowance.0.saturating_add(1))),
        None => MicroUsd(random.draw_below(100)),
    };
    // Some calls wait for something, one of them on a host that slept for an age. Not drawn, so that
    // older seeds keep their worlds.
    outcome.took = Millis(match outcome.spent.0 % 6 {
        0 => 1_500,
        1 => 1_200_000,
        2 => u64::MAX,
        _ => 0,
    });
    outcome
}

pub fn build_image() -> MediaContent {
    MediaContent {
        media_type: Arc::from("image/png"),
        data: Arc::from("iVBORw0KGgoA"),
        name: Arc::from("picture.png"),
    }
}

pub fn draw_hook_report(random: &mut SeededRandom, point: HookPoint) -> HookReport {
    let words = random.choose(["no", "not yet", "never"]).to_owned();
    let verdict = match (point, random.draw_below(10)) {
        (_, 0) => HookVerdict::Halt(words),
        (HookPoint::Stop | HookPoint::SubagentStop, 1..7) => HookVerdict::Block(words),
        (_, 1) => HookVerdict::Block(words),
        (_, 2) => HookVerdict::Ask(words),
        (_, 3) => HookVerdict::Allow,
        (HookPoint::PreToolUse, 4) => HookVerdict::Defer(words),
        (
            HookPoint::PreToolUse
            | HookPoint::PostToolUse
            | HookPoint::PostToolUseFailure
            | HookPoint::PostToolBatch
            | HookPoint::Stop
            | HookPoint::SubagentStop
            | HookPoint::StopFailure
            | HookPoint::PreCompact
            | HookPoint::PostCompact,
            _,
        ) => HookVerdict::Pass,
    };
    let mut report = HookReport { verdict, name: "simulated".to_owned(), ..HookReport::default() };
    if random.draw_percent(15) {
        report.context.push("a word from a hook".to_owned());
    }
    if random.draw_percent(15) {
        let input = Json::from_checked("{\"command\":\"changed\"}");
        report.updated = Some((input, draw_inspection(random, "Bash")));
    }
    if point == HookPoint::PostToolUse && random.draw_percent(15) {
        report.output = Some("what a hook made of it".to_owned());
    }
    report
}
