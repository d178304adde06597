//! Second names of files that must not be read.
//!
//! A rule or the list of secrets names a file, and permission looks at names. A hard link, made
//! beforehand, is another name of the same file. The kernel counts names: a file with one is read
//! without a further look. The same is done for commands, by what holds them.

use std::collections::BTreeSet;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::process::find_hidden_files;
use crate::tool_session_context::ToolSessionContext;

/// Files looked at in one directory, and in all of them.
const DIRECTORY_FILES_MAX: usize = 100;
const FILES_MAX: usize = 2_000;

/// Files that must not be read and have more than one name.
#[derive(Debug, Default)]
pub(crate) struct LinkedSecretFiles {
    files: BTreeSet<(u64, u64)>,
}

impl LinkedSecretFiles {
    /// Looks at secrets and at what deny rules hide, and at the files directly in such directories.
    ///
    /// # Errors
    /// There is too much to look through, in words for the model.
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
    /// It is, in words for the model.
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

/// Refuses an open file that is a second name of one that must not be read. The path itself was judged.
///
/// # Errors
/// It is, or that cannot be told, in words for the model.
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
