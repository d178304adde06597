//! Caches session summaries. The cache may be deleted at any time and is never trusted over the
//! journals; whatever cannot be read from it is read from the journals again.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::SessionSummary;

/// Summaries by folder and id.
#[derive(Debug, Default)]
pub(super) struct SessionIndex {
    sessions: BTreeMap<(String, String), IndexedSession>,
}

#[derive(Debug, Serialize, Deserialize)]
struct IndexedSession {
    folder: String,
    stamp: JournalFileStamp,
    #[serde(rename = "card")]
    summary: SessionSummary,
}

/// The line of one session in the cache.
#[derive(Debug, Serialize)]
pub(super) struct IndexLine<'a> {
    pub(super) folder: &'a str,
    pub(super) stamp: JournalFileStamp,
    #[serde(rename = "card")]
    pub(super) summary: &'a SessionSummary,
}

/// The file's metadata when its summary was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct JournalFileStamp(u64, i64, i64, u64);

impl JournalFileStamp {
    pub(super) fn from_metadata(found: &Metadata) -> Self {
        Self(found.len(), found.mtime(), found.mtime_nsec(), found.ino())
    }

    /// Combined with another file of the same journal.
    pub(super) fn with_later_file(self, last: &Metadata) -> Self {
        Self(self.0 + last.len(), last.mtime(), last.mtime_nsec(), last.ino())
    }
}

impl SessionIndex {
    /// Loads the cache; an invalid one counts as empty.
    pub(super) fn load(path: &Path) -> Self {
        // Checked first, because opening a pipe could block forever.
        let is_file = path.is_file();
        let text =
            is_file.then(|| std::fs::read_to_string(path).ok()).flatten().unwrap_or_default();
        let mut lines = text.lines();
        if lines.next() != Some(INDEX_VERSION) {
            return Self::default();
        }
        let indexed = lines.filter_map(|line| serde_json::from_str::<IndexedSession>(line).ok());
        Self {
            sessions: indexed
                .map(|indexed| ((indexed.folder.clone(), indexed.summary.id.clone()), indexed))
                .collect(),
        }
    }

    /// The summary of a file that has not changed.
    pub(super) fn take_unchanged(
        &mut self,
        folder: &str,
        id: &str,
        stamp: JournalFileStamp,
    ) -> Option<SessionSummary> {
        let indexed = self.sessions.remove(&(folder.to_owned(), id.to_owned()))?;
        (indexed.stamp == stamp).then_some(indexed.summary)
    }

    /// Removes remaining entries of these folders. Returns whether there were any.
    pub(super) fn drop_folders(&mut self, folders: &[String]) -> bool {
        let before = self.sessions.len();
        self.sessions.retain(|(folder, _), _| !folders.contains(folder));
        self.sessions.len() != before
    }

    /// The entries not taken.
    pub(super) fn iter_remaining(&self) -> impl Iterator<Item = IndexLine<'_>> {
        self.sessions.values().map(|indexed| IndexLine {
            folder: &indexed.folder,
            stamp: indexed.stamp,
            summary: &indexed.summary,
        })
    }

    /// Writes the summaries. Best effort: without them the next list is only slower.
    pub(super) fn save<'a>(path: &Path, lines: impl Iterator<Item = IndexLine<'a>>) {
        let mut text = Vec::from(INDEX_VERSION);
        for line in lines {
            text.push(b'\n');
            let Ok(line) = serde_json::to_vec(&line) else { return };
            text.extend(line);
        }
        let temporary = path.with_extension(format!("{}.new", std::process::id()));
        let mut options = std::fs::OpenOptions::new();
        let file = options.write(true).create(true).truncate(true).mode(0o600).open(&temporary);
        let written = file.and_then(|mut file| file.write_all(&text));
        if written.and_then(|()| std::fs::rename(&temporary, path)).is_err() {
            let _ = std::fs::remove_file(&temporary);
        }
    }
}

/// The first line; anything else means that another program wrote the file.
const INDEX_VERSION: &str = "windlass sessions 2";
