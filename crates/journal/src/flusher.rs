//! Syncs a journal from another thread than the writer's, which continues to write. One sync covers
//! everything written before it began.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::disk::{DiskFile, JournalDisk};

/// Syncs one file of a journal. The caller passes the result to
/// [`JournalWriter::complete_flush`](crate::JournalWriter::complete_flush).
#[derive(Debug)]
pub struct Flusher {
    pub(crate) file: Box<dyn DiskFile>,
    pub(crate) disk: Arc<dyn JournalDisk>,
    pub(crate) path: PathBuf,
    pub(crate) is_directory_synced: Arc<AtomicBool>,
}

impl Flusher {
    /// Returns when everything written before the call is on the disk. Blocks.
    ///
    /// # Errors
    ///
    /// The disk fails. The file must not be synced again then: a second call may report success for
    /// pages that the kernel has dropped.
    pub fn flush(&mut self) -> io::Result<()> {
        self.file.sync()?;
        // A new file is durable only when its directory entry is.
        if !self.is_directory_synced.load(Ordering::Acquire) {
            self.disk.sync_directory_of(&self.path)?;
            self.is_directory_synced.store(true, Ordering::Release);
        }
        Ok(())
    }
}
