//! Lists the host's sockets that have a path.
//!
//! A read-only mount does not prevent a command from connecting to a socket by path, so each
//! visible one is covered, at all its paths. The kernel reports the name a socket was bound to,
//! which may be relative to its process's directory at that time. Sockets created after the start
//! of the command are not covered.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io::Read as _;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// A busy machine has a few hundred sockets, with about a hundred bytes per line.
const LIST_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// Limit on the directories tried for relative names.
const BASES_MAX: usize = 4_096;

/// Caches the paths found for sockets without an absolute name, by inode: a search takes too long
/// for every start.
#[derive(Debug, Default)]
struct SearchedSockets {
    roots: Vec<PathBuf>,
    places: BTreeMap<u64, Vec<PathBuf>>,
}

static SEARCHED: Mutex<SearchedSockets> =
    Mutex::new(SearchedSockets { roots: Vec::new(), places: BTreeMap::new() });

/// All sockets with an existing path that we can access. Relative names are searched in the
/// directories of processes, and in these roots and their directories.
///
/// # Errors
///
/// There are too many.
pub(crate) fn list_host_sockets(roots: &[PathBuf]) -> Result<BTreeSet<PathBuf>, String> {
    let text = read_bounded("/proc/net/unix");
    if u64::try_from(text.len()).is_ok_and(|length| length >= LIST_BYTES_MAX) {
        return Err("there are too many sockets on this machine to check".to_owned());
    }
    let mut found: BTreeSet<PathBuf> = BTreeSet::new();
    let mut unplaced: BTreeMap<u64, &Path> = BTreeMap::new();
    for (number, name) in text.lines().filter_map(parse_socket) {
        let name = Path::new(name);
        match resolve_socket(name).filter(|_| name.is_absolute()) {
            Some(path) => {
                found.insert(path);
            }
            // It is relative, was bound through a descriptor, or its directory has moved.
            None => {
                unplaced.insert(number, name);
            }
        }
    }
    found.extend(find_unplaced(&unplaced, roots));
    if !found.is_empty() {
        let mounts = list_mounts();
        let aliases: Vec<PathBuf> =
            found.iter().flat_map(|path| list_aliases(path, &mounts)).collect();
        found.extend(aliases);
    }
    Ok(found)
}

fn find_unplaced(unplaced: &BTreeMap<u64, &Path>, roots: &[PathBuf]) -> Vec<PathBuf> {
    let mut searched = SEARCHED.lock().unwrap_or_else(PoisonError::into_inner);
    if searched.roots != roots {
        *searched = SearchedSockets { roots: roots.to_vec(), places: BTreeMap::new() };
    }
    searched.places.retain(|number, _| unplaced.contains_key(number));
    let mut bases = None;
    for (number, name) in unplaced {
        if searched.places.contains_key(number) {
            continue;
        }
        let bases = bases.get_or_insert_with(|| list_bases(roots));
        let names =
            [Some(*name).filter(|name| name.is_relative()), name.file_name().map(Path::new)];
        let names = names.into_iter().flatten();
        let candidates = names.flat_map(|name| bases.iter().map(move |at| at.join(name)));
        let places = candidates.filter_map(|path| resolve_socket(&path)).collect();
        searched.places.insert(*number, places);
    }
    let places = searched.places.values().flatten();
    places.filter(|path| resolve_socket(path).is_some()).cloned().collect()
}

fn read_bounded(path: &str) -> String {
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path);
    match file.and_then(|file| file.take(LIST_BYTES_MAX).read_to_end(&mut bytes)) {
        Ok(_) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(_) => String::new(),
    }
}

/// Resolves symlinks in the directory, but not the socket itself.
fn resolve_socket(path: &Path) -> Option<PathBuf> {
    let is_socket =
        std::fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
    is_socket.then(|| std::fs::canonicalize(path).ok()).flatten()
}

/// The last two of eight columns: the inode, and the name unless it is abstract.
fn parse_socket(line: &str) -> Option<(u64, &str)> {
    let mut rest = line;
    for _ in 0..6 {
        rest = rest.trim_start().split_once(' ')?.1;
    }
    let (number, name) = rest.trim_start().split_once(' ')?;
    let name = name.trim_start();
    (!name.is_empty() && !name.starts_with('@')).then_some((number.parse().ok()?, name))
}

