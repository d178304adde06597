//! Sessions that were cleaned up and can still be restored.
//!
//! `<trash>/<session>/manifest.json` records where everything came from; the files are beside it
//! under their old names. The manifest is on disk before the first file moves, and the place of the
//! journal decides how an interrupted move continues: if the journal is in the trash, the rest
//! follows it; otherwise everything moves back. Every step is a rename, or a copy that ends in one,
//! so a process that dies in between loses nothing.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::disk::{RealDisk, replace_file};
use crate::error::JournalError;
use crate::journal_lock::lock_existing;

/// The trash of one state directory.
#[derive(Clone, Debug)]
pub struct SessionTrash {
    root: PathBuf,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrashedSession {
    pub id: String,
    /// Its folder in the trash.
    pub folder: PathBuf,
    /// The time since it was moved here, according to its manifest.
    pub age: Duration,
}

#[derive(Debug, Serialize, Deserialize)]
struct TrashManifest {
    session: String,
    /// The journal first, then the files beside it, then the transcript.
    items: Vec<TrashItem>,
}

#[derive(Debug, Serialize, Deserialize)]
struct TrashItem {
    /// Its original path.
    home: PathBuf,
    /// Its name in the trash folder.
    name: String,
}

impl SessionTrash {
    /// The trash beside a folder of sessions, on the same file system.
    #[must_use]
    pub fn for_sessions(sessions: &Path) -> Self {
        Self { root: sessions.with_file_name("trash") }
    }

    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Moves a session and all its files here, if no process writes it and `may_move` still returns
    /// true once it is locked. Returns whether it was moved.
    ///
    /// # Errors
    ///
    /// Another process has it open, or the disk fails.
    pub fn add(
        &self,
        journal: &Path,
        transcript: Option<&Path>,
        may_move: impl FnOnce() -> bool,
    ) -> Result<bool, JournalError> {
        let lock = lock_existing(journal, &RealDisk)?;
        if !may_move() {
            return Ok(false);
        }
        let moves = self.begin(journal, transcript)?;
        for step in &moves {
            move_entry(&step.from, &step.to)?;
        }
        // The lock keeps writers out until everything has moved.
        drop(lock);
        Ok(true)
    }

    /// Writes the manifest and returns the moves in order. The transcript comes first: a journal
    /// can rebuild a lost one, but a transcript without its journal would be taken for a session.
    fn begin(
        &self,
        journal: &Path,
        transcript: Option<&Path>,
    ) -> Result<Vec<TrashMove>, JournalError> {
        let session = file_name(journal).trim_end_matches(".jsonl").to_owned();
        let folder = self.root.join(&session);
        let failed = JournalError::disk_error(&folder, "made");
        create_private_folder(&folder).map_err(failed)?;
        let mut items = vec![TrashItem { home: journal.to_owned(), name: file_name(journal) }];
        for path in list_companions(journal) {
            items.push(TrashItem { name: file_name(&path), home: path });
        }
        let transcripts = transcript.into_iter().flat_map(|path| {
            [(path.to_owned(), "transcript.jsonl"), (path.with_extension(""), "transcript")]
        });
        for (home, name) in transcripts.filter(|(path, _)| path.symlink_metadata().is_ok()) {
            items.push(TrashItem { home, name: name.to_owned() });
        }
        let manifest = TrashManifest { session, items };
        let path = folder.join(MANIFEST);
        let bytes = serde_json::to_vec(&manifest)
            .map_err(|source| JournalError::Unwritable { path: path.clone(), source })?;
        replace_file(&RealDisk, &path, &bytes)
            .map_err(JournalError::disk_error(&path, "written"))?;
        Ok(manifest.list_moves(&folder))
    }

    /// Completes or undoes every interrupted move.
    pub fn settle(&self) {
        for folder in self.list_folders() {
            let Some(manifest) = TrashManifest::read(&folder) else { continue };
            let Some(journal) = manifest.items.first() else { continue };
            if folder.join(&journal.name).symlink_metadata().is_ok() {
                for step in manifest.list_moves(&folder) {
                    // What cannot be moved now stays where it is until the next time.
                    let _ = move_entry(&step.from, &step.to);
                }
            } else {
                let _ = put_back(&manifest, &folder);
            }
        }
    }

