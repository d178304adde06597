//! Files that changed since the model last saw them, each change told once.
//!
//! Times and sizes are compared first; only where they differ is a file read and its content
//! compared, so that a file somebody merely touched is no news.

use std::path::{Path, PathBuf};

use super::content::read_bounded;
use super::encoding::Encoding;
use super::memory::{Known, TEXT_BYTES_MAX};
use super::open::{Opened, open};
use super::patch::unified;
use super::state::{FileState, digest};
use crate::surroundings::Surroundings;

/// Changes told at a time; more wait for the next time.
const CHANGES_MAX: usize = 20;
/// Bytes of what changed that are shown of one file.
const SHOWN_BYTES_MAX: usize = 4_000;
/// Larger files are compared by time and size alone.
const COMPARED_BYTES_MAX: u64 = 32 * 1024 * 1024;

/// A file that is not as the model knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    /// Which.
    pub path: PathBuf,
    /// What happened to it, in words for the model.
    pub note: String,
}

/// Looks at every file that is known, the one used last first.
pub(crate) fn changed(surroundings: &Surroundings) -> Vec<FileChange> {
    let mut changes = Vec::new();
    for path in surroundings.in_hand() {
        if changes.len() == CHANGES_MAX {
            break;
        }
        if let Some(known) = surroundings.known(&path)
            && let Some(note) = look(surroundings, &path, &known)
        {
            changes.push(FileChange { path, note });
        }
    }
    changes
}

fn look(surroundings: &Surroundings, path: &Path, known: &Known) -> Option<String> {
    let shown = path.display();
    let metadata = match std::fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            surroundings.forget(path);
            return Some(format!("`{shown}` was deleted or moved."));
        }
        Err(_) => return None,
    };
    if known.state.looks_like(&metadata) {
        return None;
    }
    if known.told.as_ref().is_some_and(|told| told.looks_like(&metadata)) {
        return None;
    }
    // Something else stands there now, or it may no longer be read: an edit will say so.
    let Opened { file, metadata } = open(surroundings, path).ok()?;
    let told = |digest| FileState::new(&metadata, digest);
    if metadata.len() > COMPARED_BYTES_MAX || !known.state.has_digest() {
        surroundings.settle(path, |known| known.told = Some(told(None)));
        return Some(format!("`{shown}` was changed. Read it again before you rely on it."));
    }
    let content = read_bounded(&file, COMPARED_BYTES_MAX).ok()?;
    let now = told(Some(digest(&content)));
    if known.state.is_still(&metadata, &content) {
        surroundings.settle(path, |known| known.state = now);
        return None;
    }
    let difference = known.text.as_deref().filter(|_| content.len() as u64 <= TEXT_BYTES_MAX);
    let difference = difference.and_then(|old| {
        let encoding = Encoding::of(&content);
        unified(&encoding.decode(old), &encoding.decode(&content), SHOWN_BYTES_MAX)
    });
    match difference {
        // Whoever has seen the whole difference knows the file as it is now.
        Some(difference) => {
            surroundings.settle(path, |known| {
                *known = Known::new(now, Some(&content));
            });
            Some(format!("`{shown}` was changed:\n{difference}"))
        }
        None => {
            surroundings.settle(path, |known| known.told = Some(now));
            Some(format!("`{shown}` was changed. Read it again before you rely on it."))
        }
    }
}
