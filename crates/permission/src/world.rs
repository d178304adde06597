//! What lies at a path, asked of whoever can see it.
//!
//! A ruling on a path must know where symbolic links lead, and this crate opens no file. So it asks
//! a [`World`]: [`Blind`] knows nothing and leaves paths as they are spelled, [`VirtualTree`] is
//! described in a test case, and a caller that may touch the disk brings its own.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use windlass_vocabulary::Seen;

use crate::path::resolve;

/// Links followed before a path counts as going in circles.
const LINKS_MAX: usize = 40;

/// What is found at a path, without following the last link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// Nobody looked.
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

/// Somebody who can see files.
pub trait World {
    /// What lies at this absolute path. Must not follow a link at its end.
    fn at(&self, path: &Path) -> Entry;

    /// Where `~` is.
    fn home(&self) -> Option<&Path> {
        None
    }
}

/// Sees nothing: paths mean what they spell.
#[derive(Clone, Copy, Debug, Default)]
pub struct Blind;

impl World for Blind {
    fn at(&self, _: &Path) -> Entry {
        Entry::Unknown
    }
}

/// The name under which a home is remembered.
pub const HOME: &str = "~";

/// What somebody saw and wrote down. Where nobody looked, paths mean what they spell.
#[derive(Clone, Copy, Debug)]
pub struct Remembered<'a>(pub &'a [(Arc<str>, Seen)]);

impl Remembered<'_> {
    fn of(&self, path: &str) -> Option<&Seen> {
        self.0.iter().find(|(known, _)| **known == *path).map(|(_, seen)| seen)
    }
}

impl World for Remembered<'_> {
    fn at(&self, path: &Path) -> Entry {
        match path.to_str().and_then(|path| self.of(path)) {
            None => Entry::Unknown,
            Some(Seen::Missing) => Entry::Missing,
            Some(Seen::File) => Entry::File,
            Some(Seen::Directory) => Entry::Directory,
            Some(Seen::Symlink(target)) => Entry::Symlink(PathBuf::from(&**target)),
            Some(Seen::Special) => Entry::Special,
        }
    }

    fn home(&self) -> Option<&Path> {
        match self.of(HOME) {
            Some(Seen::Symlink(home)) => Some(Path::new(&**home)),
            _ => None,
        }
    }
}

/// Files that exist only in a description.
#[derive(Clone, Debug, Default)]
pub struct VirtualTree {
    entries: BTreeMap<PathBuf, Entry>,
    home: Option<PathBuf>,
}

impl VirtualTree {
    /// A tree with a home and nothing in it but the root.
    #[must_use]
    pub fn new(home: Option<PathBuf>) -> Self {
        Self { entries: BTreeMap::new(), home }
    }

    /// Puts something at an absolute path; the directories above come with it.
    pub fn insert(&mut self, path: &Path, entry: Entry) {
        let path = resolve(Path::new("/"), path);
        for above in path.ancestors().skip(1) {
            self.entries.entry(above.to_path_buf()).or_insert(Entry::Directory);
        }
        self.entries.insert(path, entry);
    }
}

impl World for VirtualTree {
    fn at(&self, path: &Path) -> Entry {
        self.entries.get(path).cloned().unwrap_or(Entry::Missing)
    }

    fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }
}

/// One path in both readings: as it is spelled, and where it leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meant {
    /// Absolute, `.` and `..` taken out by their spelling.
    pub spelled: PathBuf,
    /// Absolute, every link followed as the kernel would.
    pub real: PathBuf,
    /// It goes in circles, or leads through something that is not a directory.
    pub is_lost: bool,
    /// What lies at the end.
    pub entry: Entry,
}

impl Meant {
    /// Both readings, the spelled one first.
    pub fn readings(&self) -> impl Iterator<Item = &Path> {
        let real = (self.real != self.spelled).then_some(self.real.as_path());
        std::iter::once(self.spelled.as_path()).chain(real)
    }
}

/// Where a path leads, from a directory.
#[must_use]
pub fn follow(world: &dyn World, base: &Path, path: &Path) -> Meant {
    let spelled = resolve(base, path);
    let mut real = PathBuf::from("/");
    let mut waiting: Vec<String> = names(&base.join(path));
    waiting.reverse();
    let mut links = 0;
    let mut entry = Entry::Directory;
    while let Some(name) = waiting.pop() {
        if name == ".." {
            real.pop();
            entry = Entry::Directory;
            continue;
        }
        real.push(&name);
        entry = world.at(&real);
        let Entry::Symlink(target) = &entry else { continue };
        links += 1;
        if links > LINKS_MAX {
            return Meant { real: spelled.clone(), spelled, is_lost: true, entry: Entry::Unknown };
        }
        real.pop();
        if target.is_absolute() {
            real = PathBuf::from("/");
        }
        waiting.extend(names(target).into_iter().rev());
        entry = Entry::Directory;
    }
    Meant { spelled, real, is_lost: false, entry }
}

fn names(path: &Path) -> Vec<String> {
    let name = |component: Component<'_>| match component {
        Component::Normal(name) => Some(name.to_string_lossy().into_owned()),
        Component::ParentDir => Some("..".to_owned()),
        _ => None,
    };
    path.components().filter_map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::{Blind, Entry, VirtualTree, follow};
    use std::path::Path;

    #[test]
    fn links_are_followed_as_the_kernel_does() {
        let mut tree = VirtualTree::new(None);
        tree.insert(Path::new("/w/a/link"), Entry::Symlink("/etc".into()));
        tree.insert(Path::new("/w/up"), Entry::Symlink("a/link".into()));
        tree.insert(Path::new("/w/round"), Entry::Symlink("round".into()));
        tree.insert(Path::new("/etc/passwd"), Entry::File);
        for (path, real) in [
            ("a/link/passwd", "/etc/passwd"),
            ("up/passwd", "/etc/passwd"),
            ("up/../x", "/x"),
            ("a/../b", "/w/b"),
            ("../..", "/"),
        ] {
            let meant = follow(&tree, Path::new("/w"), Path::new(path));
            assert_eq!(meant.real, Path::new(real), "{path}");
        }
        assert_eq!(follow(&tree, Path::new("/w"), Path::new("up/passwd")).entry, Entry::File);
        assert!(follow(&tree, Path::new("/w"), Path::new("round/x")).is_lost);
        let blind = follow(&Blind, Path::new("/w"), Path::new("up/../x"));
        assert_eq!(blind.real, Path::new("/w/x"));
    }
}