    /// Restores a session, and returns its journal.
    ///
    /// # Errors
    ///
    /// The session is not here, its old place is taken, or the disk fails; it then stays here.
    pub fn restore(&self, session: &str) -> Result<PathBuf, JournalError> {
        let not_one = || JournalError::NotOne { wanted: session.to_owned(), found: 0 };
        let folder = self.list_folders().into_iter().find(|folder| file_name(folder) == session);
        let folder = folder.ok_or_else(not_one)?;
        let manifest = TrashManifest::read(&folder).ok_or_else(not_one)?;
        let journal = manifest.items.first().map(|item| item.home.clone()).ok_or_else(not_one)?;
        let is_here = manifest
            .items
            .first()
            .is_some_and(|item| folder.join(&item.name).symlink_metadata().is_ok());
        if is_here && journal.symlink_metadata().is_ok() {
            return Err(JournalError::disk_error(&journal, "restored")(
                io::ErrorKind::AlreadyExists.into(),
            ));
        }
        put_back(&manifest, &folder)?;
        Ok(journal)
    }

    /// The sessions here, newest first.
    #[must_use]
    pub fn list(&self) -> Vec<TrashedSession> {
        let listed = self.list_folders().into_iter().filter_map(|folder| {
            let changed = folder.join(MANIFEST).metadata().ok()?.modified().ok()?;
            let age = SystemTime::now().duration_since(changed).unwrap_or_default();
            Some(TrashedSession { id: file_name(&folder), folder, age })
        });
        let mut listed: Vec<TrashedSession> = listed.collect();
        listed.sort_by_key(|trashed| trashed.age);
        listed
    }

    /// Deletes what has been here longer than this. Returns how many sessions.
    pub fn delete_older(&self, age: Duration) -> usize {
        let mut deleted = 0;
        for trashed in self.list().into_iter().filter(|trashed| trashed.age > age) {
            // Renamed first, so that a partly deleted session cannot be restored.
            let doomed = self.root.join(format!("{DELETING}{}", trashed.id));
            if fs::rename(&trashed.folder, &doomed).is_ok() {
                deleted += 1;
            }
        }
        for folder in read_folder(&self.root) {
            if file_name(&folder).starts_with(DELETING) {
                let _ = fs::remove_dir_all(folder);
            }
        }
        deleted
    }

    fn list_folders(&self) -> Vec<PathBuf> {
        let is_entry = |path: &PathBuf| !file_name(path).starts_with(DELETING) && path.is_dir();
        read_folder(&self.root).into_iter().filter(is_entry).collect()
    }
}

impl TrashManifest {
    fn read(folder: &Path) -> Option<Self> {
        let bytes = fs::read(folder.join(MANIFEST)).ok()?;
        let manifest: Self = serde_json::from_slice(&bytes).ok()?;
        // Others may have changed the manifest, so names that lead out of this folder are rejected.
        let is_plain = |item: &TrashItem| {
            Path::new(&item.name).file_name().is_some_and(|name| name == item.name.as_str())
        };
        manifest.items.iter().all(is_plain).then_some(manifest)
    }

    /// The moves to the trash; the journal comes after the transcript.
    fn list_moves(&self, folder: &Path) -> Vec<TrashMove> {
        let (transcripts, own): (Vec<&TrashItem>, Vec<&TrashItem>) =
            self.items.iter().partition(|item| item.name.starts_with("transcript"));
        let ordered = transcripts.into_iter().chain(own);
        ordered
            .map(|item| TrashMove { from: item.home.clone(), to: folder.join(&item.name) })
            .collect()
    }
}

struct TrashMove {
    from: PathBuf,
    to: PathBuf,
}

/// Moves everything back, the journal last: the session is not listed before. A file with a newer
/// copy in the old place stays.
fn put_back(manifest: &TrashManifest, folder: &Path) -> Result<(), JournalError> {
    for item in manifest.items.iter().rev() {
        let from = folder.join(&item.name);
        if item.home.symlink_metadata().is_err() {
            if let Some(parent) = item.home.parent() {
                create_private_folder(parent).map_err(JournalError::disk_error(parent, "made"))?;
            }
            move_entry(&from, &item.home)?;
        }
    }
    // Files left here have a newer copy: the session continued although its move was interrupted.
    fs::remove_dir_all(folder).map_err(JournalError::disk_error(folder, "deleted"))
}

/// Files and folders whose names belong to a journal.
pub(super) fn list_companions(journal: &Path) -> Vec<PathBuf> {
    let own = file_name(journal);
    let Some(stem) = own.strip_suffix("jsonl") else { return Vec::new() };
    let belongs = |path: &PathBuf| file_name(path).starts_with(stem) && file_name(path) != own;
    let mut found: Vec<PathBuf> = journal.parent().map(read_folder).unwrap_or_default();
    found.retain(belongs);
    found
}

/// Moves a file or folder, also to another file system. A missing one has been moved already.
fn move_entry(from: &Path, to: &Path) -> Result<(), JournalError> {
    let failed = |error| JournalError::disk_error(from, "moved")(error);
    match fs::rename(from, to) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
            let mut partial = to.as_os_str().to_owned();
            partial.push(".part");
            let partial = PathBuf::from(partial);
            copy_entry(from, &partial).map_err(failed)?;
            fs::rename(&partial, to).map_err(failed)?;
            match from.is_dir() {
                true => fs::remove_dir_all(from).map_err(failed),
                false => fs::remove_file(from).map_err(failed),
            }
        }
        moved => moved.map_err(failed),
    }
}

