//! The three budgets: turns, tokens, money. Each answers one question for the rules.

pub mod tokens;
pub mod turns;
pub mod usd;
