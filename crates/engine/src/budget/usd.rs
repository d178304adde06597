//! The money limit, held by reservation.
//!
//! Before a request goes out its worst case is set aside; if that does not fit, the output limit
//! shrinks to what does; if that is too little to be of use, the request is not made. What is
//! reserved is free again only when the bill is known, so concurrent requests cannot add up to
//! more than the limit.

use windlass_vocabulary::{MicroUsd, ModelFacts, Tokens, Usage};

use crate::ledger::Ledger;
use crate::settings::Settings;

/// An answer shorter than this is of no use.
const USEFUL_OUTPUT: Tokens = Tokens(512);

/// The output limit and the reservation a request gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grant {
    /// The output limit, perhaps smaller than wanted.
    pub(crate) output: Tokens,
    /// What is set aside.
    pub(crate) reserved: MicroUsd,
}

/// What may be asked of this model for an input of at most `input` tokens; `None` if nothing useful
/// can be paid for.
pub(crate) fn grant(
    settings: &Settings,
    ledger: &Ledger,
    model: &ModelFacts,
    input: Tokens,
    wanted: Tokens,
) -> Option<Grant> {
    let worst = |output: Tokens| worst_cost(model, input, output);
    let Some(limit) = settings.budget.budget_max else {
        return Some(Grant { output: wanted, reserved: worst(wanted) });
    };
    let free = limit.less(ledger.committed());
    if worst(wanted) <= free {
        return Some(Grant { output: wanted, reserved: worst(wanted) });
    }
    let left = free.less(worst(Tokens(0)));
    let output = Tokens(
        u64::try_from(
            (u128::from(left.0) * 1_000_000)
                .checked_div(u128::from(model.prices.output))
                .unwrap_or(0),
        )
        .unwrap_or(u64::MAX),
    )
    .min(wanted);
    let is_useful = output >= USEFUL_OUTPUT.min(wanted) && worst(output) <= free;
    is_useful.then(|| Grant { output, reserved: worst(output) })
}

/// The smallest limit under which this request would be made.
pub(crate) fn least_limit(
    ledger: &Ledger,
    model: &ModelFacts,
    input: Tokens,
    wanted: Tokens,
) -> MicroUsd {
    // Rounding down to whole tokens may cost one.
    let output = Tokens(USEFUL_OUTPUT.min(wanted).0.saturating_add(1));
    ledger.committed() + worst_cost(model, input, output)
}

fn worst_cost(model: &ModelFacts, input: Tokens, output: Tokens) -> MicroUsd {
    let sent = u128::from(input.0) * u128::from(model.prices.max_input_price());
    let sent = u64::try_from(sent.div_ceil(1_000_000)).unwrap_or(u64::MAX);
    MicroUsd(sent) + model.prices.cost(&Usage { output, ..Usage::default() })
}

/// What a nested session may spend: half of what is free, so that we can go on beside it.
pub(crate) fn allowance(settings: &Settings, ledger: &Ledger) -> Option<MicroUsd> {
    settings.budget.budget_max.map(|limit| MicroUsd(limit.less(ledger.committed()).0 / 2))
}
