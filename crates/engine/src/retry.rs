//! How long to wait before the next try.
//!
//! The server's own word first; else full jitter under a ceiling that doubles from one second to
//! one minute. The jitter is derived from the settings' seed: randomness is an input.

use windlass_vocabulary::{AttemptId, Millis, ModelFailure};

const FLOOR: u64 = 1_000;
const CEILING: u64 = 60_000;
/// A server that asks for more than this is not taken at its word.
const ASKED_MAX: u64 = 60 * 60 * 1_000;

/// The wait before try number `retry`, counted from 1.
pub(crate) fn wait(failure: &ModelFailure, retry: u8, attempt: AttemptId, seed: u64) -> Millis {
    if let Some(asked) = failure.retry_after {
        return asked.min(Millis(ASKED_MAX));
    }
    let doublings = u32::from(retry.saturating_sub(1)).min(16);
    let ceiling = (FLOOR << doublings).min(CEILING);
    Millis(mix(seed ^ attempt.0.wrapping_mul(0x9e37_79b9_7f4a_7c15)) % ceiling + 1)
}

/// The finaliser of SplitMix64.
fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}
