//! A disk in memory that remembers what it was asked, and says in which states a loss of power
//! could leave it.
//!
//! What was waited for stays. Of everything else any part may be there: writes fall into blocks, a
//! block may be missing (zeros where something follows), and the last one may be torn. A new name
//! may be there without its bytes, and bytes without their name. What a failed wait covered is in
//! doubt for ever, whatever later waits say.

use std::collections::BTreeMap;
use std::fs::TryLockError;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use windlass_journal::disk::{DiskFile, DiskOpenMode, JournalDisk};

/// Bytes that reach the disk together.
pub(crate) const BLOCK: usize = 96;

#[derive(Clone, Debug)]
enum Op {
    Write { at: usize, bytes: Vec<u8> },
    Cut(usize),
}

#[derive(Clone, Debug, Default)]
struct Inode {
    /// What a process sees.
    now: Vec<u8>,
    /// What is safe.
    safe: Vec<u8>,
    /// What is in doubt, in order.
    doubt: Vec<Op>,
    /// How much of it stays in doubt although the disk was waited for.
    cursed: usize,
}

#[derive(Clone, Debug, Default)]
struct SimulatedDisk {
    inodes: Vec<Inode>,
    names: BTreeMap<PathBuf, usize>,
    safe_names: BTreeMap<PathBuf, usize>,
    syncs: u64,
    fails: u64,
    writes: u64,
    short: Option<u64>,
    /// The disk after each operation.
    past: Option<Vec<SimulatedDisk>>,
}

/// The disk.
#[derive(Clone, Debug, Default)]
pub(crate) struct Model(Arc<Mutex<SimulatedDisk>>);

/// The files a loss of power leaves behind.
pub(crate) type Snapshot = BTreeMap<PathBuf, Vec<u8>>;

impl Model {
    /// A disk with these files on it, all safe. Each bit of `fails` is a wait that fails; the write
    /// numbered `short` is cut short for want of room.
    pub(crate) fn new(files: &Snapshot, fails: u64, short: Option<u64>) -> Self {
        let mut disk_state =
            SimulatedDisk { fails, short, past: Some(Vec::new()), ..SimulatedDisk::default() };
        for (path, bytes) in files {
            disk_state.names.insert(path.clone(), disk_state.inodes.len());
            let inode = Inode { now: bytes.clone(), safe: bytes.clone(), ..Inode::default() };
            disk_state.inodes.push(inode);
        }
        disk_state.safe_names = disk_state.names.clone();
        Self(Arc::new(Mutex::new(disk_state)))
    }

    /// How many operations there were.
    pub(crate) fn operations(&self) -> usize {
        self.disk_state().past.as_ref().map_or(0, Vec::len)
    }

    /// Every state the power could leave behind if it went after this operation.
    pub(crate) fn crashes(&self, operation: usize) -> Vec<Snapshot> {
        let disk_state = self.disk_state();
        let disk_state =
            disk_state.past.as_ref().and_then(|past| past.get(operation)).unwrap().clone();
        disk_state.crashes()
    }

    /// The files as a process sees them.
    pub(crate) fn files(&self) -> Snapshot {
        let disk_state = self.disk_state();
        disk_state
            .names
            .iter()
            .map(|(path, at)| (path.clone(), disk_state.inodes[*at].now.clone()))
            .collect()
    }

    fn disk_state(&self) -> MutexGuard<'_, SimulatedDisk> {
        self.0.lock().unwrap()
    }

    fn change<T>(&self, change: impl FnOnce(&mut SimulatedDisk) -> T) -> T {
        let mut disk_state = self.disk_state();
        let result = change(&mut disk_state);
        let copy = SimulatedDisk { past: None, ..disk_state.clone() };
        if let Some(past) = &mut disk_state.past {
            past.push(copy);
        }
        result
    }
}

impl SimulatedDisk {
    fn crashes(&self) -> Vec<Snapshot> {
        // Names and bytes are in doubt apart from each other.
        let mut namings = vec![self.safe_names.clone()];
        if self.names != self.safe_names {
            namings.push(self.names.clone());
        }
        let contents: Vec<Vec<Vec<u8>>> = self.inodes.iter().map(Inode::crashes).collect();
        let mut snapshots = Vec::new();
        for names in namings {
            let mut made = vec![Snapshot::new()];
            for (path, at) in names {
                made = made
                    .into_iter()
                    .flat_map(|files| {
                        contents[at].iter().map(move |bytes| (files.clone(), bytes.clone()))
                    })
                    .map(|(mut files, bytes)| {
                        files.insert(path.clone(), bytes);
                        files
                    })
                    .collect();
            }
            snapshots.extend(made);
        }
        snapshots.sort();
        snapshots.dedup();
        snapshots
    }
}

