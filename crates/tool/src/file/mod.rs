//! Files as the tools touch them: found, opened, remembered, replaced.
//!
//! A path is opened exactly as it was judged: by its spelling, with no symbolic link followed
//! below the working directory. Only regular files are opened, and never in a way that could wait
//! for somebody at the other end. A file is replaced whole or not at all.

mod behind;
mod content;
mod encoding;
mod keep;
mod memory;
mod open;
mod patch;
mod replace;
mod state;

pub use behind::FileChange;
pub(crate) use behind::changed;
pub(crate) use content::{Content, known_content, read_bounded};
pub(crate) use encoding::{Encoding, LOOKED_AT_MAX};
pub use keep::{Keeper, Keeping};
pub(crate) use memory::{Known, Memory, Point, TEXT_BYTES_MAX, written};
pub(crate) use open::{Opened, check_place, open, open_below, path_of};
pub(crate) use patch::hunks;
pub use patch::line_counts;
pub(crate) use replace::{parted, replace, write};
pub(crate) use state::FileState;
