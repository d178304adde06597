//! Cards kept for the next time. A cache: it may be deleted at any time, is never trusted over the
//! journals, and what cannot be read of it is read off the journals again.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::SessionSummary;

/// Cards by folder and id.
#[derive(Debug, Default)]
pub(super) struct SessionIndex {
    sessions: BTreeMap<(String, String), IndexedSession>,
}

#[derive(Debug, Serialize, Deserialize)]
struct IndexedSession {
    folder: String,
    stamp: JournalFileStamp,
    card: SessionSummary,
}

/// What a file looked like when its card was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct JournalFileStamp(u64, i64, i64, u64);

impl JournalFileStamp {
    pub(super) fn from_metadata(found: &Metadata) -> Self {
        Self(found.len(), found.mtime(), found.mtime_nsec(), found.ino())
    }
}

impl JournalFileStamp {
    /// Together with another file of the same journal.
    pub(super) fn with_later_file(self, last: &Metadata) -> Self {
        Self(self.0 + last.len(), last.mtime(), last.mtime_nsec(), last.ino())
    }
}

impl SessionIndex {
    /// Reads what is there; anything else counts as nothing.
    pub(super) fn load(path: &Path) -> Self {
        // Looked at first: what is no file could be waited for without end.
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
                .map(|indexed| ((indexed.folder.clone(), indexed.card.id.clone()), indexed))
                .collect(),
        }
    }

    /// The card of a file that still looks like this.
    pub(super) fn take_unchanged(
        &mut self,
        folder: &str,
        id: &str,
        stamp: JournalFileStamp,
    ) -> Option<SessionSummary> {
        let indexed = self.sessions.remove(&(folder.to_owned(), id.to_owned()))?;
        (indexed.stamp == stamp).then_some(indexed.card)
    }

    /// Forgets what no file of these folders asked for. Was there something?
    pub(super) fn drop_folders(&mut self, folders: &[String]) -> bool {
        let before = self.sessions.len();
        self.sessions.retain(|(folder, _), _| !folders.contains(folder));
        self.sessions.len() != before
    }

    /// What is left.
    pub(super) fn iter_remaining(
        &self,
    ) -> impl Iterator<Item = (&str, JournalFileStamp, &SessionSummary)> {
        self.sessions
            .values()
            .map(|indexed| (indexed.folder.as_str(), indexed.stamp, &indexed.card))
    }

    /// Writes cards for the next time. Best effort: without it the next list is only slower.
    pub(super) fn save<'a>(
        path: &Path,
        cards: impl Iterator<Item = (&'a str, JournalFileStamp, &'a SessionSummary)>,
    ) {
        #[derive(Serialize)]
        struct IndexLine<'a> {
            folder: &'a str,
            stamp: JournalFileStamp,
            card: &'a SessionSummary,
        }
        let mut text = Vec::from(INDEX_VERSION);
        for (folder, stamp, card) in cards {
            text.push(b'\n');
            let Ok(line) = serde_json::to_vec(&IndexLine { folder, stamp, card }) else { return };
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

/// The first line; another one means another program wrote it.
const INDEX_VERSION: &str = "windlass sessions 2";
