//! What comes from the terminal: bytes are read ([`terminal_reader`]), and become keys ([`InputParser`]).

mod bracketed_paste;
mod escape_sequence;
mod input_parser;
pub mod key;
pub(crate) mod terminal_reader;

pub use input_parser::InputParser;
pub use key::{CursorMove, InputKey, TerminalInput};
