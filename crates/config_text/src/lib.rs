//! Reads configuration text: TOML values with their positions, so that every mistake can be located,
//! and the known word that is closest to an unknown one. Checks form, not meaning.

mod similar_name;
mod text_position;
mod toml_mistake;
mod toml_table;

pub use similar_name::find_similar_name;
pub use text_position::TextPosition;
pub use toml_mistake::TomlMistake;
pub use toml_table::{TomlEntry, TomlTable};
