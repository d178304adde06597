//! The worst case that is said before a run. That no run exceeds it is what the walk shows.

use windlass_engine::Settings;
use windlass_engine::bound::bound;
use windlass_vocabulary::{MicroUsd, ModelFacts, Prices, Tokens};

fn priced(prices: Prices) -> Settings {
    Settings::new(ModelFacts {
        name: "one".into(),
        window: Tokens(1_000),
        output_default: Tokens(100),
        output_max: Tokens(200),
        prices,
    })
}

#[test]
fn money_is_the_limit_or_the_dearest_call_as_often_as_one_can_be_billed() {
    let prices = Prices { input: 1_000_000, output: 2_000_000, ..Prices::default() };
    let mut settings = priced(prices);
    let found = bound(&settings);
    assert!(found.billed_calls_between_inputs > 0);
    // The window without what is kept free for an answer, and the longest answer.
    let dearest = 900 + 2 * 200;
    assert_eq!(found.money, Some(MicroUsd(found.billed_calls_between_inputs * dearest)));
    settings.budget.budget_max = Some(MicroUsd(7));
    assert_eq!(bound(&settings).money, Some(MicroUsd(7)));
    assert_eq!(bound(&priced(Prices::default())).money, None, "no price is known");
}

#[test]
fn what_can_happen_in_a_turn_is_what_can_happen_where_there_is_only_one() {
    let settings = priced(Prices::default());
    let mut short = settings.clone();
    short.limits.turns_max = 1;
    let (all, one) = (bound(&settings), bound(&short));
    assert_eq!(all.calls_between_turns, one.calls_between_inputs);
    assert!(all.calls_between_turns < all.calls_between_inputs, "{all:?}");
    assert_eq!((all.turns, one.turns), (settings.limits.turns_max, 1));
}
