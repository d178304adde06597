//! The folder of one session in a file store.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::store::{JournalFile, StoreError};

#[derive(Debug)]
pub(super) struct FileSessionFolder {
    root: PathBuf,
}

impl FileSessionFolder {
    pub(super) fn new(root: PathBuf) -> Self {
        Self { root }
    }

    pub(super) fn create(&self) -> Result<(), StoreError> {
        for folder in [self.journals(), self.blobs()] {
            std::fs::create_dir_all(&folder).map_err(|error| failed(&folder, &error))?;
        }
        Ok(())
    }

    fn journals(&self) -> PathBuf {
        self.root.join("journal")
    }

    fn blobs(&self) -> PathBuf {
        self.root.join("blobs")
    }

    pub(super) fn file_length(&self, file: &str) -> Result<u64, StoreError> {
        let path = self.journals().join(file);
        match path.metadata() {
            Ok(found) => Ok(found.len()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(0),
            Err(error) => Err(failed(&path, &error)),
        }
    }

    /// Appends durably, or not at all.
    pub(super) fn append(&self, file: &str, bytes: &[u8]) -> Result<(), StoreError> {
        append_durably(&self.journals().join(file), bytes)
    }

    pub(super) fn cut(&self, file: &str, length: u64) -> Result<(), StoreError> {
        let path = self.journals().join(file);
        let cut = File::options().write(true).open(&path).and_then(|file| {
            file.set_len(length)?;
            file.sync_data()
        });
        cut.map_err(|error| failed(&path, &error))
    }

    pub(super) fn read_journals(&self) -> Result<Vec<JournalFile>, StoreError> {
        let mut files = Vec::new();
        let root = self.journals();
        let mut folders = vec![root.clone()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
                let path = entry.path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let bytes = std::fs::read(&path).map_err(|error| failed(&path, &error))?;
                let name = path.strip_prefix(&root).unwrap_or(&path).to_string_lossy().into_owned();
                files.push(JournalFile { name, bytes });
            }
        }
        files.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(files)
    }

    pub(super) fn put_blob(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        replace_durably(&self.blobs().join(name), bytes)
    }

    pub(super) fn read_blob(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let path = self.blobs().join(name);
        match std::fs::read(&path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed(&path, &error)),
        }
    }

    pub(super) fn has_blob(&self, name: &str) -> bool {
        self.blobs().join(name).exists()
    }

    /// Blobs whose name begins like this, without that beginning, sorted by name.
    pub(super) fn read_blobs(&self, prefix: &str) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir(self.blobs()).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let Some(rest) = name.strip_prefix(prefix).filter(|rest| !rest.ends_with(TEMPORARY))
            else {
                continue;
            };
            let path = entry.path();
            let bytes = std::fs::read(&path).map_err(|error| failed(&path, &error))?;
            found.push((rest.to_owned(), bytes));
        }
        found.sort();
        Ok(found)
    }

    pub(super) fn write_row(&self, bytes: &[u8]) -> Result<(), StoreError> {
        replace_durably(&self.root.join("session.json"), bytes)
    }

    pub(super) fn read_row(&self) -> std::io::Result<Vec<u8>> {
        std::fs::read(self.root.join("session.json"))
    }

    pub(super) fn append_event(&self, line: &[u8]) -> Result<(), StoreError> {
        append_durably(&self.root.join("events.jsonl"), line)
    }

    pub(super) fn read_event_lines(&self) -> Vec<u8> {
        std::fs::read(self.root.join("events.jsonl")).unwrap_or_default()
    }

    /// A part of the events: lines of these lengths, from this position.
    pub(super) fn read_event_part(&self, start: u64, length: u64) -> Result<Vec<u8>, StoreError> {
        let path = self.root.join("events.jsonl");
        let mut bytes = Vec::new();
        let read = File::open(&path).and_then(|mut file| {
            file.seek(SeekFrom::Start(start))?;
            file.take(length).read_to_end(&mut bytes)
        });
        read.map(|_| bytes).map_err(|error| failed(&path, &error))
    }
}

fn append_durably(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let append = || {
        std::fs::create_dir_all(path.parent().unwrap_or(path))?;
        let mut file = File::options().create(true).append(true).open(path)?;
        let before = file.metadata()?.len();
        let written = file.write_all(bytes).and_then(|()| file.sync_data());
        if written.is_err() {
            // A part of a line would make the rest unreadable.
            file.set_len(before)?;
        }
        written
    };
    append().map_err(|error| failed(path, &error))
}

fn replace_durably(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(TEMPORARY);
    let temporary = path.with_file_name(name);
    let replace = || {
        std::fs::create_dir_all(path.parent().unwrap_or(path))?;
        let mut file = File::create(&temporary)?;
        file.write_all(bytes)?;
        file.sync_data()?;
        std::fs::rename(&temporary, path)
    };
    replace().map_err(|error| failed(path, &error))
}

fn failed(path: &Path, error: &std::io::Error) -> StoreError {
    StoreError::Database(sqlx::Error::Io(std::io::Error::new(
        error.kind(),
        format!("{}: {error}", path.display()),
    )))
}

const TEMPORARY: &str = ".new";
