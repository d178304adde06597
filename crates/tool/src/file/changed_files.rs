//! Detects files that changed since the model last saw them, and reports each change once.
//!
//! Compares times and sizes first, and the content only if they differ, so that a file that was
//! only touched is not reported.

use std::path::{Path, PathBuf};

use super::diff::render_unified_diff;
use super::editor_files::open_current_text;
use super::file_content::read_bounded;
use super::file_context::FileContext;
use super::file_state::{FileState, hash_content};
use super::known_files::{KnownFile, TEXT_BYTES_MAX};
use super::open::OpenedFile;
use super::text_encoding::TextEncoding;

/// Limit on the changes per report; others are reported next time.
const CHANGES_MAX: usize = 20;
const SHOWN_BYTES_MAX: usize = 4_000;
/// Larger files are compared by time and size only.
const COMPARED_BYTES_MAX: u64 = 32 * 1024 * 1024;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    pub path: PathBuf,
    pub note: String,
}

pub(super) fn find_changed_files(files: &FileContext) -> Vec<FileChange> {
    let mut changes = Vec::new();
    for path in files.recent_files() {
        if changes.len() == CHANGES_MAX {
            break;
        }
        if let Some(known) = files.known_file(&path)
            && let Some(note) = describe_change(files, &path, &known)
        {
            changes.push(FileChange { path, note });
        }
    }
    changes
}

fn describe_change(files: &FileContext, path: &Path, known: &KnownFile) -> Option<String> {
    let shown = path.display();
    let metadata = match std::fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            files.forget_file(path);
            return Some(format!("`{shown}` was deleted or moved."));
        }
        Err(_) => return None,
    };
    if known.state.matches_metadata(&metadata) {
        return None;
    }
    if known.reported_state.as_ref().is_some_and(|told| told.matches_metadata(&metadata)) {
        return None;
    }
    // The file was replaced or became unreadable; an edit will report that.
    let OpenedFile { file, metadata } = open_current_text(files, path).ok()?;
    let told = |digest| FileState::new(&metadata, digest);
    if metadata.len() > COMPARED_BYTES_MAX || !known.state.has_digest() {
        files.update_known_file(path, |known| known.reported_state = Some(told(None)));
        return Some(format!("`{shown}` was changed. Read it again before you rely on it."));
    }
    let content = read_bounded(&file, COMPARED_BYTES_MAX).ok()?;
    let now = told(Some(hash_content(&content)));
    if known.state.matches_content(&metadata, &content) {
        files.update_known_file(path, |known| known.state = now);
        return None;
    }
    let difference = known.text.as_deref().filter(|_| content.len() as u64 <= TEXT_BYTES_MAX);
    let difference = difference.and_then(|old| {
        let encoding = TextEncoding::detect(&content);
        render_unified_diff(&encoding.decode(old), &encoding.decode(&content), SHOWN_BYTES_MAX)
    });
    match difference {
        // The complete difference is shown, so the model knows the current content.
        Some(difference) => {
            files.update_known_file(path, |known| {
                *known = KnownFile::new(now, Some(&content));
            });
            Some(format!("`{shown}` was changed:\n{difference}"))
        }
        None => {
            files.update_known_file(path, |known| known.reported_state = Some(now));
            Some(format!("`{shown}` was changed. Read it again before you rely on it."))
        }
    }
}
