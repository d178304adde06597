//! The sessions of a machine by project: lists, finds, renames and deletes them.
//!
//! `<root>/<project key>/<session>.jsonl` is a journal; beside it may be `<session>.title` (a name
//! set by the user), `<session>.spill/`, `<session>.kept/` and `<session>.agents/`. Needs no
//! settings and replays nothing. Only renaming and deleting change files, and only deleting touches
//! journals.

mod export;
mod fork;
mod pack;
mod place_search;
mod search;
mod session_index;
mod session_summary;
mod trash;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{DirEntry, ReadDir};
use std::io;
use std::path::{Path, PathBuf};

use crate::disk::{RealDisk, replace_file};
use crate::error::JournalError;
use crate::journal_lock::lock_existing;
use crate::project_key::project_key;
use crate::segment;

pub use export::{JournalExportFormat, export_session};
pub use fork::fork_journal;
pub use pack::{
    PackError, PackManifest, PackSource, PackedFile, WORKSPACE_NAME, adopt_unpacked,
    read_pack_manifest, unpack_files, write_pack,
};
pub use place_search::{FoundPlace, FoundPlaces, PlaceQuery, search_places};
pub use search::{SessionSearchHit, search_transcripts};
pub(crate) use search::{build_excerpt, find_in_records};
pub use session_summary::{LastRun, SessionSummary, is_being_written, read_last_run};
pub use trash::{SessionTrash, TrashedSession};

/// The sessions below one directory.
#[derive(Clone, Debug)]
pub struct SessionCatalogue {
    root: PathBuf,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedSession {
    /// The first file of its journal.
    pub path: PathBuf,
    pub summary: SessionSummary,
}

impl SessionCatalogue {
    /// The sessions below this directory, which need not exist yet.
    #[must_use]
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The path of a session's journal. The project's path must be canonical.
    #[must_use]
    pub fn journal_path(&self, project: &Path, id: &str) -> PathBuf {
        self.root.join(project_key(project)).join(format!("{id}.{JOURNAL_EXTENSION}"))
    }

    /// All sessions, or those of one project, most recently written first.
    ///
    /// # Errors
    ///
    /// The directory cannot be read. A journal that cannot be read is left out.
    pub fn list(&self, project: Option<&Path>) -> Result<Vec<ListedSession>, JournalError> {
        let index_path = self.root.join("index");
        let mut index = session_index::SessionIndex::load(&index_path);
        let mut entries = Vec::new();
        let mut is_changed = false;
        let wanted = project.map(project_key);
        let folders = match &wanted {
            Some(folder) => vec![folder.clone()],
            None => self.list_folders()?,
        };
        for folder in &folders {
            for file in list_folder_sessions(&self.root.join(folder)) {
                let known = index.take_unchanged(folder, &file.id, file.stamp);
                is_changed |= known.is_none();
                if let Some(summary) = known.or_else(|| SessionSummary::read(&file.path).ok()) {
                    entries.push((folder, file, summary));
                }
            }
        }
        // Entries left in the scanned folders belong to deleted sessions; other folders were not
        // scanned.
        if index.drop_folders(&folders) || is_changed {
            let lines = entries.iter().map(|(folder, file, summary)| session_index::IndexLine {
                folder,
                stamp: file.stamp,
                summary,
            });
            session_index::SessionIndex::save(&index_path, lines.chain(index.iter_remaining()));
        }
        let mut listed: Vec<ListedSession> = entries
            .into_iter()
            .map(|(_, file, mut summary)| {
                summary.title = file.title.or(summary.title);
                ListedSession { path: file.path, summary }
            })
            .collect();
        listed.sort_by(|a, b| {
            (b.summary.updated, &a.summary.id).cmp(&(a.summary.updated, &b.summary.id))
        });
        Ok(listed)
    }

    /// The one session with this id, id prefix or name. Sessions of the project take precedence.
    pub fn find(
        &self,
        wanted: &str,
        project: Option<&Path>,
    ) -> Result<ListedSession, JournalError> {
        let all = self.list(None)?;
        let key = project.map(project_key);
        let is_here = |listed: &ListedSession| {
            let folder = listed.path.parent().and_then(Path::file_name);
            key.as_deref().is_some_and(|key| folder.is_some_and(|folder| folder == key))
        };
        let name = wanted.to_lowercase();
        let is_named = |summary: &SessionSummary| {
            summary.title.as_ref().is_some_and(|t| t.to_lowercase() == name)
        };
        let rules: [&dyn Fn(&ListedSession) -> bool; 6] = [
            &|listed| listed.summary.id == wanted,
            &|listed| is_here(listed) && is_named(&listed.summary),
            &|listed| is_named(&listed.summary),
            &|listed| is_here(listed) && listed.summary.id.starts_with(wanted),
            &|listed| listed.summary.id.starts_with(wanted),
            &|listed| {
                listed.summary.title.as_ref().is_some_and(|t| t.to_lowercase().contains(&name))
            },
        ];
        for rule in rules.iter().filter(|_| !wanted.is_empty()) {
            let matching: Vec<&ListedSession> = all.iter().filter(|listed| rule(listed)).collect();
            match matching.as_slice() {
                [] => {}
                [one] => return Ok((*one).clone()),
                more => {
                    return Err(JournalError::NotOne { wanted: wanted.into(), found: more.len() });
                }
            }
        }
        Err(JournalError::NotOne { wanted: wanted.into(), found: 0 })
    }

