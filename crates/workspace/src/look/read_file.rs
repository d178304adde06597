//! Reads a file's bytes and puts them into the store.

use std::io::Read;
use std::sync::atomic::Ordering;

use rustix::fs::fstat;

use super::look_cache::CachedEntry;
use super::walk::FolderWalk;
use crate::digest::ContentDigest;
use crate::error::WorkspaceError;
use crate::folder_record::{EntryImage, MODE_MASK};
use crate::path_image::UncoveredReason;
use crate::root_folder::{FileStamp, open_child_file};

/// Attempts to read a file that changes during each read.
const READ_TRIES: usize = 3;
/// Larger files are read one at a time, to bound the memory held by all threads.
const LARGE_BYTES: u64 = 1 << 20;

/// The content, with the stamps before and after the read.
struct FileRead {
    bytes: Vec<u8>,
    before: FileStamp,
    after: FileStamp,
}

impl FolderWalk<'_> {
    /// Reads a file until its stamps before and after the read agree.
    pub(super) fn read_file(
        &self,
        name: &[u8],
        walked: &mut CachedEntry,
    ) -> Result<(), WorkspaceError> {
        let _one_at_a_time =
            (walked.stamp.size > LARGE_BYTES).then(|| self.walker.large_file_turn());
        let mut reason = UncoveredReason::Unstable;
        // Unsettled files are read again by the next look; a first look does not wait for
        // writeback.
        let must_flush = self.walker.settings.keeps_coverage && walked.is_settled;
        for _ in 0..READ_TRIES {
            self.walker.check_stop()?;
            let Ok(FileRead { bytes, before, after }) = self.read_once(name, must_flush) else {
                reason = UncoveredReason::Unreadable;
                break;
            };
            self.walker.bytes_read.fetch_add(bytes.len() as u64, Ordering::Relaxed);
            if before != after || bytes.len() as u64 != after.size {
                continue;
            }
            walked.stamp = after;
            walked.is_settled = self.walker.is_settled(&after);
            if self.walker.settings.content_filter.refuses(&bytes) {
                reason = UncoveredReason::Refused;
                break;
            }
            let content = ContentDigest::of(&bytes);
            let image = EntryImage::File {
                content,
                size: after.size,
                mode: after.mode & MODE_MASK,
                is_ignored: walked.is_ignored,
            };
            let store = self.walker.store;
            let stored = match self.walker.settings.refers_to_packs {
                true => store.put_or_refer(content, &bytes),
                false => store.put_content(content, &bytes),
            };
            match stored {
                Ok(()) => {
                    walked.image = image;
                    return Ok(());
                }
                Err(WorkspaceError::NoRoom) => {
                    reason = UncoveredReason::NoRoom;
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        let stamp = walked.stamp.to_uncovered_stamp();
        walked.image = EntryImage::Uncovered { reason, stamp };
        Ok(())
    }

    fn read_once(&self, name: &[u8], must_flush: bool) -> std::io::Result<FileRead> {
        let file = open_child_file(self.handle, name)?;
        if must_flush {
            // A page of a shared mapping that is not written back can change again without a new
            // time stamp. On failure, the page is recorded as it is now.
            let _ = file.sync_data();
        }
        let before = FileStamp::from(&fstat(&file)?);
        let limit = self.walker.settings.limits.file_bytes + 1;
        let expected = usize::try_from(before.size.min(limit)).unwrap_or(0);
        let mut bytes = Vec::with_capacity(expected + 1);
        (&file).take(limit).read_to_end(&mut bytes)?;
        let after = FileStamp::from(&fstat(&file)?);
        Ok(FileRead { bytes, before, after })
    }
}
