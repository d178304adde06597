//! The session's own directory below the system's temporary directory.

use std::fs::DirBuilder;
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::SessionStartError;

/// Creates a new directory that only this user can access. Names in the temporary directory can be
/// guessed, so an existing one belongs to another program and is never used.
pub(crate) fn create_scratch_directory() -> Result<PathBuf, SessionStartError> {
    static SCRATCH_DIRECTORY_COUNT: AtomicU64 = AtomicU64::new(0);
    let mut tries_left = 100_u8;
    loop {
        let number = SCRATCH_DIRECTORY_COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("windlass-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        match DirBuilder::new().mode(0o700).create(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == ErrorKind::AlreadyExists && tries_left > 0 => {
                tries_left -= 1;
            }
            Err(source) => return Err(SessionStartError::Directory { path, source }),
        }
    }
}
