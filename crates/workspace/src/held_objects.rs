//! Keeps git's objects alive through a second hard link in the store. Snapshots do not cover them,
//! because they only grow; but a turn may delete them (`gc --prune=now`, `rm -rf .git`) together
//! with the refs and the index that a restore brings back, and a ref without its objects is a
//! broken repository.
//!
//! A link costs a name and no contents. When the store is on another file system, nothing is held.

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
/// Objects that the repository has lost take room of their own. Above this, the oldest are removed.
const LOST_BYTES_MAX: u64 = 256 << 20;
/// A folder changed this shortly before it was read may change again with an equal time stamp.
const SETTLE_SECONDS: i64 = 2;

/// The objects held for all repositories below one root, in the same tree structure as theirs.
#[derive(Debug)]
pub(crate) struct HeldObjects {
    folder: PathBuf,
    /// Stamps of object folders when their entries were last linked.
    linked: HashMap<RelativePath, FileStamp>,
}

impl HeldObjects {
    pub(crate) fn new(store: &Path) -> Self {
        Self { folder: store.join(HELD_NAME), linked: HashMap::new() }
    }

    /// Links the objects added to this folder since the last call; returns whether a pack is among
    /// them. If any part cannot be linked, nothing is held, so that no object is claimed that is
    /// missing; packs that contents are read from are set aside instead of removed.
    pub(crate) fn hold(
        &mut self,
        root: &RootFolder,
        objects: &RelativePath,
        must_keep_packs: bool,
    ) -> bool {
        let target = self.folder.join(objects.as_path());
        let mut has_new_packs = false;
        let held = root.open_folder(objects).and_then(|source| {
            // Restricted to the owner, so that the link gives no other user access.
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
            // Contents may be read from the pack only once its link survives a crash of the
            // machine.
            fsync(target)?;
        }
        Ok(())
    }
}

/// Renames to a name that no repository has.
fn set_aside(objects: &Path) {
    let aside = (0..ASIDE_MAX).map(|number| objects.with_extension(format!("aside{number}")));
    if let Some(free) = aside.into_iter().find(|path| !path.exists()) {
        // If this fails, the folder and its contents stay.
        let _ = std::fs::rename(objects, free);
    }
}

/// Whether the store holds the objects of this folder.
pub(crate) fn is_held(store: &Path, objects: &RelativePath) -> bool {
    store.join(HELD_NAME).join(objects.as_path()).is_dir()
}

/// For each repository that `paths` belong to, links the objects that the copy has and the root
/// lacks. Best effort: on failure, refs may be broken, which `git fsck` reports.
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

/// Links lost objects back into the repository. Existing ones are left as they are.
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

/// Opens the folder of this name on both sides, creating it in `target` if it is missing.
fn enter_both(source: &OwnedFd, target: &OwnedFd, name: &[u8]) -> io::Result<(OwnedFd, OwnedFd)> {
    match mkdirat(target, name, Mode::from_raw_mode(0o755)) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(error.into()),
    }
    Ok((open_child_folder(source, name)?, open_child_folder(target, name)?))
}

/// Returns whether the file was missing.
fn link_missing(source: &OwnedFd, target: &OwnedFd, name: &[u8]) -> io::Result<bool> {
    match linkat(source, name, target, name, AtFlags::empty()) {
        Ok(()) => Ok(true),
        // The source may vanish after it was listed: git packs loose objects.
        Err(Errno::EXIST | Errno::NOENT) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Git writes these before renaming them to their final name.
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

/// A file with no link outside the store.
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

/// Disk space used by held objects that their repositories no longer have.
pub(crate) fn measure_lost(store: &Path) -> u64 {
    let mut lost = Vec::new();
    list_lost(&store.join(HELD_NAME), &mut lost);
    lost.iter().map(|object| object.bytes).sum()
}

/// Removes held objects: all when there are no snapshots, else the longest lost until the limit
/// holds, except `needed_packs`.
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
