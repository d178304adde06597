//! Reads a file up to a limit. Never blocks on a pipe or device.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::fs::OFlags;

pub(crate) const SETTINGS_BYTES_MAX: u64 = 2 * 1024 * 1024;

/// Can every user of this machine write to it?
pub(crate) fn is_world_writable(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o002 != 0)
}

/// Opens a file without blocking on a pipe.
pub(crate) fn open_without_waiting(path: &Path) -> std::io::Result<File> {
    let wait_for_nobody = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    OpenOptions::new().read(true).custom_flags(wait_for_nobody).open(path)
}

/// The text; `None` if the file does not exist; an error if it cannot be read.
pub(crate) fn read_bounded(path: &Path) -> Result<Option<String>, String> {
    let file = match open_without_waiting(path) {
        Ok(file) => file,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return match path.symlink_metadata() {
                Ok(metadata) if metadata.is_symlink() => Err("it is a link to nothing".to_owned()),
                _ => Ok(None),
            };
        }
        Err(error) => return Err(format!("it cannot be read: {error}")),
    };
    let unreadable = |error: std::io::Error| format!("it cannot be read: {error}");
    if !file.metadata().map_err(unreadable)?.is_file() {
        return Err("it is not a file".to_owned());
    }
    let mut bytes = Vec::new();
    file.take(SETTINGS_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > SETTINGS_BYTES_MAX) {
        return Err("it is over 2 MiB".to_owned());
    }
    let text = String::from_utf8(bytes)
        .map_err(|error| format!("byte {} is not UTF-8", error.utf8_error().valid_up_to()))?;
    Ok(Some(match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_owned(),
        None => text,
    }))
}
