//! The session's knowledge of files: the last seen state of each, the text of small ones, and line
//! offsets of huge ones. Limited in size; the least recently used is forgotten first.
//!
//! Used for the check before an edit, for notices about changed files, and for reading files again
//! after a compaction. Reads nothing itself.

use std::collections::HashMap;
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::file_state::{FileState, hash_content};

const FILES_MAX: usize = 2_000;
/// Texts up to this size are kept, to show what changed.
pub(crate) const TEXT_BYTES_MAX: u64 = 64 * 1024;
const TEXTS_BYTES_MAX: usize = 8 * 1024 * 1024;

#[derive(Debug, Default)]
pub(crate) struct KnownFiles {
    files: HashMap<PathBuf, KnownFile>,
    use_counter: u64,
    text_bytes: usize,
}

#[derive(Clone, Debug)]
pub(crate) struct KnownFile {
    pub(crate) state: FileState,
    /// The content; `None` if it is too long or there are too many.
    pub(crate) text: Option<Arc<[u8]>>,
    /// The last state that was reported as changed.
    pub(crate) reported_state: Option<FileState>,
    pub(crate) line_offsets: Arc<[LineOffset]>,
    last_use: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LineOffset {
    pub(crate) line: u64,
    pub(crate) byte: u64,
}

impl KnownFile {
    pub(crate) fn new(state: FileState, text: Option<&[u8]>) -> Self {
        let text = text.filter(|text| text.len() as u64 <= TEXT_BYTES_MAX).map(Arc::from);
        Self { state, text, reported_state: None, line_offsets: Arc::default(), last_use: 0 }
    }

    pub(crate) fn with_line_offsets(self, points: Vec<LineOffset>) -> Self {
        Self { line_offsets: points.into(), ..self }
    }
}

/// For a file that was just written or read completely.
pub(crate) fn known_file_from_content(metadata: &Metadata, content: &[u8]) -> KnownFile {
    KnownFile::new(FileState::new(metadata, Some(hash_content(content))), Some(content))
}

impl KnownFiles {
    pub(crate) fn remember(&mut self, path: PathBuf, mut known: KnownFile) {
        self.forget(&path);
        self.use_counter += 1;
        known.last_use = self.use_counter;
        self.text_bytes += known.text.as_ref().map_or(0, |text| text.len());
        self.files.insert(path, known);
        while self.files.len() > FILES_MAX {
            let oldest = self.files.iter().min_by_key(|(_, known)| known.last_use);
            let Some(oldest) = oldest.map(|(path, _)| path.clone()) else { break };
            self.forget(&oldest);
        }
        while self.text_bytes > TEXTS_BYTES_MAX {
            let oldest = self.files.values_mut().filter(|known| known.text.is_some());
            let Some(oldest) = oldest.min_by_key(|known| known.last_use) else { break };
            self.text_bytes -= oldest.text.take().map_or(0, |text| text.len());
        }
    }

    pub(crate) fn forget(&mut self, path: &Path) {
        if let Some(known) = self.files.remove(path) {
            self.text_bytes -= known.text.map_or(0, |text| text.len());
        }
    }

    pub(crate) fn get(&self, path: &Path) -> Option<&KnownFile> {
        self.files.get(path)
    }

    /// Updates an entry after a change was reported or a file was only touched, without making it
    /// the most recent one.
    pub(crate) fn update(&mut self, path: &Path, change: impl FnOnce(&mut KnownFile)) {
        if let Some(known) = self.files.get_mut(path) {
            let before = known.text.as_ref().map_or(0, |text| text.len());
            let moment = known.last_use;
            change(known);
            known.last_use = moment;
            let after = known.text.as_ref().map_or(0, |text| text.len());
            self.text_bytes = self.text_bytes + after - before;
        }
    }

    pub(crate) fn paths_by_recency(&self) -> Vec<PathBuf> {
        let mut files: Vec<_> = self.files.iter().collect();
        files.sort_by_key(|(_, known)| std::cmp::Reverse(known.last_use));
        files.into_iter().map(|(path, _)| path.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_unused_goes_first_and_texts_go_before_files() {
        let metadata = std::fs::metadata("/").unwrap();
        let known = |text: Option<&[u8]>| KnownFile::new(FileState::new(&metadata, Some(1)), text);
        let mut memory = KnownFiles::default();
        let text = vec![b'x'; 64 * 1024];
        for number in 0..FILES_MAX + 5 {
            memory.remember(PathBuf::from(format!("/{number}")), known(Some(&text)));
            memory.remember("/used".into(), known(None));
        }
        assert_eq!(memory.files.len(), FILES_MAX);
        assert!(memory.get(Path::new("/5")).is_none() && memory.get(Path::new("/6")).is_some());
        assert_eq!(memory.paths_by_recency().first().unwrap(), Path::new("/used"));
        let kept = memory.files.values().filter_map(|known| known.text.as_ref());
        assert_eq!(kept.map(|text| text.len()).sum::<usize>(), memory.text_bytes);
        assert_eq!(memory.text_bytes, TEXTS_BYTES_MAX);
        memory.remember("/long".into(), known(Some(&vec![b'x'; 64 * 1024 + 1])));
        assert!(memory.get(Path::new("/long")).unwrap().text.is_none());
    }
}
