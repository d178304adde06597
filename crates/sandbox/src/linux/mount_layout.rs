//! Resolves a plan to the access of each path, checked against the disk.
//!
//! The most specific path decides, so the list is in path order, parents first, which is also the
//! order of mounting. Paths are resolved here once; a symlink inside a root is never followed,
//! because any process that may write there could have created it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::guarded_root::GuardedRoot;
use super::host_sockets;
use super::linked_secrets::LinkedSecrets;
use crate::error::SandboxPlanRefusal;
use crate::plan::{SandboxNetwork, SandboxPlan};
use crate::protected_names;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MountAccess {
    Read,
    Write,
    /// An empty directory instead of the host's.
    Empty,
    /// A file that cannot be opened.
    Nothing,
    /// A directory in place of a missing file that must not be created.
    Held,
}

#[derive(Clone, Debug)]
pub(crate) struct MountLayout {
    pub(crate) directory: PathBuf,
    pub(crate) writable: Vec<PathBuf>,
    /// Existing paths that must be hidden.
    pub(crate) hidden: Vec<PathBuf>,
    /// Parents before children.
    pub(crate) mounts: BTreeMap<PathBuf, MountAccess>,
}

/// Where programs create sockets, and where all users can write.
const HOST_DIRECTORIES: &[&str] = &["/run", "/var/run", "/tmp", "/var/tmp"];

/// Each mount costs time; a machine with more visible sockets than this is not a desktop.
const SOCKETS_MAX: usize = 512;

/// Small files below `/run` that are targets of symlinks, and the system of a distribution there.
const READABLE_IN_RUN: &[&str] = &[
    "/run/current-system",
    "/run/opengl-driver",
    "/run/systemd/resolve/stub-resolv.conf",
    "/run/systemd/resolve/resolv.conf",
];

impl MountLayout {
    pub(crate) fn from_plan(plan: &SandboxPlan) -> Result<Self, SandboxPlanRefusal> {
        let directory = canonicalize_absolute(&plan.directory)?;
        let mut writable = Vec::new();
        for root in plan.roots.iter().chain(&plan.scratch) {
            let root = canonicalize_absolute(root)?;
            if root == Path::new("/") {
                return Err(SandboxPlanRefusal::new(
                    "`/` as a writable directory would leave nothing to hold",
                ));
            }
            writable.push(root);
        }
        // Most of the paths do not exist, which is faster to check than resolving them.
        let exist = plan.hidden.iter().filter(|path| std::fs::symlink_metadata(path).is_ok());
        let mut hidden: Vec<PathBuf> =
            exist.filter_map(|path| std::fs::canonicalize(path).ok()).collect();
        let linked = LinkedSecrets::list(&hidden).find_names(&writable);
        hidden.extend(linked.map_err(SandboxPlanRefusal::new)?);
        if let Some(root) = writable.iter().find(|root| hidden.contains(root)) {
            let words = format!("`{}` is to be written and to be hidden", root.display());
            return Err(SandboxPlanRefusal::new(words));
        }
        Ok(Self { directory, writable, hidden, mounts: BTreeMap::new() })
    }

    /// Adds what only mounts can enforce: covers the host's sockets, makes protected files
    /// read-only, and hidden ones empty.
    ///
    /// # Errors
    ///
    /// The host has too many visible sockets.
    pub(crate) fn with_mounts(
        mut self,
        plan: &SandboxPlan,
        watched: &[Arc<GuardedRoot>],
    ) -> Result<Self, SandboxPlanRefusal> {
        let places = &mut self.mounts;
        places.insert("/".into(), MountAccess::Read);
        for path in HOST_DIRECTORIES.iter().map(Path::new).filter(|path| is_directory(path)) {
            places.insert(path.into(), MountAccess::Empty);
        }
        for path in READABLE_IN_RUN.iter().map(Path::new).filter(|path| path.exists()) {
            places.insert(path.into(), MountAccess::Read);
        }
        for path in plan.readable.iter().filter_map(|path| std::fs::canonicalize(path).ok()) {
            places.insert(path, MountAccess::Read);
        }
        for path in &self.writable {
            places.insert(path.clone(), MountAccess::Write);
        }
        for one in watched {
            if one.is_git_directory() {
                places.insert(one.root().join(".git"), MountAccess::Write);
            }
            for path in one.mounted_paths() {
                places.insert(path, MountAccess::Read);
            }
            for path in one.held_paths() {
                places.insert(path, MountAccess::Held);
            }
            let (outer, inner) = protected_names::WRITABLE_IN_PROTECTED;
            let inside = one.root().join(outer).join(inner);
            if inside.parent().is_some_and(is_directory) && is_directory(&inside) {
                places.insert(inside, MountAccess::Write);
            }
        }
        for path in plan.protected.iter().filter_map(|path| std::fs::canonicalize(path).ok()) {
            places.insert(path, MountAccess::Read);
        }
        for path in &self.hidden {
            let nothing = if path.is_dir() { MountAccess::Empty } else { MountAccess::Nothing };
            places.insert(path.clone(), nothing);
        }
        self.cover_sockets(plan).map_err(SandboxPlanRefusal::new)?;
        if let SandboxNetwork::ViaProxy(socket) = &plan.network {
            self.mounts.insert(socket.clone(), MountAccess::Read);
        }
        Ok(self)
    }

    fn cover_sockets(&mut self, plan: &SandboxPlan) -> Result<(), String> {
        let sockets = host_sockets::list_host_sockets(&self.writable)?;
        let is_seen = |socket: &PathBuf| {
            // The user may have allowed it.
            !plan.readable.contains(socket) && self.access(socket) != MountAccess::Empty
        };
        let seen: Vec<PathBuf> = sockets.into_iter().filter(is_seen).collect();
        if seen.len() > SOCKETS_MAX {
            return Err(format!("{} sockets of this machine are visible", seen.len()));
        }
        self.mounts.extend(seen.into_iter().map(|socket| (socket, MountAccess::Nothing)));
        Ok(())
    }

    /// Writable directories in which nothing is protected, and that contain no other ones.
    pub(crate) fn list_free_directories(&self, plan: &SandboxPlan) -> Vec<PathBuf> {
        let roots: Vec<PathBuf> =
            plan.roots.iter().filter_map(|root| std::fs::canonicalize(root).ok()).collect();
        let scratch = plan.scratch.iter().filter_map(|path| std::fs::canonicalize(path).ok());
        let private = ["/dev", "/tmp", "/var/tmp"].map(PathBuf::from);
        let is_free = |path: &PathBuf| !roots.iter().any(|root| root.starts_with(path));
        private.into_iter().chain(scratch).filter(is_free).collect()
    }

    /// Makes a file of ours visible.
    pub(crate) fn make_visible(&mut self, path: PathBuf) {
        if self.access(&path) == MountAccess::Empty {
            self.mounts.insert(path, MountAccess::Read);
        }
    }

    /// The access of a path: that of its nearest listed parent.
    fn access(&self, path: &Path) -> MountAccess {
        let nearest = path.ancestors().find_map(|above| self.mounts.get(above));
        nearest.copied().unwrap_or(MountAccess::Read)
    }
}

fn canonicalize_absolute(path: &Path) -> Result<PathBuf, SandboxPlanRefusal> {
    if !path.is_absolute() {
        return Err(SandboxPlanRefusal::new(format!(
            "`{}` is not an absolute path",
            path.display()
        )));
    }
    std::fs::canonicalize(path)
        .map_err(|error| SandboxPlanRefusal::new(format!("`{}`: {error}", path.display())))
}

/// A directory, not a symlink to one.
fn is_directory(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
}
