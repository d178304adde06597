//! Git's objects, held by a second link in the store. Snapshots do not cover them, because they only grow;
//! but a turn may throw them away (`gc --prune=now`, `rm -rf .git`) together with the refs and the index
//! that going back restores, and a ref without its objects is a broken repository.
//!
//! A link costs a name and no contents. Where the store is on another file system nothing is held.

use std::collections::{BTreeSet, HashMap};
use std::fs::DirBuilder;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::{AtFlags, Dir, FileType, Mode, fstat, fsync, linkat, mkdirat};
use rustix::io::Errno;

use crate::relative_path::RelativePath;
use crate::root_folder::{FileStamp, RootFolder, open_child_folder, stat_child};

pub(crate) const HELD_NAME: &str = "git-objects";
const DEPTH_MAX: usize = 8;
const ASIDE_MAX: usize = 100;
/// What is held alone, because its repository has lost it, takes room. Past this the oldest go.
const LOST_BYTES_MAX: u64 = 256 << 20;
/// A folder that changed this short before it was read may change again without a new time.
const SETTLE_SECONDS: i64 = 2;

/// What is held of the repositories below one root: a tree like theirs, in the store.
#[derive(Debug)]
pub(crate) struct HeldObjects {
    folder: PathBuf,
    /// Folders of objects as they stood when what is in them was last linked.
    linked: HashMap<RelativePath, FileStamp>,
}

impl HeldObjects {
    pub(crate) fn new(store: &Path) -> Self {
        Self { folder: store.join(HELD_NAME), linked: HashMap::new() }
    }

    /// Links what came to this folder of objects since the last time; returns whether a pack is among it. One
    /// of which a part cannot be linked is not held at all, so that nothing is claimed that is not there; its
    /// packs stay where contents are read from them.
    pub(crate) fn hold(
        &mut self,
        root: &RootFolder,
        objects: &RelativePath,
        must_keep_packs: bool,
    ) -> bool {
        let target = self.folder.join(objects.as_path());
        let mut has_new_packs = false;
        let held = root.open_folder(objects).and_then(|source| {
            // Nobody else reads them here who could not read them there.
            DirBuilder::new().recursive(true).mode(0o700).create(&target)?;
            let target = RootFolder::open_plain(&target)?;
            if fstat(&source)?.st_dev != fstat(&target)?.st_dev {
                return Err(Errno::XDEV.into());
            }
            self.link_new(objects, &source, &target, &mut has_new_packs, 0)
        });
        if held.is_err() {
            self.linked.retain(|path, _| !path.is_below(objects));
            match must_keep_packs {
                true => set_aside(&target),
                false => drop(std::fs::remove_dir_all(&target)),
            }
        }
        has_new_packs
    }

    fn link_new(
        &mut self,
        path: &RelativePath,
        source: &OwnedFd,
        target: &OwnedFd,
        has_new_packs: &mut bool,
        depth: usize,
    ) -> io::Result<()> {
        let mut must_sync = false;
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let now = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
        for name in list_names(source)? {
            let Some(stat) = stat_child(source, &name)? else { continue };
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::Directory if depth < DEPTH_MAX => {
                    let inner = path.join(&name);
                    let stamp = FileStamp::from(&stat);
                    if self.linked.get(&inner) == Some(&stamp) {
                        continue;
                    }
                    let (source, target) = enter_both(source, target, &name)?;
                    self.link_new(&inner, &source, &target, has_new_packs, depth + 1)?;
                    if now - stamp.modified_seconds.max(stamp.changed_seconds) > SETTLE_SECONDS {
                        self.linked.insert(inner, stamp);
                    }
                }
                FileType::RegularFile if !is_unfinished(&name) => {
                    let is_new = link_missing(source, target, &name)?;
                    if is_new && name.ends_with(b".pack") {
                        must_sync = true;
                        *has_new_packs = true;
                    }
                }
                _ => {}
            }
        }
        if must_sync {
            // A content may be read from it only when the link is there after a crash of the machine, too.
            fsync(target)?;
        }
        Ok(())
    }
}

/// Under a name that no repository has.
fn set_aside(objects: &Path) {
    let aside = (0..ASIDE_MAX).map(|number| objects.with_extension(format!("aside{number}")));
    if let Some(free) = aside.into_iter().find(|path| !path.exists()) {
        // Otherwise it stays, and what is in it stays with it.
        let _ = std::fs::rename(objects, free);
    }
}

