//! The next request might not be affordable.
//!
//! Owes the transcript  nothing: no request was made.
//! Tells the user       what was spent and what is set aside.

use alloc::format;

use super::Owed;
use crate::step::Loop;

pub(super) fn max_budget_usd(turn: &mut Loop<'_>) -> Owed {
    let ledger = &turn.state.ledger;
    let limit = turn.settings.budget.budget_max.unwrap_or_default();
    let why = format!(
        "the next request might exceed the limit of {limit}: {} spent, {} set aside",
        ledger.spent(),
        ledger.reserved()
    );
    Owed { outcome: None, why, failure: turn.withheld_failure() }
}
