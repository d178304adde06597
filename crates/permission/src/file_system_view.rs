//! What lies at a path, as a caller with access to files reports it.
//!
//! A ruling on a path must know where symbolic links lead, and this crate opens no file. So it asks
//! a [`FileSystemView`]: [`NoFileSystem`] knows nothing and leaves paths as they are spelled,
//! [`VirtualTree`] is described in a test case, and a caller that may touch the disk brings its own.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use windlass_vocabulary::PathKind;

use crate::glob::{matches_name, widen_pattern};
use crate::path_pattern::normalize_path;

/// Links followed before a path counts as going in circles.
const LINKS_MAX: usize = 40;

/// What is found at a path, without following the last link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathEntry {
    /// Not looked at.
    Unknown,
    /// Nothing.
    Missing,
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link and what it says.
    Symlink(PathBuf),
    /// A pipe, a socket, a device: reading or writing it is more than that.
    Special,
}

/// A source of facts about files.
pub trait FileSystemView {
    /// What lies at this absolute path. Must not follow a link at its end.
    fn entry_at(&self, path: &Path) -> PathEntry;

    /// Where `~` is.
    fn home_directory(&self) -> Option<&Path> {
        None
    }

    /// Which names in this directory fit a pattern of the shell, as [`fits_shell_pattern`] tells.
    fn matching_names(&self, _directory: &Path, _pattern: &str) -> MatchingNames {
        MatchingNames::Unknown
    }
}

/// The names that a pattern of the shell stands for in one directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MatchingNames {
    /// Nobody looked: a pattern means what it spells.
    Unknown,
    /// They are too many, or the directory cannot be listed.
    NotListed,
    /// These and no others.
    Listed {
        /// Files and directories.
        plain: Vec<String>,
        /// Links, devices and pipes, which must be looked at one by one.
        other: Vec<String>,
    },
}

/// Names that one pattern may stand for; more are not listed.
pub const MATCHING_NAMES_MAX: usize = 4_000;

/// Names looked at in one directory.
pub const LISTED_NAMES_MAX: usize = 50_000;

/// May the shell put this name in the place of a pattern? Wrong only on the side of yes: letter case
/// does not count, and a set is any character.
#[must_use]
pub fn fits_shell_pattern(pattern: &str, name: &str) -> bool {
    let is_hidden = name.starts_with('.') && pattern.starts_with(['*', '?']);
    !is_hidden && matches_name(&widen_pattern(pattern), &name.to_lowercase())
}

impl MatchingNames {
    /// Sorts names, given with whether they are plain, into a list, unless there are too many.
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

    /// The key and the value under which a look is remembered. Names hold no slash.
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

/// Sees nothing: paths mean what they spell.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFileSystem;

impl FileSystemView for NoFileSystem {
    fn entry_at(&self, _: &Path) -> PathEntry {
        PathEntry::Unknown
    }
}

/// The name under which a home is remembered.
pub const HOME_KEY: &str = "~";

/// The name under which it is remembered that not every path could be. What has no record then is not
/// known to be harmless.
pub const CUT_KEY: &str = "//";

/// Facts recorded earlier. A path without a record means what it spells.
#[derive(Clone, Copy, Debug)]
pub struct RecordedFileSystem<'a>(pub &'a [(Arc<str>, PathKind)]);

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

/// Files that exist only in a description.
#[derive(Clone, Debug, Default)]
pub struct VirtualTree {
    entries: BTreeMap<PathBuf, PathEntry>,
    home: Option<PathBuf>,
}

impl VirtualTree {
    /// A tree with a home and nothing in it but the root.
    #[must_use]
    pub fn new(home: Option<PathBuf>) -> Self {
        Self { entries: BTreeMap::new(), home }
    }

    /// Puts something at an absolute path; the directories above come with it.
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

/// One path in both readings: as it is spelled, and where it leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedPath {
    /// Absolute, `.` and `..` taken out by their spelling.
    pub spelled: PathBuf,
    /// Absolute, every link followed as the kernel would.
    pub real: PathBuf,
    /// It goes in circles, or leads through something that is not a directory.
    pub is_unresolvable: bool,
    /// What lies at the end.
    pub entry: PathEntry,
}

impl ResolvedPath {
    /// Both readings, the spelled one first.
    pub fn both_paths(&self) -> impl Iterator<Item = &Path> {
        let real = (self.real != self.spelled).then_some(self.real.as_path());
        std::iter::once(self.spelled.as_path()).chain(real)
    }
}

/// Where a path leads, from a directory.
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
