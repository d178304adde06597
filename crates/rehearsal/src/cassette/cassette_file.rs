//! Cassettes on disk: read as a whole, written one exchange at a time, each atomically.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use super::exchange::RecordedExchange;
use super::format;

/// Recorded exchanges, in the order of the requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cassette {
    exchanges: Vec<RecordedExchange>,
}

/// Why a cassette cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CassetteError {
    /// The file system failed.
    #[error("cannot read the cassette {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    /// There is no exchange in it.
    #[error("{} holds no recording; a cassette is a file, or a folder of files, named *.jsonl", path.display())]
    Empty { path: PathBuf },
    /// A line is invalid.
    #[error("{}, line {line}: {problem}; record it again", path.display())]
    Line {
        path: PathBuf,
        /// The line number, counted from 1.
        line: usize,
        problem: String,
    },
    /// It is larger than the limit.
    #[error("{} is too large: at most {FILES_MAX} files and {BYTES_MAX} bytes are read", path.display())]
    TooLarge { path: PathBuf },
}

impl Cassette {
    /// Reads a file, or all files of a folder that are named `*.jsonl`, in the order of their names.
    ///
    /// # Errors
    ///
    /// It cannot be read, is empty, or contains an invalid line.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, CassetteError> {
        let path = path.as_ref();
        let failed = |source| CassetteError::Read { path: path.to_owned(), source };
        let files = if fs::metadata(path).map_err(failed)?.is_dir() {
            list_recordings(path).map_err(failed)?
        } else {
            vec![path.to_owned()]
        };
        if files.len() > FILES_MAX {
            return Err(CassetteError::TooLarge { path: path.to_owned() });
        }
        let mut left = BYTES_MAX;
        let mut exchanges = Vec::new();
        for file in files {
            let text = read_recording(&file, &mut left)?;
            let wrong = |(line, problem)| CassetteError::Line { path: file.clone(), line, problem };
            exchanges.extend(format::parse_exchanges(&text).map_err(wrong)?);
        }
        if exchanges.is_empty() {
            return Err(CassetteError::Empty { path: path.to_owned() });
        }
        Ok(Self { exchanges })
    }

    #[must_use]
    pub fn new(exchanges: Vec<RecordedExchange>) -> Self {
        Self { exchanges }
    }

    /// The exchanges, in the order of the requests.
    #[must_use]
    pub fn exchanges(&self) -> &[RecordedExchange] {
        &self.exchanges
    }

    pub(crate) fn into_exchanges(self) -> Vec<RecordedExchange> {
        self.exchanges
    }
}

/// Concatenates cassettes.
impl FromIterator<Self> for Cassette {
    fn from_iter<T: IntoIterator<Item = Self>>(cassettes: T) -> Self {
        let exchanges = cassettes.into_iter().flat_map(|cassette| cassette.exchanges);
        Self { exchanges: exchanges.collect() }
    }
}

/// The recordings in a folder, in the order of their names.
pub(crate) fn list_recordings(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Writes one exchange under its number: first to a temporary file, then renamed, so that no reader
/// sees half of it. An existing file is left alone.
pub(crate) fn write_recording(folder: &Path, number: usize, text: &str) -> io::Result<()> {
    let path = folder.join(format!("{number:04}.jsonl"));
    let beside = folder.join(format!(".{number:04}.part"));
    // Recordings may be private, so other users must not read them.
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside)?;
    let written = file
        .write_all(text.as_bytes())
        .and_then(|()| file.sync_all())
        .and_then(
            |()| if path.exists() { Err(io::ErrorKind::AlreadyExists.into()) } else { Ok(()) },
        )
        .and_then(|()| fs::rename(&beside, &path));
    if written.is_err() {
        // Report the first error; a temporary file left behind is never read.
        let _ = fs::remove_file(&beside);
    }
    written
}

fn read_recording(path: &Path, left: &mut u64) -> Result<String, CassetteError> {
    let failed = |source| CassetteError::Read { path: path.to_owned(), source };
    // Reading a pipe or a device might never end.
    if !fs::metadata(path).map_err(failed)?.is_file() {
        return Err(failed(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file")));
    }
    let file = File::open(path).map_err(failed)?;
    let mut bytes = Vec::new();
    let read = file.take(left.saturating_add(1)).read_to_end(&mut bytes).map_err(failed)?;
    *left = left
        .checked_sub(u64::try_from(read).unwrap_or(u64::MAX))
        .ok_or_else(|| CassetteError::TooLarge { path: path.to_owned() })?;
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.as_bytes().get(..error.utf8_error().valid_up_to()).unwrap_or_default();
        let line = 1 + valid.iter().filter(|byte| **byte == b'\n').count();
        let problem = "this is not UTF-8".to_owned();
        CassetteError::Line { path: path.to_owned(), line, problem }
    })
}

/// Limits on the files of one cassette, and the exchanges of one recording.
pub(crate) const FILES_MAX: usize = 9_999;
/// Limit on the size of one cassette, and of one recording.
pub(crate) const BYTES_MAX: u64 = 1024 * 1024 * 1024;