impl Inode {
    /// Every content this file may have after a loss of power.
    fn crashes(&self) -> Vec<Vec<u8>> {
        let mut pieces: Vec<Op> = Vec::new();
        for op in &self.doubt {
            match op {
                Op::Cut(length) => pieces.push(Op::Cut(*length)),
                Op::Write { at, bytes } => pieces.extend(
                    bytes
                        .chunks(BLOCK)
                        .zip((*at..).step_by(BLOCK))
                        .map(|(chunk, at)| Op::Write { at, bytes: chunk.to_vec() }),
                ),
            }
        }
        let count = u32::try_from(pieces.len()).unwrap();
        let mut states = Vec::new();
        let all = 1_u64.checked_shl(count).unwrap_or(0).wrapping_sub(1);
        let subsets: Vec<u64> = if count <= 5 {
            (0..=all).collect()
        } else {
            // Too many to try all: what arrives in order, what misses one, what has one alone.
            let prefixes = (0..=count).map(|n| (1_u64 << n) - 1);
            let holes = (0..count).map(|n| all & !(1 << n));
            let singles = (0..count).map(|n| 1 << n);
            prefixes.chain(holes).chain(singles).collect()
        };
        for subset in subsets {
            let chosen =
                || (0..).zip(&pieces).filter(|(n, _)| subset >> n & 1 == 1).map(|(_, p)| p);
            states.push(apply(&self.safe, chosen(), usize::MAX));
            for kept in [1, BLOCK / 2, BLOCK - 1] {
                states.push(apply(&self.safe, chosen(), kept));
            }
            // The length arrived, the bytes did not.
            let mut longer = apply(&self.safe, chosen(), usize::MAX);
            longer.resize(longer.len().max(self.now.len()), 0);
            states.push(longer);
        }
        states.sort();
        states.dedup();
        states
    }
}

/// Applies pieces to what is safe; of the last one only so many bytes.
fn apply<'a>(safe: &[u8], pieces: impl Iterator<Item = &'a Op>, last: usize) -> Vec<u8> {
    let pieces: Vec<&Op> = pieces.collect();
    let mut bytes = safe.to_vec();
    for (number, piece) in pieces.iter().enumerate() {
        match piece {
            Op::Cut(length) => bytes.resize(*length, 0),
            Op::Write { at, bytes: new } => {
                let is_last = number + 1 == pieces.len();
                let new = &new[..if is_last { new.len().min(last) } else { new.len() }];
                bytes.resize(bytes.len().max(at + new.len()), 0);
                bytes[*at..at + new.len()].copy_from_slice(new);
            }
        }
    }
    bytes
}

#[derive(Debug)]
struct ModelFile {
    model: Model,
    inode: usize,
    place: usize,
}

impl JournalDisk for Model {
    fn open(&self, path: &Path, access: DiskOpenMode) -> io::Result<Box<dyn DiskFile>> {
        let known = self.disk_state().names.get(path).copied();
        let inode = match (known, access) {
            (Some(_), DiskOpenMode::New) => return Err(io::ErrorKind::AlreadyExists.into()),
            (Some(inode), _) => inode,
            (None, DiskOpenMode::Read | DiskOpenMode::AppendExisting) => {
                return Err(io::ErrorKind::NotFound.into());
            }
            (None, _) => self.change(|disk_state| {
                disk_state.inodes.push(Inode::default());
                let inode = disk_state.inodes.len() - 1;
                disk_state.names.insert(path.to_owned(), inode);
                inode
            }),
        };
        Ok(Box::new(ModelFile { model: self.clone(), inode, place: 0 }))
    }

    fn exists(&self, path: &Path) -> bool {
        self.disk_state().names.contains_key(path)
    }

    fn sync_directory_of(&self, _: &Path) -> io::Result<()> {
        self.change(|disk_state| disk_state.safe_names = disk_state.names.clone());
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.change(|disk_state| {
            let inode = disk_state.names.remove(from).ok_or(io::ErrorKind::NotFound)?;
            disk_state.names.insert(to.to_owned(), inode);
            Ok(())
        })
    }
}

impl Read for ModelFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let disk_state = self.model.disk_state();
        let rest = disk_state.inodes[self.inode].now.get(self.place..).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        self.place += count;
        Ok(count)
    }
}

impl DiskFile for ModelFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.model.change(|disk_state| {
            disk_state.writes += 1;
            let is_short = disk_state.short == Some(disk_state.writes);
            let bytes = if is_short { &bytes[..bytes.len() / 2] } else { bytes };
            let inode = &mut disk_state.inodes[self.inode];
            inode.doubt.push(Op::Write { at: inode.now.len(), bytes: bytes.to_vec() });
            inode.now.extend(bytes);
            match is_short {
                true => Err(io::ErrorKind::StorageFull.into()),
                false => Ok(()),
            }
        })
    }

    fn sync(&mut self) -> io::Result<()> {
        self.model.change(|disk_state| {
            let is_failure = disk_state.fails >> disk_state.syncs & 1 == 1;
            disk_state.syncs += 1;
            let inode = &mut disk_state.inodes[self.inode];
            if is_failure {
                inode.cursed = inode.doubt.len();
                return Err(io::Error::from_raw_os_error(5));
            }
            if inode.cursed == 0 {
                inode.safe = inode.now.clone();
                inode.doubt.clear();
            }
            Ok(())
        })
    }

    fn try_clone(&self) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(Self { model: self.model.clone(), ..*self }))
    }

    fn set_len(&mut self, length: u64) -> io::Result<()> {
        let length = usize::try_from(length).unwrap();
        self.model.change(|disk_state| {
            let inode = &mut disk_state.inodes[self.inode];
            inode.now.resize(length, 0);
            inode.doubt.push(Op::Cut(length));
        });
        Ok(())
    }

    fn try_lock(&mut self) -> Result<(), TryLockError> {
        Ok(())
    }
}