fn copy_entry(from: &Path, to: &Path) -> io::Result<()> {
    let kind = from.symlink_metadata()?.file_type();
    if kind.is_dir() {
        create_private_folder(to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            copy_entry(&entry.path(), &to.join(entry.file_name()))?;
        }
        return Ok(());
    }
    if !kind.is_file() {
        // Symlinks, pipes and sockets are not ours, and reading one could block forever.
        return Ok(());
    }
    fs::copy(from, to)?;
    fs::File::open(to)?.sync_all()
}

fn read_folder(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

fn create_private_folder(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

const MANIFEST: &str = "manifest.json";
/// The prefix of folders that are being deleted.
const DELETING: &str = "deleting-";

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixture {
        folder: tempfile::TempDir,
        journal: PathBuf,
        transcript: PathBuf,
    }

    fn fixture() -> Fixture {
        let folder = tempfile::tempdir().unwrap();
        let journal = folder.path().join("sessions/p/a.jsonl");
        let transcript = folder.path().join("claude/p/a.jsonl");
        for file in [
            "sessions/p/a.2.jsonl",
            "sessions/p/a.title",
            "sessions/p/a.spill/1.txt",
            "sessions/p/a.agents/b.jsonl",
            "claude/p/a/subagents/x.jsonl",
        ] {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, file).unwrap();
        }
        fs::write(&journal, "{\"v\":2").unwrap();
        fs::write(&transcript, "{}").unwrap();
        fs::write(folder.path().join("sessions/p/ab.jsonl"), "another").unwrap();
        Fixture { folder, journal, transcript }
    }

    fn files_below(root: &Path) -> Vec<(PathBuf, Vec<u8>)> {
        let mut found = Vec::new();
        for path in read_folder(root) {
            match path.is_dir() {
                true => found.extend(files_below(&path)),
                false => found.push((path.clone(), fs::read(path).unwrap())),
            }
        }
        found.sort();
        found
    }

    #[test]
    fn a_move_that_is_cut_short_anywhere_loses_nothing() {
        for done in 0..8 {
            let Fixture { folder, journal, transcript } = fixture();
            let trash = SessionTrash::for_sessions(&folder.path().join("sessions"));
            let before = files_below(folder.path());
            let moves = trash.begin(&journal, Some(&transcript)).unwrap();
            assert_eq!(moves.len(), 7);
            for step in moves.iter().take(done) {
                move_entry(&step.from, &step.to).unwrap();
            }
            trash.settle();
            // The journal comes after the two transcripts.
            assert_eq!(journal.exists(), done < 3, "{done}");
            let is_whole = files_below(folder.path()) == before;
            assert_eq!(is_whole, done < 3, "{done}");
            if done >= 3 {
                assert!(!folder.path().join("sessions/p/a.spill").exists());
                assert_eq!(trash.restore("a").unwrap(), journal);
            }
            assert_eq!(files_below(folder.path()), before, "{done}");
        }
    }

    #[test]
    fn what_was_restored_or_used_meanwhile_is_not_overwritten() {
        let Fixture { folder, journal, transcript } = fixture();
        let trash = SessionTrash::for_sessions(&folder.path().join("sessions"));
        assert!(!trash.add(&journal, Some(&transcript), || false).unwrap());
        assert!(trash.add(&journal, Some(&transcript), || true).unwrap());
        fs::write(&journal, "{\"v\":2 new").unwrap();
        assert!(trash.restore("a").is_err());
        assert_eq!(fs::read(&journal).unwrap(), b"{\"v\":2 new");
        assert_eq!(trash.list().len(), 1);
        assert_eq!(trash.delete_older(Duration::from_secs(3600)), 0);
        assert_eq!(trash.delete_older(Duration::ZERO), 1);
        assert!(trash.restore("a").is_err());
        assert!(read_folder(trash.root()).is_empty());
    }
}
