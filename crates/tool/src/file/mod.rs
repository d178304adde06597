//! Files as the tools touch them: found, opened and remembered.
//!
//! A path is opened exactly as it was judged: by its spelling, with no symbolic link followed
//! below the working directory. Only regular files are opened, and never in a way that could wait
//! for somebody at the other end.

mod open;
mod state;

pub(crate) use open::{Opened, open, path_of, problem_with};
pub(crate) use state::{FileState, digest};