/// Is what this folder of objects held to be found in the store?
pub(crate) fn is_held(store: &Path, objects: &RelativePath) -> bool {
    store.join(HELD_NAME).join(objects.as_path()).is_dir()
}

/// Links what repositories of a copy have and those of the root lack, for each that these paths are of. Where
/// that cannot be done, the refs are as `git fsck` says.
pub(crate) fn take_objects<'a>(
    root: &RootFolder,
    copy: &Path,
    paths: impl Iterator<Item = &'a RelativePath>,
) {
    let folders: BTreeSet<RelativePath> = paths.filter_map(RelativePath::git_folder).collect();
    for folder in folders {
        let objects = folder.join(b"objects");
        let _ = RootFolder::open_plain(&copy.join(objects.as_path()))
            .and_then(|source| give_back_folder(&source, &root.open_folder(&objects)?, 0));
    }
}

/// Links back what a repository has lost. What it has stays as it is.
pub(crate) fn give_back(
    root: &RootFolder,
    store: &Path,
    git_folder: &RelativePath,
) -> io::Result<()> {
    let held = store.join(HELD_NAME).join(git_folder.as_path());
    match RootFolder::open_plain(&held) {
        Ok(source) => give_back_folder(&source, &root.open_folder(git_folder)?, 0),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

fn give_back_folder(source: &OwnedFd, target: &OwnedFd, depth: usize) -> io::Result<()> {
    for name in list_names(source)? {
        let Some(stat) = stat_child(source, &name)? else { continue };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory if depth < DEPTH_MAX => {
                let (source, target) = enter_both(source, target, &name)?;
                give_back_folder(&source, &target, depth + 1)?;
            }
            FileType::RegularFile => drop(link_missing(source, target, &name)?),
            _ => {}
        }
    }
    Ok(())
}

/// The folder of this name on both sides; made where it is missing.
fn enter_both(source: &OwnedFd, target: &OwnedFd, name: &[u8]) -> io::Result<(OwnedFd, OwnedFd)> {
    match mkdirat(target, name, Mode::from_raw_mode(0o755)) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(error.into()),
    }
    Ok((open_child_folder(source, name)?, open_child_folder(target, name)?))
}

/// Returns whether it was missing.
fn link_missing(source: &OwnedFd, target: &OwnedFd, name: &[u8]) -> io::Result<bool> {
    match linkat(source, name, target, name, AtFlags::empty()) {
        Ok(()) => Ok(true),
        // It may vanish while it is listed: git packs what was loose.
        Err(Errno::EXIST | Errno::NOENT) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Git writes these before it gives them their name.
fn is_unfinished(name: &[u8]) -> bool {
    name.starts_with(b"tmp_") || name.ends_with(b".lock")
}

fn list_names(folder: &OwnedFd) -> io::Result<Vec<Vec<u8>>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            names.push(name.to_vec());
        }
    }
    Ok(names)
}

/// A file that only the store has a link to.
struct LostObject {
    path: PathBuf,
    bytes: u64,
    lost_at: i64,
}

fn list_lost(folder: &Path, lost: &mut Vec<LostObject>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(found) = entry.metadata() else { continue };
        if found.is_dir() {
            list_lost(&entry.path(), lost);
        } else if found.nlink() == 1 {
            lost.push(LostObject {
                path: entry.path(),
                bytes: found.len(),
                lost_at: found.ctime(),
            });
        }
    }
}

/// What the held objects take on the disk that their repositories do not.
pub(crate) fn measure_lost(store: &Path) -> u64 {
    let mut lost = Vec::new();
    list_lost(&store.join(HELD_NAME), &mut lost);
    lost.iter().map(|object| object.bytes).sum()
}

/// Gives up what no snapshot needs, or what is too much: the longest lost first, and none of these packs.
pub(crate) fn forget_lost(store: &Path, has_snapshots: bool, needed_packs: &BTreeSet<PathBuf>) {
    let folder = store.join(HELD_NAME);
    if !has_snapshots {
        let _ = std::fs::remove_dir_all(folder);
        return;
    }
    let mut lost = Vec::new();
    list_lost(&folder, &mut lost);
    lost.sort_by_key(|object| object.lost_at);
    let mut bytes: u64 = lost.iter().map(|object| object.bytes).sum();
    lost.retain(|object| !needed_packs.contains(&object.path.with_extension("pack")));
    for object in lost {
        if bytes <= LOST_BYTES_MAX {
            return;
        }
        if std::fs::remove_file(&object.path).is_ok() {
            bytes -= object.bytes;
        }
    }
}
