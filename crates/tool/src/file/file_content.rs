//! Reads the complete content of a file that is about to be changed.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::Path;

use super::editor_files::open_current_text;
use super::file_context::FileContext;
use super::open::OpenedFile;

/// Our tools do not change larger files.
const CHANGEABLE_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Clients get the old content of a changed file up to this size.
pub(crate) const ORIGINAL_BYTES_MAX: usize = 256 * 1024;

#[derive(Debug)]
pub(crate) struct FileContent {
    pub(crate) bytes: Vec<u8>,
    pub(crate) metadata: Metadata,
}

/// The content of a file whose current state was read in this session, or why it must not be
/// changed.
pub(crate) fn read_for_change(files: &FileContext, path: &Path) -> Result<FileContent, String> {
    let OpenedFile { file, metadata } = open_current_text(files, path)?;
    let shown = path.display();
    let Some(known) = files.known_file(path) else {
        return Err(format!("`{shown}` has not been read yet. Read it first, then change it."));
    };
    let too_large = || {
        format!(
            "`{shown}` has {} bytes; files over {CHANGEABLE_BYTES_MAX} bytes are not changed here. Use a \
             command that streams it.",
            metadata.len()
        )
    };
    if metadata.len() > CHANGEABLE_BYTES_MAX {
        return Err(too_large());
    }
    let bytes = read_bounded(&file, CHANGEABLE_BYTES_MAX)
        .map_err(|error| format!("`{shown}` could not be read: {error}."))?;
    if !known.state.matches_content(&metadata, &bytes) {
        return Err(format!(
            "`{shown}` has changed since it was read. Read it again before you change it."
        ));
    }
    Ok(FileContent { bytes, metadata })
}

/// Reads the file, unless it has grown over the limit since it was measured.
pub(crate) fn read_bounded(file: &File, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    file.take(bytes_max.saturating_add(1)).read_to_end(&mut content)?;
    if content.len() as u64 > bytes_max {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it grew while it was read"));
    }
    Ok(content)
}
