//! A settings file could not be written.

use std::fmt;
use std::path::{Path, PathBuf};

/// A file could not be written; what was there is still there.
#[derive(Debug, thiserror::Error)]
#[error("{} was not changed: {why}", path.display())]
pub struct SettingsWriteError {
    path: PathBuf,
    why: String,
}

impl SettingsWriteError {
    pub(crate) fn new(path: &Path, why: impl fmt::Display) -> Self {
        Self { path: path.to_owned(), why: why.to_string() }
    }
}
