//! What a file was like when it was last read or written here, to see whether it has changed.

use std::fs::Metadata;
use std::hash::{DefaultHasher, Hasher};
use std::time::SystemTime;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileState {
    modified: Option<SystemTime>,
    bytes: u64,
    /// `None` when only a part was read.
    digest: Option<u64>,
}

impl FileState {
    pub(crate) fn new(metadata: &Metadata, digest: Option<u64>) -> Self {
        Self { modified: metadata.modified().ok(), bytes: metadata.len(), digest }
    }

    /// Is a file with this metadata and this content still the one remembered? The content decides
    /// where it is known: a clock may be too coarse to notice, and touching a file changes nothing.
    pub(crate) fn matches_content(&self, metadata: &Metadata, content: &[u8]) -> bool {
        match self.digest {
            Some(known) => known == hash_content(content),
            None => self.matches_metadata(metadata),
        }
    }

    /// The same size and time: cheap, and right as long as clocks are fine enough.
    pub(crate) fn matches_metadata(&self, metadata: &Metadata) -> bool {
        self.bytes == metadata.len() && self.modified == metadata.modified().ok()
    }

    pub(crate) fn has_digest(&self) -> bool {
        self.digest.is_some()
    }
}

/// A number that changes with the content. Guards against accidents, not against forgery.
pub(crate) fn hash_content(content: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(content);
    hasher.finish()
}
