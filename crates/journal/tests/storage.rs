//! Disks that say no, for real: full, read-only, gone, and failing to keep what was written.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a panic is how a test says no"
)]

mod session_fixtures;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use session_fixtures::{read, settings};
use windlass_engine::Event;
use windlass_journal::disk::{DiskFile, DiskOpenMode, JournalDisk, RealDisk};
use windlass_journal::{
    DiskRemedy, Durability, JournalError, JournalOpenOptions, JournalWriter, fold,
};
use windlass_vocabulary::{ContentBlock, Ticket};

fn long_event(bytes: usize) -> Event {
    Event::UserSubmitted { content: vec![ContentBlock::Text("x".repeat(bytes))], pinned: false }
}

fn short_event() -> Event {
    Event::TimerFired { ticket: Ticket(1) }
}

/// A file system of this size in memory, or `None` where none may be mounted.
struct MountedDisk(tempfile::TempDir);

impl MountedDisk {
    fn new(options: &str) -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(directory.path());
        let is_mounted = mount.output().is_ok_and(|output| output.status.success());
        is_mounted.then_some(Self(directory))
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("session.jsonl")
    }

    fn remount(&self, options: &str) {
        let mut mount = Command::new("mount");
        mount.args(["-o", options]).arg(self.0.path());
        assert!(mount.status().unwrap().success());
    }
}

impl Drop for MountedDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0.path()).status();
    }
}

#[test]
fn a_full_disk_takes_nothing_and_the_writer_goes_on_when_there_is_room() {
    let Some(mounted) = MountedDisk::new("size=64k") else {
        println!("no file system may be mounted here; the limit on sizes is tried instead");
        return;
    };
    let path = mounted.path();
    let (mut writer, _) = JournalWriter::open(&path, Durability::Synced, &settings()).unwrap();
    writer.append_events(1, &[&short_event()]).unwrap();
    let ballast = mounted.0.path().join("ballast");
    fs::write(&ballast, vec![0; 40 << 10]).unwrap();
    for _ in 0..3 {
        let error = writer.append_events(2, &[&long_event(30_000)]).unwrap_err();
        assert_eq!(error.remedy(), Some(DiskRemedy::MakeRoom), "{error}");
        assert!(error.to_string().contains("make room"), "{error}");
        assert_eq!(read(&path).0, [short_event()], "nothing of it stays");
    }
    fs::remove_file(&ballast).unwrap();
    writer.append_events(3, &[&long_event(30_000)]).unwrap();
    let (events, damages, torn) = read(&path);
    assert_eq!((events.len(), damages.len(), torn), (2, 0, 0));
}

#[test]
fn a_read_only_disk_is_named_and_still_read() {
    let Some(mounted) = MountedDisk::new("size=64k") else { return };
    let path = mounted.path();
    let (mut writer, _) = JournalWriter::open(&path, Durability::Synced, &settings()).unwrap();
    writer.append_events(1, &[&short_event()]).unwrap();
    drop(writer);
    mounted.remount("remount,ro");
    let error = JournalWriter::open(&path, Durability::Synced, &settings()).unwrap_err();
    assert_eq!(error.remedy(), Some(DiskRemedy::GrantWriting), "{error}");
    assert_eq!(fold(&path, &settings()).unwrap().seq, 1);
    mounted.remount("remount,rw");
    JournalWriter::open(&path, Durability::Synced, &settings()).unwrap();
}

#[test]
fn a_folder_that_is_gone_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().join("project");
    fs::create_dir(&folder).unwrap();
    let path = folder.join("session.jsonl");
    let (mut writer, _) = JournalWriter::open(&path, Durability::Synced, &settings()).unwrap();
    writer.append_events(1, &[&short_event()]).unwrap();
    fs::remove_dir_all(&folder).unwrap();
    // The system would take what is written to a file without a name, and forget it.
    for _ in 0..2 {
        let error = writer.append_events(2, &[&short_event()]).unwrap_err();
        assert_eq!(error.remedy(), Some(DiskRemedy::BringBack), "{error}");
    }
    let error = JournalWriter::open(&path, Durability::Synced, &settings()).unwrap_err();
    assert_eq!(error.remedy(), Some(DiskRemedy::BringBack), "{error}");
    fs::create_dir(&folder).unwrap();
    let (mut writer, folded) = JournalWriter::open(&path, Durability::Synced, &settings()).unwrap();
    assert_eq!(folded.seq, 0);
    writer.append_events(3, &[&short_event()]).unwrap();
}

/// The real disk, but some waits for it fail, as a failing disk's would.
#[derive(Debug, Default)]
struct FailingDisk {
    syncs: Arc<AtomicU64>,
    /// One bit for each wait that fails.
    fails: Arc<AtomicU64>,
}

