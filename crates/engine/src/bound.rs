//! Why the loop ends: a number of model calls that is never exceeded, and falls with every call.
//!
//! [`calls_left`] is a potential: on every edge of the control graph it falls by at least one for
//! each model call the edge makes, and never rises. `step` asserts it at run time; the checker
//! proves it on every edge of every reachable state. So `calls_left` of a fresh run is the most
//! model calls between two user inputs, and that is what `windlass bound` prints.

use windlass_vocabulary::{MicroUsd, Tokens, Usage};

use crate::control::{Compaction, Control, OutputCap, Overflow, Phase, Then};
use crate::decide::Act;
use crate::settings::{Limits, Settings};

/// The worst case for one set of settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// Model calls between two user inputs, summaries included.
    pub calls_between_inputs: u64,
    /// Model calls between two tool turns, summaries included.
    pub calls_between_turns: u64,
    /// Those of them that end with an answer, which is what providers bill; refused and failed attempts
    /// are left out.
    pub billed_calls_between_inputs: u64,
    /// Tool turns between two user inputs.
    pub turns: u32,
    /// Money between two user inputs; `None` when prices are unknown and no limit is set.
    pub money: Option<MicroUsd>,
}

/// The worst case for these settings.
#[must_use]
pub fn bound(settings: &Settings) -> Bound {
    let limits = settings.limits();
    let fresh = Control::IDLE.new_run();
    // A label is one call of the small model for each batch of tools, asked for beside the loop.
    let labels = u64::from(settings.switches.tool_labels);
    let calls_between_inputs = calls_left(&fresh, &limits)
        + labels * u64::from(limits.turns_max.saturating_sub(1))
        + settings.after.calls();
    let one_turn = Limits { turns_max: 1, ..limits };
    let billed = billed_calls(&limits)
        + labels * u64::from(limits.turns_max.saturating_sub(1))
        + settings.after.calls();
    Bound {
        calls_between_inputs,
        billed_calls_between_inputs: billed,
        calls_between_turns: calls_left(&fresh, &one_turn) + labels,
        turns: limits.turns_max,
        money: money(settings, billed),
    }
}

/// Calls of a fresh run that can end with an answer. In each turn the answer can be cut at the output
/// limit, again at the raised one, and then be continued; each of these can be paused and go on. Of a
/// summary that several models try one answers.
fn billed_calls(limits: &Limits) -> u64 {
    let fresh = Control::IDLE.new_run();
    let recoveries = u64::from(limits.output_recoveries_max);
    let blocks = if limits.stop_hooks { u64::from(limits.stop_blocks_max) } else { 0 };
    let answers = u64::from(limits.turns_max) * (1 + 1 + recoveries)
        + (blocks + u64::from(limits.nudges_max)) * (1 + recoveries);
    answers * (1 + u64::from(limits.pauses_max)) + summaries_left(&fresh, limits)
}

fn money(settings: &Settings, calls: u64) -> Option<MicroUsd> {
    if settings.budget.budget_max.is_some() {
        return settings.budget.budget_max;
    }
    let dearest = core::iter::once(&settings.model)
        .chain(&settings.fallbacks)
        .chain(&settings.small_model)
        .map(|model| {
            let output = model.output_max;
            let usage = Usage { output, ..Usage::default() };
            // What is kept free for the answer is never filled by a prompt.
            let reserved = model.output_default.min(Tokens(model.window.0 / 2));
            let input = model.window.less(reserved);
            let input = input.0.saturating_mul(model.prices.max_input_price());
            MicroUsd(input.div_ceil(1_000_000)) + model.prices.cost(&usage)
        })
        .max()?;
    (dearest > MicroUsd(0)).then(|| MicroUsd(dearest.0.saturating_mul(calls)))
}

/// The most model calls that can still come before the next user input.
#[must_use]
pub fn calls_left(control: &Control, limits: &Limits) -> u64 {
    if !control.phase.is_running() {
        return 0;
    }
    let iterations = iterations_left(control, limits);
    let switches = u64::from(limits.models.saturating_sub(1).saturating_sub(control.model));
    // A compaction that the user asked for comes after the deferred call.
    let by_hand = u64::from(control.phase == Phase::Settling(Then::Compact));
    iterations * calls_per_iteration(limits)
        + switches * (1 + u64::from(limits.retries_max))
        + calls_left_in_iteration(control, limits)
        + (summaries_left(control, limits) + by_hand) * summary_calls(limits)
}

