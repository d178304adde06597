//! Memories: Markdown notes in a folder. Those that share words with the prompt are shown.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::AttachmentFinder;

/// A folder with notes.
#[derive(Clone, Debug)]
pub struct MemoryFolder {
    folder: PathBuf,
}

/// Limits on the notes examined, on the bytes read of each, and on the notes shown.
const NOTES_MAX: usize = 256;
const NOTE_BYTES_MAX: u64 = 64 * 1024;
const SHOWN_MAX: usize = 3;
/// A note must share at least this many different words with the prompt.
const SHARED_MIN: usize = 2;
/// Shorter words are too common to show a relation.
const WORD_CHARS_MIN: usize = 4;

impl MemoryFolder {
    /// Uses the Markdown files directly in this folder.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }
}

impl AttachmentFinder for MemoryFolder {
    fn find(&self, prompt: &str) -> Option<String> {
        let wanted = extract_keywords(prompt);
        let mut notes: Vec<RelevantNote> = Vec::new();
        for path in list_markdown_files(&self.folder) {
            let Some(text) = read_note(&path) else { continue };
            let shared_words = extract_keywords(&text).intersection(&wanted).count();
            if shared_words >= SHARED_MIN {
                notes.push(RelevantNote { shared_words, path, text });
            }
        }
        // Best first, then by name, so that the same prompt finds the same notes.
        notes.sort_by(|a, b| (b.shared_words, &a.path).cmp(&(a.shared_words, &b.path)));
        let shown: Vec<String> = notes
            .into_iter()
            .take(SHOWN_MAX)
            .map(|note| format!("From {}:\n{}", note.path.display(), note.text.trim()))
            .collect();
        (!shown.is_empty())
            .then(|| format!("Notes that may matter here.\n\n{}", shown.join("\n\n")))
    }
}

struct RelevantNote {
    shared_words: usize,
    path: PathBuf,
    text: String,
}

/// The Markdown files directly in a folder, sorted by name, up to a limit.
fn list_markdown_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .take(NOTES_MAX)
        .collect();
    paths.sort();
    paths
}

/// Reads a text file, unless it is too large for a note.
fn read_note(path: &Path) -> Option<String> {
    let metadata = fs::metadata(path).ok()?;
    let is_note = metadata.is_file() && metadata.len() <= NOTE_BYTES_MAX;
    is_note.then(|| fs::read_to_string(path).ok()).flatten()
}

/// The different words of a text that are long enough to describe its subject.
pub(super) fn extract_keywords(text: &str) -> BTreeSet<String> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| word.chars().count() >= WORD_CHARS_MIN)
        .map(str::to_lowercase)
        .collect()
}
