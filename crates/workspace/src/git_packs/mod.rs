//! Finds and reads contents in git's packs, without git. Only packs to which the store has its own
//! hard link are used, so a content stays readable after the repository is repacked or deleted.
//!
//! Packs are untrusted: the caller compares the digest of every content. A pack that does not match
//! its index is skipped; one that is writable is read, but nothing more is left to it.

mod delta;
mod pack_file;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ring::digest::{Context, SHA1_FOR_LEGACY_USE_ONLY};

use crate::held_objects::HELD_NAME;
use pack_file::PackFile;

/// Each open pack takes two file descriptors. The largest packs come first.
const PACKS_MAX: usize = 64;
/// Limit on the packs that contents are only in.
const NEEDED_PACKS_MAX: usize = 256;
const DEPTH_MAX: usize = 32;

/// Git's object name: SHA-1 of header and content.
pub(crate) type ObjectName = [u8; 20];

/// The packs the store holds links to.
#[derive(Debug, Default)]
pub(crate) struct GitPacks {
    packs: Vec<Arc<PackFile>>,
}

pub(crate) struct OpenedPacks {
    pub(crate) packs: GitPacks,
    /// The needed objects that no pack has.
    pub(crate) missing: BTreeSet<ObjectName>,
}

impl GitPacks {
    /// Opens the held packs: those that have objects of `needed` before any other. Unchanged packs
    /// that `known` has open are reused.
    pub(crate) fn open(store: &Path, known: &Self, needed: BTreeSet<ObjectName>) -> OpenedPacks {
        let mut paths = Vec::new();
        list_packs(&store.join(HELD_NAME), 0, &mut paths);
        paths.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
        let open = |path: &PathBuf| {
            let same = known.packs.iter().find(|pack| pack.path() == path && pack.is_unchanged());
            same.map(Arc::clone).or_else(|| PackFile::open(path).map(Arc::new))
        };
        let mut packs = Vec::new();
        let mut others = Vec::new();
        let mut missing = needed;
        for pack in paths.iter().filter_map(|(path, _)| open(path)) {
            let needed = missing.len();
            missing = pack.list_missing(missing);
            if missing.len() < needed && packs.len() < NEEDED_PACKS_MAX {
                packs.push(pack);
            } else if others.len() < PACKS_MAX {
                others.push(pack);
            }
        }
        others.truncate(PACKS_MAX.saturating_sub(packs.len()));
        packs.append(&mut others);
        OpenedPacks { packs: Self { packs }, missing }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.packs.is_empty()
    }

    pub(crate) fn are_unchanged(&self) -> bool {
        self.packs.iter().all(|pack| pack.is_unchanged())
    }

    /// The name of the blob with these bytes, if a read-only pack has it and it can be read back.
    pub(crate) fn find(&self, bytes: &[u8]) -> Option<ObjectName> {
        if self.is_empty() {
            return None;
        }
        let name = name_blob(bytes);
        let has_it = |pack: &PackFile| {
            pack.find(&name).is_some_and(|start| pack.has_blob_within_limits(start))
        };
        self.list_read_only().any(has_it).then_some(name)
    }

    /// Whether a read-only pack has this object.
    pub(crate) fn has_safely(&self, name: &ObjectName) -> bool {
        self.list_read_only().any(|pack| pack.find(name).is_some())
    }

    pub(crate) fn has_writable(&self) -> bool {
        self.packs.iter().any(|pack| pack.is_writable())
    }

    fn list_read_only(&self) -> impl Iterator<Item = &PackFile> {
        self.packs.iter().map(Arc::as_ref).filter(|pack| !pack.is_writable())
    }

    /// The contents of a blob; `None` when it cannot be read or has more than `limit` bytes.
    pub(crate) fn read(&self, name: &ObjectName, limit: u64) -> Option<Vec<u8>> {
        self.packs.iter().find_map(|pack| pack.read_blob(pack.find(name)?, limit))
    }

    /// The names that no pack has.
    pub(crate) fn list_missing(&self, names: BTreeSet<ObjectName>) -> BTreeSet<ObjectName> {
        self.packs.iter().fold(names, |names, pack| pack.list_missing(names))
    }

    /// The paths of the packs that have at least one of these objects.
    pub(crate) fn find_holders(&self, names: &BTreeSet<ObjectName>) -> BTreeSet<PathBuf> {
        let holders =
            self.packs.iter().filter(|pack| pack.list_missing(names.clone()).len() < names.len());
        holders.map(|pack| pack.path().to_owned()).collect()
    }

    /// Only the packs that the repository still has too.
    pub(crate) fn retain_shared(&self) -> Self {
        let shared = self.packs.iter().filter(|pack| pack.is_shared());
        Self { packs: shared.cloned().collect() }
    }
}

fn name_blob(bytes: &[u8]) -> ObjectName {
    let mut context = Context::new(&SHA1_FOR_LEGACY_USE_ONLY);
    context.update(format!("blob {}\0", bytes.len()).as_bytes());
    context.update(bytes);
    context.finish().as_ref().try_into().unwrap_or_default()
}

/// Whether file modes restrict this process. They do not restrict root.
#[must_use]
pub fn do_file_modes_apply() -> bool {
    !rustix::process::geteuid().is_root()
}

/// Packs below a folder, with their sizes. Git's fan-out folders of loose objects are skipped.
fn list_packs(folder: &Path, depth: usize, packs: &mut Vec<(PathBuf, u64)>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        let path = entry.path();
        if kind.is_file() && path.extension().is_some_and(|end| end == "pack") {
            packs.extend(entry.metadata().map(|found| (path, found.len())));
        } else if kind.is_dir() && depth < DEPTH_MAX && !is_fan_out(&entry.file_name()) {
            list_packs(&path, depth + 1, packs);
        }
    }
}

/// Folders of loose objects are named by two hexadecimal digits.
fn is_fan_out(name: &std::ffi::OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name.len() == 2 && name.iter().all(u8::is_ascii_hexdigit)
}
