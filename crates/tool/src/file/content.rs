//! The whole content of a file that is about to be changed.

use std::fs::Metadata;
use std::io::Read;
use std::path::Path;

use super::open::{Opened, open};
use crate::surroundings::Surroundings;

/// Larger files are not changed by these tools.
const BYTES_MAX: u64 = 64 * 1024 * 1024;

/// A file as it is now.
#[derive(Debug)]
pub(crate) struct Content {
    pub(crate) bytes: Vec<u8>,
    pub(crate) metadata: Metadata,
}

/// The content of a file whose present state was read in this session, or why it must not be
/// changed.
pub(crate) fn known_content(surroundings: &Surroundings, path: &Path) -> Result<Content, String> {
    let Opened { file, metadata } = open(surroundings, path)?;
    let shown = path.display();
    let Some(known) = surroundings.remembered(path) else {
        return Err(format!("`{shown}` has not been read yet. Read it first, then change it."));
    };
    let too_large = || {
        format!(
            "`{shown}` has {} bytes; files over {BYTES_MAX} bytes are not changed here. Use a \
             command that streams it.",
            metadata.len()
        )
    };
    if metadata.len() > BYTES_MAX {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    file.take(BYTES_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| format!("`{shown}` could not be read: {error}."))?;
    if bytes.len() as u64 > BYTES_MAX {
        return Err(too_large());
    }
    if !known.is_still(&metadata, &bytes) {
        return Err(format!(
            "`{shown}` has changed since it was read. Read it again before you change it."
        ));
    }
    Ok(Content { bytes, metadata })
}
