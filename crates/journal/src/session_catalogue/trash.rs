//! Sessions that were cleaned up and can still be restored.
//!
//! `<trash>/<session>/manifest.json` says where everything came from; the files lie beside it under the
//! names they had. The manifest is on the disk before the first file moves, and the journal decides what
//! becomes of a move that was cut short: if the journal is in the trash, the rest follows it; if it is
//! still in place, everything else goes back. Every step is a rename or a copy that ends in one, so a
//! process that dies in between loses nothing.

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
    /// Where it lies now.
    pub folder: PathBuf,
    /// How long ago it was moved here, by the time of its manifest.
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
    /// Where it belongs.
    home: PathBuf,
    /// Its name in the folder of the trash.
    name: String,
}

impl SessionTrash {
    /// The trash that belongs to a folder of sessions: beside it, on the same file system.
    #[must_use]
    pub fn for_sessions(sessions: &Path) -> Self {
        Self { root: sessions.with_file_name("trash") }
    }

    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Moves a session here with everything that belongs to it, if nobody writes it and `may_move` still
    /// says so once it is locked. Returns whether it was moved.
    ///
    /// # Errors
    ///
    /// When another process has it open, or the disk fails.
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

    /// Writes the manifest and returns the moves in their order. The transcript goes first: a journal
    /// writes a lost one again, but a transcript without its journal would be taken for a session.
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

    /// Finishes or takes back every move that was cut short.
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

    /// Brings a session back to where it was, and returns its journal.
    ///
    /// # Errors
    ///
    /// When it is not here, its place is taken, or the disk fails; then it is still here.
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

    /// What is here, newest first.
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

    /// Deletes for good what has been here longer than this. Returns how many sessions.
    pub fn delete_older(&self, age: Duration) -> usize {
        let mut deleted = 0;
        for trashed in self.list().into_iter().filter(|trashed| trashed.age > age) {
            // Renamed first: what is half deleted must not look like a session that can be restored.
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
        // The file may have been changed by others: it names no other folder than this one.
        let is_plain = |item: &TrashItem| {
            Path::new(&item.name).file_name().is_some_and(|name| name == item.name.as_str())
        };
        manifest.items.iter().all(is_plain).then_some(manifest)
    }

    /// From the places of origin to the trash, the journal behind the transcript.
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

/// Everything goes home, the journal last: until then the session is not listed. What already has a
/// newer copy at home stays there.
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
    // What is left here has a successor at home: the session went on while its move was cut short.
    fs::remove_dir_all(folder).map_err(JournalError::disk_error(folder, "deleted"))
}

/// Files and folders that belong to a journal by their name.
pub(super) fn list_companions(journal: &Path) -> Vec<PathBuf> {
    let own = file_name(journal);
    let Some(stem) = own.strip_suffix("jsonl") else { return Vec::new() };
    let belongs = |path: &PathBuf| file_name(path).starts_with(stem) && file_name(path) != own;
    let mut found: Vec<PathBuf> = journal.parent().map(read_folder).unwrap_or_default();
    found.retain(belongs);
    found
}

/// Moves a file or a folder, also to another file system. What is not there has been moved already.
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
        // Links, pipes and sockets are not ours; reading one could wait for ever.
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
/// How the names of folders begin that are being deleted.
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
            // The journal follows the two transcripts.
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
