//! How long to wait before the next try.
//!
//! The server's own word first; else full jitter under a ceiling that doubles from one second to
//! one minute. The jitter is derived from the settings' seed: randomness is an input. An overload
//! before the session's first answer is met with longer waits: nothing is lost by them yet.

use windlass_vocabulary::{FailureKind, Millis, ModelFailure, Role};

use crate::state::State;

const FLOOR: u64 = 1_000;
const CEILING: u64 = 60_000;
/// How much longer an overloaded server is left alone before the session's first answer.
const LONGER_AT_START: u64 = 4;
/// A server that asks for more than this is not taken at its word.
const ASKED_MAX: u64 = 60 * 60 * 1_000;

/// The wait before try number `retry`, counted from 1.
pub(crate) fn wait(state: &State, seed: u64, failure: &ModelFailure, retry: u8) -> Millis {
    if let Some(asked) = failure.retry_after {
        return asked.min(Millis(ASKED_MAX));
    }
    let attempt = state.answer.attempt.unwrap_or_default();
    let is_overload = failure.kind == FailureKind::Overloaded;
    let longer = if is_overload && is_start(state) { LONGER_AT_START } else { 1 };
    let doublings = u32::from(retry.saturating_sub(1)).min(16);
    let ceiling = (FLOOR << doublings).min(CEILING);
    let wait = mix(seed ^ attempt.0.wrapping_mul(0x9e37_79b9_7f4a_7c15)) % ceiling + 1;
    Millis((wait * longer).min(CEILING))
}

/// No answer has come in this session yet.
fn is_start(state: &State) -> bool {
    !state.transcript.messages().any(|message| message.role == Role::Assistant)
}

/// The finaliser of SplitMix64.
fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}
