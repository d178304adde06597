//! Finds hard links to hidden files inside the working directories.
//!
//! A hidden path hides only one name of a file, and a hard link made earlier is another one. The
//! link count of a secret is nearly always one: then there is nothing to search.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Limits on the files checked in one hidden directory, and in all of them.
const DIRECTORY_FILES_MAX: usize = 100;
const FILES_MAX: usize = 1_000;
/// Limit on the entries searched in the working directories.
const ENTRIES_MAX: usize = 200_000;

/// The identities of hidden files with several links.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LinkedSecrets {
    files: BTreeSet<LinkedFileIdentity>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct LinkedFileIdentity {
    device: u64,
    inode: u64,
    names: u64,
}

impl LinkedSecrets {
    /// Checks hidden files, and the files directly in hidden directories. In reverse order: those
    /// the user named, then usual secrets, then other homes.
    pub(super) fn list(hidden: &[PathBuf]) -> Self {
        let mut looked_at = 0;
        let mut files = BTreeSet::new();
        for path in hidden.iter().rev() {
            let Ok(found) = std::fs::metadata(path) else {
                continue;
            };
            looked_at += 1;
            if !found.is_dir() {
                files.extend(LinkedFileIdentity::of_linked(&found));
            } else if let Ok(entries) = std::fs::read_dir(path) {
                for entry in entries.flatten().take(DIRECTORY_FILES_MAX) {
                    looked_at += 1;
                    let found = entry.metadata().ok();
                    files.extend(found.and_then(|found| LinkedFileIdentity::of_linked(&found)));
                }
            }
            if looked_at >= FILES_MAX {
                break;
            }
        }
        Self { files }
    }

    /// Their other names in these directories.
    pub(super) fn find_names(&self, directories: &[PathBuf]) -> Result<Vec<PathBuf>, String> {
        let mut names = Vec::new();
        if self.files.is_empty() {
            return Ok(names);
        }
        let mut looked_at = 0;
        let mut pending: Vec<PathBuf> = directories.to_vec();
        while let Some(directory) = pending.pop() {
            let Ok(entries) = std::fs::read_dir(&directory) else {
                continue;
            };
            for entry in entries.flatten() {
                looked_at += 1;
                if looked_at > ENTRIES_MAX {
                    return Err(too_many(&directory));
                }
                let Ok(found) = entry.metadata() else {
                    continue;
                };
                if found.is_dir() {
                    pending.push(entry.path());
                } else if LinkedFileIdentity::of_linked(&found)
                    .is_some_and(|identity| self.files.contains(&identity))
                {
                    names.push(entry.path());
                }
            }
        }
        Ok(names)
    }
}

impl LinkedFileIdentity {
    fn of_linked(found: &std::fs::Metadata) -> Option<Self> {
        let is_linked = found.is_file() && found.nlink() > 1;
        let identity = Self { device: found.dev(), inode: found.ino(), names: found.nlink() };
        is_linked.then_some(identity)
    }
}

fn too_many(directory: &Path) -> String {
    format!(
        "a secret has a second name (hard link), and there are too many files to look for it, \
         `{}` among them",
        directory.display()
    )
}
