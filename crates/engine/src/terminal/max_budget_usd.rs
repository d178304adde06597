//! The next request might not be affordable.
//!
//! Owes the transcript  nothing: no request was made.
//! Tells the user       what was spent and set aside, and the smallest limit that would do.

use alloc::format;

use windlass_vocabulary::Tokens;

use super::Owed;
use crate::budget::usd;
use crate::context::estimate;
use crate::facts;
use crate::step::Loop;

pub(super) fn max_budget_usd(turn: &mut Loop<'_>) -> Owed {
    let tokens = turn.with_context(|memory, view| view.tokens(memory));
    let ledger = &turn.state.ledger;
    let limit = turn.settings.budget.budget_max.unwrap_or_default();
    let model = turn.settings.model_at(turn.state.control.model);
    let wanted = facts::output_cap(&turn.state, turn.settings);
    let input = Tokens(estimate::worst_case(tokens.0));
    let why = format!(
        "the next request might exceed the limit of {limit}: {} spent, {} set aside; \
         at least {} would do",
        ledger.spent(),
        ledger.reserved(),
        usd::least_limit(ledger, model, input, wanted)
    );
    Owed { outcome: None, why, failure: turn.withheld_failure() }
}
