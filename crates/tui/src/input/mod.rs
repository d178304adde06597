//! Input from the terminal: [`terminal_reader`] reads bytes, [`InputParser`] turns them into keys.

mod bracketed_paste;
mod escape_sequence;
mod input_parser;
pub mod key;
pub(crate) mod terminal_reader;

pub use input_parser::InputParser;
pub use key::{CursorMove, Deletion, InputKey, Shortcut, TerminalInput};
