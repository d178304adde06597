//! Text that people write for us: TOML values with the place they stand at, so that every mistake can be pointed
//! at, and the known word that a wrong one meant. Knows forms, not meanings.

mod similar_name;
mod text_position;
mod toml_mistake;
mod toml_table;

pub use similar_name::find_similar_name;
pub use text_position::TextPosition;
pub use toml_mistake::TomlMistake;
pub use toml_table::{TomlEntry, TomlTable};
