//! What comes from the terminal: bytes are read ([`reader`]), and become keys ([`Parser`]).

pub mod key;
mod parse;
mod paste;
pub(crate) mod reader;
mod sequence;

pub use key::{Key, Typed};
pub use parse::Parser;