    /// Sets or removes a session's name. Works while the session is being written.
    pub fn rename(&self, journal: &Path, title: &str) -> Result<(), JournalError> {
        let path = journal.with_extension("title");
        let title = session_summary::shorten_to_line(title);
        match title.is_empty() {
            true => ignore_missing(std::fs::remove_file(&path)),
            false => replace_file(&RealDisk, &path, title.as_bytes()),
        }
        .map_err(JournalError::disk_error(&path, "written"))
    }

    /// Deletes a session and all files that belong to it.
    ///
    /// # Errors
    ///
    /// The session is being written, or the disk fails. The journal is deleted last, so that a
    /// session that is not completely deleted is still listed.
    pub fn delete(&self, journal: &Path) -> Result<(), JournalError> {
        let lock = lock_existing(journal, &RealDisk)?;
        for extension in ["spill", "kept", "agents", "blobs"] {
            let path = journal.with_extension(extension);
            ignore_missing(std::fs::remove_dir_all(&path))
                .map_err(JournalError::disk_error(&path, "deleted"))?;
        }
        let title = journal.with_extension("title");
        let later = segment::find_later_segments(&RealDisk, journal).into_iter().rev();
        let files = later.map(|(_, path)| path).chain([title, journal.to_owned()]);
        for path in files {
            ignore_missing(std::fs::remove_file(&path))
                .map_err(JournalError::disk_error(&path, "deleted"))?;
        }
        drop(lock);
        Ok(())
    }

    fn list_folders(&self) -> Result<Vec<String>, JournalError> {
        let folders = match std::fs::read_dir(&self.root) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            opened => opened.map_err(JournalError::disk_error(&self.root, "listed"))?,
        };
        let name = |entry: DirEntry| entry.file_name().into_string().ok();
        let is_folder = |entry: &DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
        Ok(folders.filter_map(Result::ok).filter(is_folder).filter_map(name).collect())
    }
}

/// A journal in the folder of a project.
struct CatalogueFile {
    id: String,
    path: PathBuf,
    stamp: session_index::JournalFileStamp,
    /// The name the user set.
    title: Option<String>,
}

fn list_folder_sessions(folder: &Path) -> Vec<CatalogueFile> {
    let names = |entries: ReadDir| entries.filter_map(Result::ok).map(|entry| entry.file_name());
    let names: Vec<String> = std::fs::read_dir(folder)
        .map(|entries| names(entries).filter_map(|name| name.into_string().ok()).collect())
        .unwrap_or_default();
    let titles: BTreeSet<&str> =
        names.iter().filter_map(|name| name.strip_suffix(".title")).collect();
    let later = find_last_segments(&names);
    let mut files = Vec::new();
    for name in &names {
        let Some((id, JOURNAL_EXTENSION)) = name.rsplit_once('.') else { continue };
        // A later file of a journal, which is listed by its first one.
        if id.contains('.') {
            continue;
        }
        let path = folder.join(name);
        let Ok(metadata) = path.metadata() else { continue };
        if metadata.is_file() && metadata.len() > 0 {
            let title = titles.contains(id).then(|| path.with_extension("title"));
            let title = title.filter(|path| path.is_file());
            let title = title.and_then(|path| std::fs::read_to_string(path).ok());
            let mut stamp = session_index::JournalFileStamp::from_metadata(&metadata);
            if let Some(last) = later.get(id).and_then(|last| folder.join(last).metadata().ok()) {
                // The first file of such a journal no longer grows.
                stamp = stamp.with_later_file(&last);
            }
            files.push(CatalogueFile { id: id.to_owned(), path, stamp, title });
        }
    }
    files
}

/// The last file of each journal that has several, by id.
fn find_last_segments(names: &[String]) -> BTreeMap<&str, &str> {
    let mut last: BTreeMap<&str, (u64, &str)> = BTreeMap::new();
    for name in names {
        let numbered = name.strip_suffix(".jsonl").and_then(|stem| stem.rsplit_once('.'));
        let Some((id, number)) = numbered else { continue };
        if let Ok(number) = number.parse::<u64>() {
            let latest = last.entry(id).or_default();
            *latest = (*latest).max((number, name.as_str()));
        }
    }
    last.into_iter().map(|(id, (_, name))| (id, name)).collect()
}

/// A file that does not exist need not be deleted.
fn ignore_missing(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// The extension of journals.
const JOURNAL_EXTENSION: &str = "jsonl";
