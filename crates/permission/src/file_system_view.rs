//! File system entries, as a caller with access to files reports them.
//!
//! A decision about a path must know where symlinks lead, but this crate opens no files. So it asks
//! a [`FileSystemView`]: [`NoFileSystem`] knows nothing and leaves paths as they are spelled,
//! [`VirtualTree`] is described in a test case, and a caller with file access implements its own.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use windlass_vocabulary::PathKind;

use crate::glob::{matches_name, widen_pattern};
use crate::path_pattern::normalize_path;

/// After this many symlinks a path counts as a loop.
const LINKS_MAX: usize = 40;

/// The entry at a path, without following a final symlink.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathEntry {
    /// Not checked.
    Unknown,
    /// There is no entry.
    Missing,
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symlink with its target.
    Symlink(PathBuf),
    /// A pipe, socket or device: reading or writing it has side effects.
    Special,
}

/// Provides file system entries.
pub trait FileSystemView {
    /// The entry at this absolute path. Must not follow a final symlink.
    fn entry_at(&self, path: &Path) -> PathEntry;

    /// The directory for `~`.
    fn home_directory(&self) -> Option<&Path> {
        None
    }

    /// The names in this directory that match a shell pattern, according to [`fits_shell_pattern`].
    fn matching_names(&self, _directory: &Path, _pattern: &str) -> MatchingNames {
        MatchingNames::Unknown
    }
}

/// The names in a directory that match a shell pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MatchingNames {
    /// Not checked: a pattern means its own text.
    Unknown,
    /// There are too many, or the directory cannot be listed.
    NotListed,
    /// All matching names.
    Listed {
        /// Files and directories.
        plain: Vec<String>,
        /// Symlinks, devices and pipes, which must be checked one by one.
        other: Vec<String>,
    },
}

/// Limit on the names that match one pattern.
pub const MATCHING_NAMES_MAX: usize = 4_000;

/// Limit on the names read in one directory.
pub const LISTED_NAMES_MAX: usize = 50_000;

/// May the shell replace a pattern by this name? May be wrong only by returning `true`: ignores
/// case, and treats a set as any character.
#[must_use]
pub fn fits_shell_pattern(pattern: &str, name: &str) -> bool {
    let is_hidden = name.starts_with('.') && pattern.starts_with(['*', '?']);
    !is_hidden && matches_name(&widen_pattern(pattern), &name.to_lowercase())
}

impl MatchingNames {
    /// Makes a sorted list from names with whether they are plain, unless there are too many.
    pub fn from_names(names: impl Iterator<Item = (String, bool)>) -> Self {
        let (mut plain, mut other) = (Vec::new(), Vec::new());
        for (name, is_plain) in names {
            if plain.len() + other.len() >= MATCHING_NAMES_MAX {
                return Self::NotListed;
            }
            let list = if is_plain { &mut plain } else { &mut other };
            list.push(name);
        }
        plain.sort();
        other.sort();
        Self::Listed { plain, other }
    }

    /// The key and value for recording the lookup. Names contain no slash.
    #[must_use]
    pub fn to_record(&self, directory: &Path, pattern: &str) -> Option<(String, PathKind)> {
        let key = format!("{}//{pattern}", directory.display());
        match self {
            Self::Unknown => None,
            Self::NotListed => Some((key, PathKind::Missing)),
            Self::Listed { plain, other } => {
                let text = format!("{}//{}", plain.join("/"), other.join("/"));
                Some((key, PathKind::Symlink(Arc::from(text))))
            }
        }
    }

    fn from_record(kind: Option<&PathKind>) -> Self {
        match kind {
            None => Self::Unknown,
            Some(PathKind::Symlink(text)) => {
                let names = |text: &str| {
                    text.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect()
                };
                let (plain, other) = text.split_once("//").unwrap_or((text, ""));
                Self::Listed { plain: names(plain), other: names(other) }
            }
            Some(PathKind::Missing | PathKind::File | PathKind::Directory | PathKind::Special) => {
                Self::NotListed
            }
        }
    }
}

