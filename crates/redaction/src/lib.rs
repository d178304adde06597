//! Finds keys in text and takes them out: known values, and everything that looks like a key.
//!
//! Recordings and exported sessions both use it, so that what one finds the other finds, too. Not
//! found are encoded secrets and those without a recognizable form.

mod secret_finder;
mod secret_pattern;
mod text_redactor;

pub use secret_finder::{SecretFinder, SecretKind, SecretLiteral, SecretMatch};
pub use text_redactor::{RedactedKind, TextRedactor};