/// The directories of visible processes, and of the session.
fn list_bases(roots: &[PathBuf]) -> BTreeSet<PathBuf> {
    let entries = |path: &Path| std::fs::read_dir(path).into_iter().flatten().flatten();
    let processes = entries(Path::new("/proc"))
        .filter(|entry| entry.file_name().as_encoded_bytes().iter().all(u8::is_ascii_digit))
        .filter_map(|entry| std::fs::read_link(entry.path().join("cwd")).ok());
    let below = roots.iter().flat_map(|root| {
        let folders =
            entries(root).filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        folders.map(|entry| entry.path()).chain([root.clone()]).collect::<Vec<_>>()
    });
    processes.chain(below).take(BASES_MAX).collect()
}

struct MountedDirectory {
    device: String,
    /// The mounted subtree of its file system.
    inside: PathBuf,
    at: PathBuf,
}

fn list_mounts() -> Vec<MountedDirectory> {
    let text = read_bounded("/proc/self/mountinfo");
    let parse = |line: &str| {
        let mut columns = line.split(' ').skip(2);
        let (device, inside, at) = (columns.next()?, columns.next()?, columns.next()?);
        let inside = unescape(inside);
        let at = unescape(at);
        Some(MountedDirectory { device: device.to_owned(), inside, at })
    };
    text.lines().filter_map(parse).collect()
}

/// Blanks and some others are written as `\` and three octal digits.
fn unescape(text: &str) -> PathBuf {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..3).and_then(|three| std::str::from_utf8(three).ok());
        let escaped = digits.and_then(|three| u8::from_str_radix(three, 8).ok());
        match (*first, escaped) {
            (b'\\', Some(byte)) => {
                bytes.push(byte);
                rest = after.get(3..).unwrap_or_default();
            }
            (byte, _) => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    PathBuf::from(OsString::from_vec(bytes))
}

/// Further paths of a file whose directory is mounted several times.
fn list_aliases(path: &Path, mounts: &[MountedDirectory]) -> Vec<PathBuf> {
    // Of several mounts at one path, the last one is visible.
    let own = mounts.iter().filter(|mount| path.starts_with(&mount.at));
    let Some(own) = own.max_by_key(|mount| mount.at.components().count()) else {
        return Vec::new();
    };
    let Ok(below) = path.strip_prefix(&own.at) else {
        return Vec::new();
    };
    let identity = |path: &Path| {
        let found = std::fs::symlink_metadata(path).ok()?;
        Some((found.dev(), found.ino()))
    };
    let inside = own.inside.join(below);
    let others = mounts.iter().filter(|mount| mount.device == own.device && mount.at != own.at);
    let named =
        others.filter_map(|mount| Some(mount.at.join(inside.strip_prefix(&mount.inside).ok()?)));
    named.filter(|other| identity(other).is_some() && identity(other) == identity(path)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_from_numbers_and_abstract_names() {
        let path = "0000: 00000002 00000000 00010000 0001 01 1234 /run/dbus/system bus";
        assert_eq!(parse_socket(path), Some((1234, "/run/dbus/system bus")));
        let relative = "0000: 00000002 00000000 00010000 0001 01  1234 app.sock";
        assert_eq!(parse_socket(relative), Some((1234, "app.sock")));
        assert_eq!(parse_socket("0000: 00000003 00000000 00000000 0001 03 1234"), None);
        assert_eq!(parse_socket("0000: 00000002 00000000 00010000 0001 01 1234 @/tmp/.X11"), None);
    }

    #[test]
    fn a_path_has_an_alias_for_each_other_mount_of_its_directory() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        std::fs::create_dir(folder.join("a b")).unwrap();
        std::fs::write(folder.join("a b/s"), "").unwrap();
        std::os::unix::fs::symlink(folder.join("a b"), folder.join("second")).unwrap();
        let mount = |inside: &str, at: &Path| MountedDirectory {
            device: "8:1".to_owned(),
            inside: unescape(inside),
            at: at.to_owned(),
        };
        // A symlink represents the second mount, which only root could create.
        let mounts = [
            mount("/", Path::new("/")),
            mount("/x", &folder),
            mount("/x/a\\040b", &folder.join("second")),
        ];
        assert_eq!(list_aliases(&folder.join("a b/s"), &mounts), [folder.join("second/s")]);
    }
}