/// Knows nothing: paths mean what they spell.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFileSystem;

impl FileSystemView for NoFileSystem {
    fn entry_at(&self, _: &Path) -> PathEntry {
        PathEntry::Unknown
    }
}

/// The key of the recorded home directory.
pub const HOME_KEY: &str = "~";

/// The key that marks an incomplete record. A path without a record is then not known to be
/// harmless.
pub const CUT_KEY: &str = "//";

/// The key of the reason why no snapshot of the files can be taken before a call, as the target of a
/// symlink. No absolute path is spelled like that.
pub const NO_SNAPSHOT_KEY: &str = ":snapshot";

/// Entries recorded earlier. A path without a record means what it spells.
#[derive(Clone, Copy, Debug)]
pub struct RecordedFileSystem<'a>(pub &'a [(Arc<str>, PathKind)]);

/// Why no snapshot can be taken before the call, if that was recorded.
pub(crate) fn find_missing_snapshot(seen: &[(Arc<str>, PathKind)]) -> Option<&str> {
    seen.iter().find_map(|(key, kind)| match kind {
        PathKind::Symlink(why) if **key == *NO_SNAPSHOT_KEY => Some(&**why),
        PathKind::Symlink(_)
        | PathKind::Missing
        | PathKind::File
        | PathKind::Directory
        | PathKind::Special => None,
    })
}

impl RecordedFileSystem<'_> {
    fn find_recorded(&self, path: &str) -> Option<&PathKind> {
        self.0.iter().find(|(known, _)| **known == *path).map(|(_, seen)| seen)
    }
}

impl FileSystemView for RecordedFileSystem<'_> {
    fn entry_at(&self, path: &Path) -> PathEntry {
        match path.to_str().and_then(|path| self.find_recorded(path)) {
            None if self.find_recorded(CUT_KEY).is_some() => PathEntry::Special,
            None => PathEntry::Unknown,
            Some(PathKind::Missing) => PathEntry::Missing,
            Some(PathKind::File) => PathEntry::File,
            Some(PathKind::Directory) => PathEntry::Directory,
            Some(PathKind::Symlink(target)) => PathEntry::Symlink(PathBuf::from(&**target)),
            Some(PathKind::Special) => PathEntry::Special,
        }
    }

    fn home_directory(&self) -> Option<&Path> {
        let Some(PathKind::Symlink(home)) = self.find_recorded(HOME_KEY) else { return None };
        Some(Path::new(&**home))
    }

    fn matching_names(&self, directory: &Path, pattern: &str) -> MatchingNames {
        let key = format!("{}//{pattern}", directory.display());
        match self.find_recorded(&key) {
            None if self.find_recorded(CUT_KEY).is_some() => MatchingNames::NotListed,
            kind => MatchingNames::from_record(kind),
        }
    }
}

/// A file system that is only described.
#[derive(Clone, Debug, Default)]
pub struct VirtualTree {
    entries: BTreeMap<PathBuf, PathEntry>,
    home: Option<PathBuf>,
}

impl VirtualTree {
    /// A tree with an empty root and this home.
    #[must_use]
    pub fn new(home: Option<PathBuf>) -> Self {
        Self { entries: BTreeMap::new(), home }
    }

    /// Adds an entry at an absolute path, with its parent directories.
    pub fn insert(&mut self, path: &Path, entry: PathEntry) {
        let path = normalize_path(Path::new("/"), path);
        for above in path.ancestors().skip(1) {
            self.entries.entry(above.to_path_buf()).or_insert(PathEntry::Directory);
        }
        self.entries.insert(path, entry);
    }
}

impl FileSystemView for VirtualTree {
    fn entry_at(&self, path: &Path) -> PathEntry {
        self.entries.get(path).cloned().unwrap_or(PathEntry::Missing)
    }

