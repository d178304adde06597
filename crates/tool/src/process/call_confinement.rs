//! The confinement that a permission grant requires of a call's processes.

use std::path::PathBuf;

use windlass_permission::Confinement;

#[derive(Clone, Copy, Debug)]
pub(crate) struct CallConfinement<'a> {
    pub(crate) kind: Confinement,
    /// The offsets of programs in the command line that are confined one by one.
    pub(crate) held_words: &'a [usize],
    /// What confined processes may read if the home directory is hidden from them.
    pub(crate) readable: &'a [PathBuf],
}
