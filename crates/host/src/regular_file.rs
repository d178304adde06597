//! Reads files that others may have created: without blocking, only regular files, and up to a
//! limit.
//!
//! Opening a named pipe, a socket or a device that is read at startup could block forever, and
//! reading it might never end.

use core::fmt;
use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;

use crate::standard_streams::write_error_line;
use crate::words;

#[derive(Debug)]
pub enum RegularFileError {
    Io(io::Error),
    /// It is not a regular file; the text says what it is.
    NotRegular(&'static str),
    /// It is longer than this limit.
    TooLong(u64),
}

impl fmt::Display for RegularFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::NotRegular(what) => f.write_str(&words::describe_irregular_file(what)),
            Self::TooLong(most) => f.write_str(&words::describe_long_file(*most)),
        }
    }
}

impl From<io::Error> for RegularFileError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl RegularFileError {
    /// Does it not exist?
    pub fn is_missing(&self) -> bool {
        use io::ErrorKind::{NotADirectory, NotFound};
        matches!(self, Self::Io(error) if matches!(error.kind(), NotFound | NotADirectory))
    }
}

/// Opens a regular file for reading. Never blocks on other kinds.
pub fn open_regular(path: &Path) -> Result<File, RegularFileError> {
    let file = match open_without_waiting(path) {
        // A socket cannot be opened at all, so check the metadata.
        Err(error) => match path.metadata() {
            Ok(found) if !found.is_file() && !found.is_dir() => {
                return Err(RegularFileError::NotRegular(describe_kind(&found)));
            }
            Ok(_) | Err(_) => return Err(error.into()),
        },
        Ok(file) => file,
    };
    let metadata = file.metadata()?;
    match metadata.is_file() {
        true => Ok(file),
        false => Err(RegularFileError::NotRegular(describe_kind(&metadata))),
    }
}

/// Reads a regular file up to this size.
pub(crate) fn read_regular(path: &Path, bytes_max: u64) -> Result<Vec<u8>, RegularFileError> {
    read_at_most(open_regular(path)?, bytes_max)
}

/// Reads a regular text file up to this size.
pub fn read_regular_text(path: &Path, bytes_max: u64) -> Result<String, RegularFileError> {
    into_text(read_regular(path, bytes_max)?)
}

/// Reads an optional text file. If it is not a regular file it is skipped, with one message on
/// standard error.
pub fn read_or_skip(path: &Path, bytes_max: u64) -> Option<String> {
    match read_regular_text(path, bytes_max) {
        Ok(text) => Some(text),
        Err(error) => {
            report_if_special(path, &error);
            None
        }
    }
}

/// Reports once that a file is skipped because it is not a regular one.
pub fn report_if_special(path: &Path, error: &RegularFileError) {
    static REPORTED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    if !matches!(error, RegularFileError::NotRegular(_)) {
        return;
    }
    let is_new = REPORTED.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned());
    if is_new {
        write_error_line(&words::describe_skipped_file(path, error));
    }
}

/// Reads a text file that the user named on the command line. It may be a pipe of the shell
/// (`<(command)`), which is read as long as data arrives.
pub fn read_given_text(path: &Path, bytes_max: u64) -> Result<String, RegularFileError> {
    let file = open_without_waiting(path)?;
    let metadata = file.metadata()?;
    if metadata.is_file() {
        return into_text(read_at_most(file, bytes_max)?);
    }
    if !metadata.file_type().is_fifo() {
        return Err(RegularFileError::NotRegular(describe_kind(&metadata)));
    }
    let pipe = PatientPipe { file, silence_max: PIPE_SILENCE_MAX };
    into_text(read_at_most(pipe, bytes_max)?)
}

/// A pipe with a read timeout.
struct PatientPipe {
    file: File,
    silence_max: Duration,
}

impl Read for PatientPipe {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let limit = Timespec::try_from(self.silence_max).map_err(io::Error::other)?;
            let ready = poll(&mut [PollFd::new(&self.file, PollFlags::IN)], Some(&limit))?;
            if ready == 0 {
                return Err(io::Error::new(io::ErrorKind::TimedOut, words::SILENT_PIPE));
            }
            match self.file.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => return read,
            }
        }
    }
}

fn open_without_waiting(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let flags = i32::try_from(flags.bits()).unwrap_or_default();
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

fn read_at_most(from: impl Read, bytes_max: u64) -> Result<Vec<u8>, RegularFileError> {
    let mut bytes = Vec::new();
    from.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes)?;
    match u64::try_from(bytes.len()).is_ok_and(|length| length <= bytes_max) {
        true => Ok(bytes),
        false => Err(RegularFileError::TooLong(bytes_max)),
    }
}

fn into_text(bytes: Vec<u8>) -> Result<String, RegularFileError> {
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        RegularFileError::Io(io::Error::new(
            io::ErrorKind::InvalidData,
            words::describe_broken_text(at),
        ))
    })
}

fn describe_kind(metadata: &std::fs::Metadata) -> &'static str {
    let kind = metadata.file_type();
    if kind.is_fifo() {
        words::NAMED_PIPE
    } else if kind.is_socket() {
        words::SOCKET
    } else if kind.is_dir() {
        words::FOLDER
    } else {
        words::DEVICE
    }
}

/// How long a pipe on the command line may be silent.
const PIPE_SILENCE_MAX: Duration = Duration::from_secs(30);