    fn home_directory(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    fn matching_names(&self, directory: &Path, pattern: &str) -> MatchingNames {
        let below = self.entries.iter().filter(|(path, _)| path.parent() == Some(directory));
        let named = below.filter_map(|(path, entry)| {
            let name = path.file_name()?.to_str()?.to_owned();
            let is_plain = matches!(entry, PathEntry::File | PathEntry::Directory);
            Some((name, is_plain))
        });
        MatchingNames::from_names(named.filter(|(name, _)| fits_shell_pattern(pattern, name)))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PathAccess {
    Read,
    Write,
}

/// A path in both readings: as spelled, and resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedPath {
    /// Absolute, with `.` and `..` removed lexically.
    pub spelled: PathBuf,
    /// Absolute, with all symlinks followed.
    pub real: PathBuf,
    /// It is a loop, or leads through something that is not a directory.
    pub is_unresolvable: bool,
    /// The entry at its end.
    pub entry: PathEntry,
}

impl ResolvedPath {
    /// Both readings, the spelled one first.
    pub fn both_paths(&self) -> impl Iterator<Item = &Path> {
        let real = (self.real != self.spelled).then_some(self.real.as_path());
        std::iter::once(self.spelled.as_path()).chain(real)
    }
}

/// Resolves a path, relative to a directory.
#[must_use]
pub fn resolve_links(file_system: &dyn FileSystemView, base: &Path, path: &Path) -> ResolvedPath {
    let spelled = normalize_path(base, path);
    let mut real = PathBuf::from("/");
    let mut waiting: Vec<String> = component_names(&base.join(path));
    waiting.reverse();
    let mut links = 0;
    let mut entry = PathEntry::Directory;
    while let Some(name) = waiting.pop() {
        if name == ".." {
            real.pop();
            entry = PathEntry::Directory;
            continue;
        }
        real.push(&name);
        entry = file_system.entry_at(&real);
        let PathEntry::Symlink(target) = &entry else { continue };
        links += 1;
        if links > LINKS_MAX {
            return ResolvedPath {
                real: spelled.clone(),
                spelled,
                is_unresolvable: true,
                entry: PathEntry::Unknown,
            };
        }
        real.pop();
        if target.is_absolute() {
            real = PathBuf::from("/");
        }
        waiting.extend(component_names(target).into_iter().rev());
        entry = PathEntry::Directory;
    }
    ResolvedPath { spelled, real, is_unresolvable: false, entry }
}

fn component_names(path: &Path) -> Vec<String> {
    let name = |component: Component<'_>| match component {
        Component::Normal(name) => Some(name.to_string_lossy().into_owned()),
        Component::ParentDir => Some("..".to_owned()),
        _ => None,
    };
    path.components().filter_map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::{NoFileSystem, PathEntry, VirtualTree, resolve_links};
    use std::path::Path;

    #[test]
    fn links_are_followed_as_the_kernel_does() {
        let mut tree = VirtualTree::new(None);
        tree.insert(Path::new("/w/a/link"), PathEntry::Symlink("/etc".into()));
        tree.insert(Path::new("/w/up"), PathEntry::Symlink("a/link".into()));
        tree.insert(Path::new("/w/round"), PathEntry::Symlink("round".into()));
        tree.insert(Path::new("/etc/passwd"), PathEntry::File);
        for (path, real) in [
            ("a/link/passwd", "/etc/passwd"),
            ("up/passwd", "/etc/passwd"),
            ("up/../x", "/x"),
            ("a/../b", "/w/b"),
            ("../..", "/"),
        ] {
            let resolved = resolve_links(&tree, Path::new("/w"), Path::new(path));
            assert_eq!(resolved.real, Path::new(real), "{path}");
        }
        assert_eq!(
            resolve_links(&tree, Path::new("/w"), Path::new("up/passwd")).entry,
            PathEntry::File
        );
        assert!(resolve_links(&tree, Path::new("/w"), Path::new("round/x")).is_unresolvable);
        let blind = resolve_links(&NoFileSystem, Path::new("/w"), Path::new("up/../x"));
        assert_eq!(blind.real, Path::new("/w/x"));
    }
}
