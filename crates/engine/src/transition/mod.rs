//! The seven ways to go round again, one file each, named as in the specification.
//!
//! Each builds the whole [`Control`] as one literal, without `..`: a new field stops all seven from
//! compiling until each has said what happens to it.

mod collapse_drain_retry;
mod max_output_tokens_escalate;
mod max_output_tokens_recovery;
mod next_turn;
mod reactive_compact_retry;
mod stop_hook_blocking;
mod token_budget_continuation;

pub(crate) use collapse_drain_retry::collapse_drain_retry;
pub(crate) use max_output_tokens_escalate::max_output_tokens_escalate;
pub(crate) use max_output_tokens_recovery::max_output_tokens_recovery;
pub(crate) use next_turn::next_turn;
pub(crate) use reactive_compact_retry::reactive_compact_retry;
pub(crate) use stop_hook_blocking::stop_hook_blocking;
pub(crate) use token_budget_continuation::token_budget_continuation;