/// Fresh iterations that can still come.
fn iterations_left(control: &Control, limits: &Limits) -> u64 {
    let recoveries = u64::from(limits.output_recoveries_max);
    let turns = u64::from(limits.turns_max.saturating_sub(control.turn));
    let blocks = match limits.stop_hooks {
        true => u64::from(limits.stop_blocks_max.saturating_sub(control.stop_hook.blocks)),
        false => 0,
    };
    let nudges = u64::from(limits.nudges_max.saturating_sub(control.nudges.used));
    let this_turn = ladder_left(control, limits)
        + u64::from(control.output_cap == OutputCap::Normal)
        + recoveries.saturating_sub(u64::from(control.output_recoveries));
    let full_ladder = 1 + u64::from(limits.reactive_compact);
    this_turn + (blocks + nudges) * (1 + recoveries) + turns * (1 + full_ladder + 1 + recoveries)
}

/// Rungs left on the ladder against overflow. While the last one is being climbed it is still
/// there, because its iteration has not begun.
fn ladder_left(control: &Control, limits: &Limits) -> u64 {
    let react = u64::from(limits.reactive_compact);
    match control.reactive_compact_tried {
        Overflow::Untried => 1 + react,
        Overflow::Drained => react,
        Overflow::Compacted => 0,
    }
}

/// Calls of an iteration in which everything goes wrong with one model.
fn calls_per_iteration(limits: &Limits) -> u64 {
    1 + u64::from(limits.retries_max) + 1 + u64::from(limits.pauses_max)
}

/// Calls that can still come in the iteration under way.
fn calls_left_in_iteration(control: &Control, limits: &Limits) -> u64 {
    let attempt = control.attempt;
    let is_call_due = match control.phase {
        Phase::Preparing
        | Phase::Waiting
        | Phase::Settling(Then::Call)
        | Phase::Compacting(Compaction::Auto) => 1,
        Phase::Idle
        | Phase::Streaming
        | Phase::RunningTools
        | Phase::Settling(Then::Compact)
        | Phase::Attaching
        | Phase::Stopping
        | Phase::Compacting(Compaction::ForLength | Compaction::ForMedia | Compaction::ByHand)
        | Phase::Ended(_) => 0,
    };
    let is_over = matches!(control.phase, Phase::RunningTools | Phase::Attaching | Phase::Stopping)
        || control.phase == Phase::Settling(Then::Compact)
        || matches!(control.phase, Phase::Compacting(what) if what != Compaction::Auto);
    if is_over {
        return 0;
    }
    is_call_due
        + u64::from(limits.retries_max.saturating_sub(attempt.retries))
        + u64::from(!attempt.repaired)
        + u64::from(limits.pauses_max.saturating_sub(attempt.pauses))
}

/// Summaries that can still be asked for: one per rung of the ladder, and as many automatic ones
/// as the guard against refilling lets through.
fn summaries_left(control: &Control, limits: &Limits) -> u64 {
    let turns = u64::from(limits.turns_max.saturating_sub(control.turn));
    let react = match (limits.reactive_compact, control.reactive_compact_tried) {
        (true, Overflow::Untried | Overflow::Drained) => {
            let is_asked = matches!(
                control.phase,
                Phase::Compacting(Compaction::ForLength | Compaction::ForMedia)
            );
            turns + u64::from(!is_asked)
        }
        (true, Overflow::Compacted) => turns,
        (false, _) => 0,
    };
    react + automatic_left(control, limits, turns)
}

/// Automatic summaries: at most `refills_max` in quick succession, and the count starts again only
/// after `refill_turns` turns.
fn automatic_left(control: &Control, limits: &Limits, turns: u64) -> u64 {
    if !limits.auto_compact {
        return 0;
    }
    let auto = control.auto_compact;
    let allowance = u64::from(limits.refill.refills_max);
    let span = u64::from(limits.refill_span());
    let since = u64::from(auto.turns_since);
    let (now, fresh_spans) = if !auto.has_run || since >= span {
        (allowance, turns / span)
    } else {
        let used = 1 + u64::from(auto.refills);
        (allowance.saturating_sub(used), (turns + since) / span)
    };
    now + fresh_spans * allowance
}

/// Model calls an act makes, summaries included.
#[must_use]
pub fn cost(act: Act, limits: &Limits) -> u64 {
    match act {
        Act::Call => 1,
        Act::Summarize(_) => summary_calls(limits),
        Act::Nothing
        | Act::Prepare(_)
        | Act::Backoff
        | Act::AwaitTools
        | Act::Settle
        | Act::Attach
        | Act::RunStopHooks
        | Act::Finish(..) => 0,
    }
}

/// Calls one summary may take: each model of the chain once.
fn summary_calls(limits: &Limits) -> u64 {
    u64::from(limits.models)
}
