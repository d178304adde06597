//! Reads other people's pages: only regular files, and never more than a limit.

use std::path::Path;

use windlass_host::regular_file::{self, RegularFileError};

/// The text of a regular file that is at most so long.
pub(crate) fn read_bounded(path: &Path, bytes_max: u64) -> Result<String, RegularFileError> {
    regular_file::read_regular_text(path, bytes_max)
}

/// The Markdown page of an agent or a command.
pub(crate) fn read_page(path: &Path) -> Result<String, String> {
    read_bounded(path, 256 * 1024).map_err(|error| match error {
        RegularFileError::Io(error) => error.to_string(),
        RegularFileError::NotRegular(_) | RegularFileError::TooLong(_) => {
            "it is not a file, or over 256 KiB".to_owned()
        }
    })
}
