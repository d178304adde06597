//! Reads untrusted files: only regular ones, and up to a limit.

use std::path::Path;

use windlass_host::regular_file::{self, RegularFileError};

/// Reads a regular text file up to this size.
pub(crate) fn read_bounded(path: &Path, bytes_max: u64) -> Result<String, RegularFileError> {
    regular_file::read_regular_text(path, bytes_max)
}

/// Reads the Markdown file of an agent or command.
pub(crate) fn read_page(path: &Path) -> Result<String, String> {
    read_bounded(path, 256 * 1024).map_err(|error| match error {
        RegularFileError::Io(error) => error.to_string(),
        RegularFileError::NotRegular(_) | RegularFileError::TooLong(_) => {
            "it is not a file, or over 256 KiB".to_owned()
        }
    })
}
