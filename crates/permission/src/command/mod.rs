//! A shell line, cut up as far as it can be trusted.
//!
//! Two views of the same text. [`plain_words`] is the narrow one: it answers only for a single
//! command made of plain words and quotes, and allow rules and the list of reading commands rest
//! on it. `parts` is the wide one: it cuts at every operator, looks into substitutions and
//! through wrappers, and may find more commands than would run; deny and ask rules rest on it.
//! Neither runs or expands anything.

mod parts;
mod pattern;
mod plain;
mod quote;
mod reading;
mod removal;
mod risk;
mod wrapper;

pub(crate) use parts::{Part, Parts, Word, parts};
pub(crate) use pattern::Pattern;
pub use plain::plain_words;
pub use reading::{Reading, reading};
pub(crate) use removal::removes_critical;
pub(crate) use risk::{is_runner, reaches_beyond_rule, writes_its_words};
pub(crate) use wrapper::{base_name, unwrapped};
