//! Tools and hooks: outcomes of every kind, verdicts of every kind, truthful or not.

use std::sync::Arc;

use windlass_vocabulary::{
    ContextUpdate, HookPoint, HookReport, HookVerdict, Json, Media, MicroUsd, Mode, ResultPart,
    ToolOutcome,
};

use super::model::{Habits, inspect};
use super::random::Random;
use super::setting::spec;

/// What comes of a call. A nested session never spends more than it may.
pub fn outcome(random: &mut Random, habits: &Habits, allowance: Option<MicroUsd>) -> ToolOutcome {
    let text = match random.below(10) {
        _ if random.percent(habits.long_results) => {
            "long ".repeat(usize::from(random.small(1, 255)) * 8)
        }
        0..6 => "the same".to_owned(),
        6 | 7 => format!("result {}", random.below(1_000)),
        8 => "grün 緑 🌳 ".repeat(usize::from(random.small(1, 60))),
        _ => String::new(),
    };
    let mut outcome = ToolOutcome::text(text);
    if random.percent(2) {
        outcome.content.clear();
    }
    outcome.is_error = random.percent(15);
    outcome.changed_workspace = random.percent(10);
    if random.percent(20) {
        outcome.files.push(Arc::from(format!("/w/file{}", random.below(30))));
    }
    if random.percent(5) {
        outcome.content.push(ResultPart::Media(media()));
    }
    if random.percent(5) {
        outcome.update = Some(ContextUpdate {
            mode: random.percent(50).then(|| {
                random.one_of([Mode::Default, Mode::Plan, Mode::BypassPermissions, Mode::DontAsk])
            }),
            directories: vec![Arc::from("/elsewhere")],
            tools: random.percent(50).then(|| spec(random, "Late")).into_iter().collect(),
            working_directory: random.percent(50).then(|| Arc::from("/elsewhere/deep")),
            tasks: random.percent(50).then(|| {
                Arc::from(random.one_of(["", "1. weigh anchor", "1. set sail\n2. sleep"]))
            }),
        });
    }
    outcome.spent = match allowance {
        Some(allowance) => MicroUsd(random.below(allowance.0.saturating_add(1))),
        None => MicroUsd(random.below(100)),
    };
    outcome
}

/// An image.
pub fn media() -> Media {
    Media {
        media_type: Arc::from("image/png"),
        data: Arc::from("iVBORw0KGgoA"),
        name: Arc::from("picture.png"),
    }
}

/// What hooks say.
pub fn report(random: &mut Random, point: HookPoint) -> HookReport {
    let words = random.one_of(["no", "not yet", "never"]).to_owned();
    let verdict = match (point, random.below(10)) {
        (_, 0) => HookVerdict::Halt(words),
        (HookPoint::Stop | HookPoint::SubagentStop, 1..7) => HookVerdict::Block(words),
        (_, 1) => HookVerdict::Block(words),
        (_, 2) => HookVerdict::Ask(words),
        (_, 3) => HookVerdict::Allow,
        (HookPoint::PreToolUse, 4) => HookVerdict::Defer(words),
        _ => HookVerdict::Pass,
    };
    let mut report = HookReport { verdict, name: "simulated".to_owned(), ..HookReport::default() };
    if random.percent(15) {
        report.context.push("a word from a hook".to_owned());
    }
    if random.percent(15) {
        let input = Json::from_checked("{\"command\":\"changed\"}");
        report.updated = Some((input, inspect(random, "Bash")));
    }
    if point == HookPoint::PostToolUse && random.percent(15) {
        report.output = Some("what a hook made of it".to_owned());
    }
    report
}
