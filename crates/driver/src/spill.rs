//! Keeps long texts on disk, where the model can read them back.
//!
//! Files lie in the session's spill directory, for this user only, under the name the engine chose.
//! A text is cut at [`TEXT_BYTES_MAX`] and the directory gets at most [`TOTAL_BYTES_MAX`] from here.
//! A failure is a warning: the conversation goes on with the shortened text it already has.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::notices::Teller;

/// The spill directory of one session.
pub(crate) struct Spills {
    directory: PathBuf,
    teller: Teller,
    written: AtomicU64,
}

impl Spills {
    pub(crate) fn new(directory: PathBuf, teller: Teller) -> Self {
        Self { directory, teller, written: AtomicU64::new(0) }
    }

    /// Writes one text. Blocks.
    pub(crate) fn write(&self, name: &str, text: &str) {
        if let Err(problem) = self.try_write(name, text) {
            let path = self.directory.display();
            self.teller.warn(format!("a long result could not be kept in {path}: {problem}"));
        }
    }

    fn try_write(&self, name: &str, text: &str) -> io::Result<()> {
        // The name comes from a call id, which comes from a server.
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
        DirBuilder::new().recursive(true).mode(0o700).create(&self.directory)?;
        let path = self.directory.join(name);
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

/// Bytes kept of one text.
const TEXT_BYTES_MAX: usize = 64 << 20;
/// Bytes kept by one session.
const TOTAL_BYTES_MAX: u64 = 1 << 30;
