//! Where a provider says the fault lies.

/// One message of the request as the wire counts them, and one block of it if it was named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offender {
    /// Position of the message, from zero.
    pub message: usize,
    /// Position of the block in it, from zero.
    pub block: Option<usize>,
}

/// Reads the words of a refusal.
#[must_use]
pub fn offender(_words: &str) -> Option<Offender> {
    None
}
