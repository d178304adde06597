//! The three budgets: turns, tokens, money. Each answers one question for the rules.

pub(crate) mod tokens;
pub(crate) mod turns;
pub(crate) mod usd;
