//! Refuses to read hard links to files that must not be read.
//!
//! Deny rules and the list of secrets protect names, but a hard link made earlier is another name
//! of the same file. The link count shows that: a file with one link is read without a further
//! check. Commands are protected in the same way by their confinement.

use std::collections::BTreeSet;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::process::find_hidden_files;
use crate::tool_session_context::ToolSessionContext;

/// Limits on the files checked in one directory, and in all of them.
const DIRECTORY_FILES_MAX: usize = 100;
const FILES_MAX: usize = 2_000;

/// Files that must not be read and have more than one link.
#[derive(Debug, Default)]
pub(crate) struct LinkedSecretFiles {
    files: BTreeSet<(u64, u64)>,
}

impl LinkedSecretFiles {
    /// Checks secrets and paths that deny rules hide, and the files directly inside of such
    /// directories.
    ///
    /// # Errors
    /// There are too many files to check, as a message for the model.
    pub(crate) fn list(context: &ToolSessionContext) -> Result<Self, String> {
        let mut found = Self::default();
        let mut left = FILES_MAX;
        for path in find_hidden_files(context)?.iter().chain(&context.hidden_paths.secrets) {
            found.look_at(path, &mut left);
            if left == 0 {
                break;
            }
        }
        Ok(found)
    }

    fn look_at(&mut self, path: &Path, left: &mut usize) {
        let Ok(metadata) = std::fs::metadata(path) else { return };
        *left = left.saturating_sub(1);
        self.insert(&metadata);
        let Ok(entries) = std::fs::read_dir(path) else { return };
        for entry in entries.flatten().take(DIRECTORY_FILES_MAX) {
            *left = left.saturating_sub(1);
            if let Ok(metadata) = entry.metadata() {
                self.insert(&metadata);
            }
        }
    }

    fn insert(&mut self, metadata: &Metadata) {
        if has_other_names(metadata) {
            self.files.insert((metadata.dev(), metadata.ino()));
        }
    }

    /// Refuses a file that is one of them.
    ///
    /// # Errors
    /// It is one of them, as a message for the model.
    pub(crate) fn refuse(&self, path: &Path, metadata: &Metadata) -> Result<(), String> {
        match self.files.contains(&(metadata.dev(), metadata.ino())) {
            true => Err(format!(
                "`{}` is another name (hard link) of a file that may not be read.",
                path.display()
            )),
            false => Ok(()),
        }
    }
}

pub(crate) fn has_other_names(metadata: &Metadata) -> bool {
    metadata.is_file() && metadata.nlink() > 1
}

/// Refuses an open file that is a hard link to one that must not be read. The path itself was
/// checked before.
///
/// # Errors
/// It is such a link, or that cannot be decided, as a message for the model.
pub(crate) fn refuse_linked_secret(
    context: &ToolSessionContext,
    path: &Path,
    metadata: &Metadata,
) -> Result<(), String> {
    let is_secret = |secret: &PathBuf| path.starts_with(secret);
    if !has_other_names(metadata) || context.hidden_paths.secrets.iter().any(is_secret) {
        return Ok(());
    }
    LinkedSecretFiles::list(context)?.refuse(path, metadata)
}