#[derive(Debug)]
struct FailingFile(Box<dyn DiskFile>, Arc<AtomicU64>, Arc<AtomicU64>);

impl std::io::Read for FailingFile {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.0.read(buffer)
    }
}

impl DiskFile for FailingFile {
    fn append(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.0.append(bytes)
    }
    fn sync(&mut self) -> std::io::Result<()> {
        let number = self.1.fetch_add(1, Ordering::SeqCst);
        match self.2.load(Ordering::SeqCst) >> number & 1 {
            0 => self.0.sync(),
            _ => Err(std::io::Error::from_raw_os_error(5)),
        }
    }
    fn try_clone(&self) -> std::io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(Self(self.0.try_clone()?, Arc::clone(&self.1), Arc::clone(&self.2))))
    }
    fn set_len(&mut self, length: u64) -> std::io::Result<()> {
        self.0.set_len(length)
    }
    fn try_lock(&mut self) -> Result<(), fs::TryLockError> {
        self.0.try_lock()
    }
}

impl JournalDisk for FailingDisk {
    fn open(&self, path: &Path, access: DiskOpenMode) -> std::io::Result<Box<dyn DiskFile>> {
        let file = RealDisk.open(path, access)?;
        Ok(Box::new(FailingFile(file, Arc::clone(&self.syncs), Arc::clone(&self.fails))))
    }
    fn exists(&self, path: &Path) -> bool {
        RealDisk.exists(path)
    }
    fn sync_directory_of(&self, path: &Path) -> std::io::Result<()> {
        RealDisk.sync_directory_of(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> std::io::Result<()> {
        RealDisk.rename(from, to)
    }
}

#[test]
fn a_file_the_disk_cannot_keep_is_left_and_the_next_one_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("session.jsonl");
    // The second and the fifth wait fail: two changes of file.
    let disk = FailingDisk { fails: Arc::new(AtomicU64::new(0b1_0010)), ..FailingDisk::default() };
    let opening =
        JournalOpenOptions { disk: Arc::new(disk), ..JournalOpenOptions::new(Durability::Synced) };
    let (mut writer, _) = JournalWriter::open_with(&path, opening, &settings()).unwrap();
    let mut troubles = Vec::new();
    for number in 1..=6 {
        writer.append_events(number, &[&Event::TimerFired { ticket: Ticket(number) }]).unwrap();
        troubles.extend(writer.take_warnings());
    }
    assert_eq!(troubles.len(), 2, "{troubles:?}");
    assert!(troubles[0].contains("session.2.jsonl"), "{troubles:?}");
    // Still one writer, whichever file is written.
    let second = JournalWriter::open(&path, Durability::Synced, &settings());
    assert!(matches!(second, Err(JournalError::Busy { .. })));
    drop(writer);
    let numbers = |path: &Path| -> Vec<u64> {
        let (events, damages, _) = read(path);
        assert_eq!(damages, []);
        let number = |event| match event {
            Event::TimerFired { ticket } => ticket.0,
            other => panic!("{other:?}"),
        };
        events.into_iter().map(number).collect()
    };
    // What the first file still holds of the record that failed there does not count twice.
    assert_eq!(numbers(&path), [1, 2, 3, 4, 5, 6]);
    let (mut writer, folded) = JournalWriter::open(&path, Durability::Synced, &settings()).unwrap();
    assert_eq!(folded.seq, 6);
    writer.append_events(7, &[&Event::TimerFired { ticket: Ticket(7) }]).unwrap();
    drop(writer);
    assert_eq!(numbers(&path), [1, 2, 3, 4, 5, 6, 7]);
    let third = fs::read_to_string(directory.path().join("session.3.jsonl")).unwrap();
    assert!(third.contains(r#""seq":7"#), "the last file is continued");
}

#[test]
fn a_disk_that_keeps_nothing_ends_the_writer() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("session.jsonl");
    let disk = FailingDisk { fails: Arc::new(AtomicU64::new(u64::MAX)), ..FailingDisk::default() };
    let opening =
        JournalOpenOptions { disk: Arc::new(disk), ..JournalOpenOptions::new(Durability::Synced) };
    let (mut writer, _) = JournalWriter::open_with(&path, opening, &settings()).unwrap();
    let error = writer.append_events(1, &[&short_event()]).unwrap_err();
    assert_eq!(error.remedy(), Some(DiskRemedy::ReplaceDisk), "{error}");
    let again = writer.append_events(2, &[&short_event()]).unwrap_err();
    assert!(again.to_string().contains("earlier write failed"), "{again}");
}
