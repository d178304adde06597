//! Waits for the disk apart from the writer: one thread waits while another goes on writing, and one
//! wait covers everything that was written before it began.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::disk::{DiskFile, JournalDisk};

/// Waits for one file of a journal. The caller passes its result to
/// [`JournalWriter::complete_flush`](crate::JournalWriter::complete_flush).
#[derive(Debug)]
pub struct Flusher {
    pub(crate) file: Box<dyn DiskFile>,
    pub(crate) disk: Arc<dyn JournalDisk>,
    pub(crate) path: PathBuf,
    pub(crate) is_directory_synced: Arc<AtomicBool>,
}

impl Flusher {
    /// Returns when everything that was written before is on the disk. Blocks.
    ///
    /// # Errors
    ///
    /// When the disk fails. The file must not be synced again then: a second call may report success
    /// for pages that the kernel has dropped.
    pub fn flush(&mut self) -> io::Result<()> {
        self.file.sync()?;
        // A new file is safe only when its directory entry is.
        if !self.is_directory_synced.load(Ordering::Acquire) {
            self.disk.sync_directory_of(&self.path)?;
            self.is_directory_synced.store(true, Ordering::Release);
        }
        Ok(())
    }
}
