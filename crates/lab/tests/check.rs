//! The exhaustive walk over every reachable control state, for a grid of limits.

use windlass_engine::bound::{bound, calls_left};
use windlass_engine::control::Control;
use windlass_engine::settings::{Limits, Settings};
use windlass_lab::check::{self, Graph, SMALL};
use windlass_vocabulary::{ModelFacts, Prices, Tokens};

/// Everything that must hold on every edge, and every transition and terminal reached.
#[test]
fn every_reachable_state_keeps_every_promise() {
    let report = check::run().unwrap_or_else(|problem| panic!("{problem}"));
    println!("{report}");
}

/// The promise is not only kept but tight: where nothing else bounds it first, some run really
/// makes as many calls as `windlass bound` says.
#[test]
fn the_bound_is_what_the_longest_run_needs() {
    for (name, limits) in check::grid() {
        if limits.auto_compact || limits.turns_max == 0 {
            continue;
        }
        let walk = Graph::explore(&limits).longest(&limits).expect("no cycle");
        let promised = calls_left(&Control::IDLE.new_run(), &limits);
        assert_eq!(walk.calls, promised, "{name}");
    }
}

/// `windlass bound` prints the same numbers, from the same code.
#[test]
fn the_printed_bound_is_the_walked_one() {
    let limits = Limits { auto_compact: false, models: 1, ..SMALL };
    let mut settings = Settings::new(ModelFacts {
        name: "m".into(),
        window: Tokens(1_000),
        output_default: Tokens(100),
        output_max: Tokens(200),
        prices: Prices { input: 1_000_000, output: 2_000_000, ..Prices::default() },
    });
    settings.limits = limits;
    settings.token_budget = Some(Tokens(1_000));
    let printed = bound(&settings);
    let walk = Graph::explore(&limits).longest(&limits).expect("no cycle");
    assert_eq!(printed.calls_between_inputs, walk.calls);
    let one = Limits { turns_max: 1, ..limits };
    let walk = Graph::explore(&one).longest(&one).expect("no cycle");
    assert_eq!(printed.calls_between_turns, walk.calls);
    assert_eq!(printed.money.map(|m| m.0), Some(printed.calls_between_inputs * (1_000 + 400)));
}
