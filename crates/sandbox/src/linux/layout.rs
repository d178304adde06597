//! A plan as places: what each path of the machine is to the command, checked against the disk.
//!
//! The most specific path decides, so the list is kept in path order, parents first, which is also
//! the order in which mounts must be made. Paths are resolved here, once; a link inside a root is
//! never followed, because whoever may write there could have put it there.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::sockets;
use super::watch::Watched;
use crate::names;
use crate::plan::{Network, Plan};
use crate::refusal::Refused;

/// What a path is to the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
    /// A directory with nothing of the host in it.
    Empty,
    /// A file that cannot be opened.
    Nothing,
}

/// The places of one plan.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    /// Where the command starts.
    pub(crate) directory: PathBuf,
    /// Roots and scratch directories.
    pub(crate) writable: Vec<PathBuf>,
    /// What must stay unseen and exists.
    pub(crate) hidden: Vec<PathBuf>,
    /// Parents before children.
    pub(crate) places: BTreeMap<PathBuf, Access>,
}

/// Where programs leave sockets for each other, and where everybody may write.
const HOST_DIRECTORIES: &[&str] = &["/run", "/var/run", "/tmp", "/var/tmp"];

/// Small files below `/run` that others are links to, and the system of a distribution that lives
/// there.
const STILL_THERE: &[&str] = &[
    "/run/current-system",
    "/run/opengl-driver",
    "/run/systemd/resolve/stub-resolv.conf",
    "/run/systemd/resolve/resolv.conf",
];

impl Layout {
    /// Checks a plan against the disk.
    pub(crate) fn of(plan: &Plan) -> Result<Self, Refused> {
        let directory = resolve(&plan.directory)?;
        let mut writable = Vec::new();
        for root in plan.roots.iter().chain(&plan.scratch) {
            let root = resolve(root)?;
            if root == Path::new("/") {
                return Err(Refused::new(
                    "`/` as a writable directory would leave nothing to hold",
                ));
            }
            writable.push(root);
        }
        // Most of the usual places do not exist, which is faster to find out than where they are.
        let exist = plan.hidden.iter().filter(|path| std::fs::symlink_metadata(path).is_ok());
        let hidden: Vec<PathBuf> =
            exist.filter_map(|path| std::fs::canonicalize(path).ok()).collect();
        if let Some(root) = writable.iter().find(|root| hidden.contains(root)) {
            let words = format!("`{}` is to be written and to be hidden", root.display());
            return Err(Refused::new(words));
        }
        Ok(Self { directory, writable, hidden, places: BTreeMap::new() })
    }

    /// Adds what only mounts can express: the host's sockets out of reach, protected files that
    /// exist read-only, hidden ones empty.
    pub(crate) fn for_mounts(mut self, plan: &Plan, watched: &[Arc<Watched>]) -> Self {
        let places = &mut self.places;
        places.insert("/".into(), Access::Read);
        for path in HOST_DIRECTORIES.iter().map(Path::new).filter(|path| is_directory(path)) {
            places.insert(path.into(), Access::Empty);
        }
        for path in STILL_THERE.iter().map(Path::new).filter(|path| path.exists()) {
            places.insert(path.into(), Access::Read);
        }
        for path in plan.readable.iter().filter_map(|path| std::fs::canonicalize(path).ok()) {
            places.insert(path, Access::Read);
        }
        for path in &self.writable {
            places.insert(path.clone(), Access::Write);
        }
        for one in watched {
            if one.is_git_directory() {
                places.insert(one.root().join(".git"), Access::Write);
            }
            for path in one.held() {
                places.insert(path, Access::Read);
            }
            let inside = one.root().join(names::STILL_WRITTEN);
            if inside.parent().is_some_and(is_directory) && is_directory(&inside) {
                places.insert(inside, Access::Write);
            }
        }
        for path in plan.protected.iter().filter_map(|path| std::fs::canonicalize(path).ok()) {
            places.insert(path, Access::Read);
        }
        for path in &self.hidden {
            let nothing = if path.is_dir() { Access::Empty } else { Access::Nothing };
            places.insert(path.clone(), nothing);
        }
        for socket in sockets::of_the_host() {
            if plan.readable.contains(&socket) {
                // The user names it.
                continue;
            }
            if self.access(&socket) != Access::Empty {
                self.places.insert(socket, Access::Nothing);
            }
        }
        if let Network::Through(socket) = &plan.network {
            self.places.insert(socket.clone(), Access::Read);
        }
        self
    }

    /// Makes a file of ours visible, if it is not.
    pub(crate) fn show(&mut self, path: PathBuf) {
        if self.access(&path) == Access::Empty {
            self.places.insert(path, Access::Read);
        }
    }

    /// What a path is: as the nearest place above it says.
    fn access(&self, path: &Path) -> Access {
        let nearest = path.ancestors().find_map(|above| self.places.get(above));
        nearest.copied().unwrap_or(Access::Read)
    }
}

fn resolve(path: &Path) -> Result<PathBuf, Refused> {
    if !path.is_absolute() {
        return Err(Refused::new(format!("`{}` is not an absolute path", path.display())));
    }
    std::fs::canonicalize(path)
        .map_err(|error| Refused::new(format!("`{}`: {error}", path.display())))
}

/// A directory itself, not a link to one.
fn is_directory(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
}
