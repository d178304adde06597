//! Second names of hidden files inside the working directories.
//!
//! A hidden path hides one name of a file. A hard link to it, made beforehand, is another name. The
//! kernel counts names, and a secret nearly always has one: then there is nothing to look for.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Files looked at in one hidden directory, and in all of them.
const DIRECTORY_FILES_MAX: usize = 100;
const FILES_MAX: usize = 1_000;
/// Entries of the working directories that are looked at, once there is something to look for.
const ENTRIES_MAX: usize = 200_000;

/// Hidden files that have more than one name, as they are told apart.
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
    /// Looks at hidden files, and at the files directly in hidden directories. The last ones first: those
    /// that the user named, then the usual secrets, then other homes.
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

    /// Where else they are in these directories.
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
