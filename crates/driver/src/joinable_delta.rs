//! Pieces of streamed text that can be joined into one.

use windlass_vocabulary::Delta;

/// The two texts, when the second piece is of the same kind and so continues the first.
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
