//! Reads other people's files: only ordinary ones, and never more than a limit.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

pub(crate) enum BoundedReadError {
    Io(io::Error),
    NotAFile,
    TooLong,
}

impl From<io::Error> for BoundedReadError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

pub(crate) fn read_bounded(path: &Path, bytes_max: u64) -> Result<String, BoundedReadError> {
    // Looked at before it is opened: to open a named pipe would block.
    let metadata = path.metadata()?;
    if !metadata.is_file() {
        return Err(BoundedReadError::NotAFile);
    }
    if metadata.len() > bytes_max {
        return Err(BoundedReadError::TooLong);
    }
    let mut text = String::new();
    File::open(path)?.take(bytes_max).read_to_string(&mut text)?;
    Ok(text)
}

/// The Markdown page of an agent or a command.
pub(crate) fn read_page(path: &Path) -> Result<String, String> {
    read_bounded(path, 256 * 1024).map_err(|error| match error {
        BoundedReadError::Io(error) => error.to_string(),
        BoundedReadError::NotAFile | BoundedReadError::TooLong => {
            "it is not a file, or over 256 KiB".to_owned()
        }
    })
}
