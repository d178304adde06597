//! Finds and reads the user's configuration.
//!
//! It may name programs to run and addresses that get keys, so a file that others can write is
//! refused.

use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use windlass_host::command_error::CommandError;
use windlass_host::environment::EnvLookup;
use windlass_host::regular_file::{RegularFileError, open_regular, report_if_special};
use windlass_host::user_directories;

/// `$XDG_CONFIG_HOME/windlass/config.toml`, or the same below `~/.config`. A relative value counts
/// as unset.
pub(super) fn config_path(lookup: &impl EnvLookup) -> Option<PathBuf> {
    Some(user_directories::config_directory(lookup)?.join("config.toml"))
}

pub(super) fn read_config_text(path: &Path) -> Result<Option<String>, CommandError> {
    let refuse = |problem: String, remedy: &str| {
        CommandError::usage(format!("{} cannot be used: {problem}; {remedy}", path.display()))
    };
    let unreadable = |error: std::io::Error| refuse(error.to_string(), "fix or remove it");
    let file = match open_regular(path) {
        Ok(file) => file,
        Err(error) if error.is_missing() => return Ok(None),
        Err(RegularFileError::Io(error)) => return Err(unreadable(error)),
        Err(_) if path.is_dir() => {
            return Err(refuse("it is not a file".to_owned(), "put a file there, or remove it"));
        }
        Err(error) => {
            report_if_special(path, &error);
            return Ok(None);
        }
    };
    let metadata = file.metadata().map_err(unreadable)?;
    if metadata.mode() & 0o002 != 0 {
        let problem = "every user of this machine can write to it".to_owned();
        return Err(refuse(problem, "remove that permission: chmod o-w"));
    }
    let mut bytes = Vec::new();
    file.take(BYTES_MAX + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > BYTES_MAX) {
        return Err(refuse("it is over 1 MiB".to_owned(), "make it shorter"));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        refuse(format!("byte {at} is not UTF-8"), "save it as UTF-8")
    })?;
    Ok(Some(text))
}

const BYTES_MAX: u64 = 1024 * 1024;
