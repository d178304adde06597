//! Whether enough files may be open. Where the system gives no descriptor, libraries below us end the
//! process with words that help nobody, so it is looked at before they begin.

use std::fs::File;

use crate::command_error::CommandError;
use crate::words;

/// Refuses to begin where hardly any file may be opened.
pub fn check_free_descriptors() -> Result<(), CommandError> {
    let opened: Result<Vec<File>, std::io::Error> =
        (0..DESCRIPTORS_MIN).map(|_| File::open("/dev/null")).collect();
    match opened {
        Err(error) if error.raw_os_error() == Some(EMFILE) => {
            Err(CommandError::failure(words::describe_few_descriptors(&DESCRIPTORS_MIN, &error)))
        }
        // A system without that device has other worries.
        Ok(_) | Err(_) => Ok(()),
    }
}

/// What a run with one command and one connection needs.
const DESCRIPTORS_MIN: usize = 24;
/// The number is the same on every system we run on.
const EMFILE: i32 = 24;
