//! What a host has of a snapshot that it took itself or got as a pack, as far as packs carry it:
//! without ignored files and git's own state, which differ between hosts.

use std::collections::{HashMap, HashSet};

use crate::digest::ContentDigest;
use crate::error::WorkspaceError;
use crate::folder_record::{EntryImage, FolderRecord};
use crate::store::ContentStore;

#[derive(Debug, Default)]
pub(crate) struct KnownFolders {
    /// Contents, and the records that nothing is left out of.
    pub(crate) held: HashSet<ContentDigest>,
    /// Of a record with excluded entries, the digest of the record without them.
    reduced: HashMap<ContentDigest, ContentDigest>,
    /// Those records, which are in no store.
    made: HashMap<ContentDigest, FolderRecord>,
}

impl KnownFolders {
    /// Adds a folder with everything below it, and returns the digest of what packs carry of it. A
    /// record that is not in the store contributes nothing but its own digest.
    pub(crate) fn add(
        &mut self,
        store: &ContentStore,
        record: ContentDigest,
    ) -> Result<ContentDigest, WorkspaceError> {
        if self.held.contains(&record) {
            return Ok(record);
        }
        if let Some(reduced) = self.reduced.get(&record) {
            return Ok(*reduced);
        }
        let mut folder = match store.read_folder(&record) {
            Ok(folder) => folder,
            Err(WorkspaceError::NotKept(_) | WorkspaceError::DamagedRecord) => {
                self.held.insert(record);
                return Ok(record);
            }
            Err(error) => return Err(error),
        };
        let count = folder.entries.len();
        folder.entries.retain(|entry| {
            let is_ignored = matches!(entry.image, EntryImage::File { is_ignored: true, .. });
            entry.name.as_ref() != b".git" && !is_ignored
        });
        let mut is_whole = folder.entries.len() == count;
        for entry in &mut folder.entries {
            match &mut entry.image {
                EntryImage::File { content, .. } => {
                    self.held.insert(*content);
                }
                EntryImage::Folder { record, .. } => {
                    let reduced = self.add(store, *record)?;
                    is_whole &= reduced == *record;
                    *record = reduced;
                }
                EntryImage::Link { .. } | EntryImage::Uncovered { .. } => {}
            }
        }
        if is_whole {
            self.held.insert(record);
            return Ok(record);
        }
        let reduced = ContentDigest::of(&folder.encode());
        self.reduced.insert(record, reduced);
        self.made.insert(reduced, folder);
        Ok(reduced)
    }

    pub(crate) fn find_made(&self, digest: &ContentDigest) -> Option<&FolderRecord> {
        self.made.get(digest)
    }

    /// The record that changes may be based on. Not one that the receiver has to make itself from
    /// paths that no pack carries the bytes of: a build's output, or the time stamp of a large file.
    pub(crate) fn read_base(
        &self,
        store: &ContentStore,
        digest: &ContentDigest,
    ) -> Option<FolderRecord> {
        if self.held.contains(digest) {
            return store.read_folder(digest).ok();
        }
        let is_covered = |folder: &&FolderRecord| {
            let mut entries = folder.entries.iter();
            !entries.any(|entry| matches!(entry.image, EntryImage::Uncovered { .. }))
        };
        self.made.get(digest).filter(is_covered).cloned()
    }
}
