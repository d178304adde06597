//! The token budget: output tokens a run should use before it ends by itself.
//!
//! Asks for more while under 90 % is spent. Whether returns diminish is decided in `decide.rs`,
//! from what is said here about each answer; that a sub-agent gets no nudges, in `Settings::limits`.

use windlass_vocabulary::Tokens;

use crate::settings::Settings;
use crate::signal::Budget;

/// An answer that adds fewer tokens than this added little.
const LITTLE: u64 = 500;
/// Percent of the budget at which enough is enough.
const ENOUGH_PERCENT: u64 = 90;

/// What the token budget says, given what the run and its last answer have put out.
pub(crate) fn read(settings: &Settings, run: Tokens, answer: Tokens) -> Budget {
    match settings.budget.token_budget {
        Some(budget) if percent(run, budget) < ENOUGH_PERCENT => {
            if answer.0 < LITTLE {
                Budget::LeftLittle
            } else {
                Budget::LeftMuch
            }
        }
        _ => Budget::Spent,
    }
}

/// Percent of the budget spent.
pub(crate) fn percent(run: Tokens, budget: Tokens) -> u64 {
    run.0.saturating_mul(100).checked_div(budget.0).unwrap_or(100)
}
