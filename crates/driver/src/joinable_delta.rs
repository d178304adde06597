//! Joins pieces of streamed text.

use windlass_vocabulary::Delta;

/// The two texts, if both deltas are of the same kind and so can be joined.
pub(crate) fn find_joinable_delta<'a>(
    last: &'a mut Delta,
    next: &'a Delta,
) -> Option<(&'a mut String, &'a str)> {
    match (last, next) {
        (Delta::Text(last), Delta::Text(next))
        | (Delta::Thinking(last), Delta::Thinking(next))
        | (Delta::CallInput(last), Delta::CallInput(next)) => Some((last, next)),
        _ => None,
    }
}
