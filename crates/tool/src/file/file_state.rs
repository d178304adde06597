//! The state of a file when it was last read or written, to detect changes.

use std::fs::Metadata;
use std::hash::{DefaultHasher, Hasher};
use std::time::SystemTime;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileState {
    modified: Option<SystemTime>,
    bytes: u64,
    /// `None` if only part of the file was read.
    digest: Option<u64>,
}

impl FileState {
    pub(crate) fn new(metadata: &Metadata, digest: Option<u64>) -> Self {
        Self { modified: metadata.modified().ok(), bytes: metadata.len(), digest }
    }

    /// Is a file with this metadata and content still the same? The content decides if it is known:
    /// timestamps may be too coarse, and touching a file does not change it.
    pub(crate) fn matches_content(&self, metadata: &Metadata, content: &[u8]) -> bool {
        match self.digest {
            Some(known) => known == hash_content(content),
            None => self.matches_metadata(metadata),
        }
    }

    /// Compares size and time: cheap, and correct if timestamps are fine enough.
    pub(crate) fn matches_metadata(&self, metadata: &Metadata) -> bool {
        self.bytes == metadata.len() && self.modified == metadata.modified().ok()
    }

    pub(crate) fn has_digest(&self) -> bool {
        self.digest.is_some()
    }
}

/// A hash of the content. Protects against accidents, not against forgery.
pub(crate) fn hash_content(content: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(content);
    hasher.finish()
}
