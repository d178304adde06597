//! The error of writing a settings file.

use std::fmt;
use std::path::{Path, PathBuf};

/// A file could not be written; its old content is unchanged.
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
