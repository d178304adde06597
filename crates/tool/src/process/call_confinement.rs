//! The confinement that a permission grant requires of a call's processes.

use std::path::PathBuf;

use windlass_permission::{Confinement, PermissionGrant};

#[derive(Clone, Debug, Default)]
pub struct CallConfinement {
    pub kind: Confinement,
    /// The offsets of programs in the command line that are confined one by one.
    pub held_words: Vec<usize>,
    /// What confined processes may read if the home directory is hidden from them.
    pub readable: Vec<PathBuf>,
}

impl CallConfinement {
    #[must_use]
    pub fn from_grant<T>(grant: &PermissionGrant<T>) -> Self {
        Self {
            kind: grant.confinement(),
            held_words: grant.held_words().to_vec(),
            readable: grant.readable().to_vec(),
        }
    }
}
