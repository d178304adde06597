//! Images that the user pastes or drags in become files of the session's own, which it may read.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use super::TuiEventLoop;
use super::task_outcome::TuiTaskOutcome;
use crate::words;

impl TuiEventLoop {
    /// Imports a dragged image without asking: the user named it, so the session may see it.
    pub(super) fn import_dragged_image(&self, path: String) {
        let outcome_sender = self.outcome_sender.clone();
        let directory = self.scratch_directory.clone();
        self.session_runtime.spawn_blocking(move || {
            let name = path.rsplit('/').next().unwrap_or("image").to_owned();
            let image =
                read_image_file(Path::new(&path)).map_err(|error| format!("{path}: {error}"));
            // Fails only if the TUI was closed meanwhile.
            let _ = outcome_sender.blocking_send(TuiTaskOutcome::ImageImported(
                image.and_then(|bytes| store_image(&directory, &name, &bytes)),
            ));
        });
    }
}

fn read_image_file(path: &Path) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() || metadata.len() > IMAGE_MAX {
        return Err(io::Error::other(words::NOT_AN_IMAGE_FILE));
    }
    let mut bytes = Vec::new();
    file.take(IMAGE_MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Writes a new file that only this user can read.
pub(super) fn store_image(directory: &Path, name: &str, bytes: &[u8]) -> Result<PathBuf, String> {
    static NEXT_IMAGE: AtomicU32 = AtomicU32::new(1);
    let number = NEXT_IMAGE.fetch_add(1, Ordering::Relaxed);
    let path = directory.join(format!("image-{}-{number}-{name}", std::process::id()));
    let created = DirBuilder::new().recursive(true).mode(0o700).create(directory);
    let open = || OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
    let written = created.and_then(|()| open()).and_then(|mut file| file.write_all(bytes));
    match written {
        Ok(()) => Ok(path),
        Err(error) => Err(words::describe_unstored_image(&path, &error)),
    }
}

/// In bytes.
pub(super) const IMAGE_MAX: u64 = 20 * 1024 * 1024;
