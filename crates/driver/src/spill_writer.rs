//! Writes long texts to disk, where the model can read them.
//!
//! Files are in the session's spill directory, readable only by this user, under the name the
//! engine chose. A text is cut at [`TEXT_BYTES_MAX`], and a session writes at most
//! [`TOTAL_BYTES_MAX`]. A failure is a warning: the conversation continues with the shortened text
//! it already has.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::task::JoinSet;

use crate::notices::NoticeSender;

/// Writes to the spill directory of one session.
pub(crate) struct SpillWriter {
    directory: Arc<SpillDirectory>,
    writing: JoinSet<()>,
}

struct SpillDirectory {
    path: PathBuf,
    notice_sender: NoticeSender,
    written: AtomicU64,
}

impl SpillWriter {
    pub(crate) fn new(path: PathBuf, notice_sender: NoticeSender) -> Self {
        let directory =
            Arc::new(SpillDirectory { path, notice_sender, written: AtomicU64::new(0) });
        Self { directory, writing: JoinSet::new() }
    }

    pub(crate) fn write(&mut self, name: Arc<str>, text: String) {
        while self.writing.try_join_next().is_some() {}
        let directory = Arc::clone(&self.directory);
        self.writing.spawn_blocking(move || directory.write(&name, &text));
    }

    pub(crate) fn are_writing(&self) -> bool {
        !self.writing.is_empty()
    }

    /// Waits until one write has finished; returns at once if there is none.
    pub(crate) async fn wait_for_one(&mut self) {
        let _ = self.writing.join_next().await;
    }
}

impl SpillDirectory {
    fn write(&self, name: &str, text: &str) {
        if let Err(problem) = self.try_write(name, text) {
            let path = self.path.display();
            self.notice_sender
                .warn(format!("a long result could not be kept in {path}: {problem}"));
        }
    }

    fn try_write(&self, name: &str, text: &str) -> io::Result<()> {
        // The name contains a call id, which comes from a server and cannot be trusted.
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if name.is_empty()
            || name.len() > 200
            || name.starts_with('.')
            || !name.chars().all(is_plain)
        {
            return Err(io::Error::other("its name is not a plain file name"));
        }
        let end = text.floor_char_boundary(TEXT_BYTES_MAX);
        let text = text.get(..end).unwrap_or_default();
        let size = u64::try_from(text.len()).unwrap_or(u64::MAX);
        if self.written.fetch_add(size, Ordering::Relaxed).saturating_add(size) > TOTAL_BYTES_MAX {
            self.written.fetch_sub(size, Ordering::Relaxed);
            return Err(io::Error::other("the session has kept too much already"));
        }
        DirBuilder::new().recursive(true).mode(0o700).create(&self.path)?;
        let path = self.path.join(name);
        let mut options = OpenOptions::new();
        options
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(path)?
            .write_all(text.as_bytes())
    }
}

/// Limit on the bytes of one text.
const TEXT_BYTES_MAX: usize = 64 << 20;
/// Limit on the bytes of one session.
const TOTAL_BYTES_MAX: u64 = 1 << 30;
