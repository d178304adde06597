//! A shell line, cut up as far as it can be trusted.
//!
//! [`plain_words`] answers only for a single command made of plain words and quotes; allow rules
//! and the list of reading commands rest on it. It runs and expands nothing.

mod plain;
mod reading;

pub use plain::plain_words;
pub use reading::{Reading, reading};
