//! The exhaustive walk over every reachable control state, for a grid of limits.

use windlass_engine::bound::bound;
use windlass_engine::settings::{Limits, Settings};
use windlass_lab::check::{self, ControlGraph, SMALL_LIMITS};
use windlass_vocabulary::{ModelFacts, Prices, Tokens};

/// Everything that must hold on every edge, every transition and terminal reached, and the bound not
/// only kept but needed by some run.
#[test]
fn every_reachable_state_keeps_every_promise() {
    let report = check::run_check().unwrap_or_else(|problem| panic!("{problem}"));
    println!("{report}");
    // What is published is what was walked.
    let page = include_str!("../../../docs/reliability.md");
    let is_current = page.contains(report.trim_end());
    assert!(is_current, "cargo xtask reliability --only walk");
}

/// `windlass bound` prints the same numbers, from the same code.
#[test]
fn the_printed_bound_is_the_walked_one() {
    let limits = Limits { auto_compact: false, models: 1, ..SMALL_LIMITS };
    let mut settings = Settings::new(ModelFacts {
        name: "m".into(),
        window: Tokens(1_000),
        output_default: Tokens(100),
        output_max: Tokens(200),
        prices: Prices { input: 1_000_000, output: 2_000_000, ..Prices::default() },
    });
    settings.limits = limits;
    settings.budget.token_budget = Some(Tokens(1_000));
    let printed = bound(&settings);
    let walk = ControlGraph::explore(&limits).find_longest_run(&limits).expect("no cycle");
    assert_eq!(printed.calls_between_inputs, walk.calls);
    let one = Limits { turns_max: 1, ..limits };
    let walk = ControlGraph::explore(&one).find_longest_run(&one).expect("no cycle");
    assert_eq!(printed.calls_between_turns, walk.calls);
    let billed = printed.billed_calls_between_inputs;
    assert_eq!(printed.money.map(|m| m.0), Some(billed * (900 + 400)));
    // Without anything that fails, every call of the longest run is billed.
    assert!(billed > u64::from(limits.turns_max) && billed < printed.calls_between_inputs);
    let calm = Limits { retries_max: 0, reactive_compact: false, ..limits };
    settings.limits = calm;
    let calm = bound(&settings);
    assert!(calm.billed_calls_between_inputs <= calm.calls_between_inputs);
}
