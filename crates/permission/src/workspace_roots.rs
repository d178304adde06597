//! Checks whether words of a command lead out of the working directories.

use std::path::{Path, PathBuf};

use crate::file_system_view::{FileSystemView, ResolvedPath, resolve_links};
use crate::path_pattern::normalize_path;
use crate::policy::Policy;
use crate::secret_paths::{find_secret_place, holds_secrets};

#[derive(Clone)]
pub(crate) struct WorkspaceRoots<'a> {
    pub(crate) file_system: &'a dyn FileSystemView,
    spelled: Vec<PathBuf>,
    real: Vec<PathBuf>,
}

impl<'a> WorkspaceRoots<'a> {
    pub(crate) fn new(policy: &Policy, file_system: &'a dyn FileSystemView) -> Self {
        let spelled: Vec<PathBuf> = policy
            .directories
            .iter()
            .map(|path| normalize_path(Path::new("/"), Path::new(path)))
            .collect();
        let real = spelled
            .iter()
            .map(|path| resolve_links(file_system, path, Path::new("")).real)
            .collect();
        Self { file_system, spelled, real }
    }

    /// Is it inside, both as spelled and as resolved, and not a usual path of keys?
    pub(crate) fn is_inside(&self, resolved: &ResolvedPath) -> bool {
        let spelled = self.spelled.iter().chain(&self.real);
        let is_below = |path: &Path, mut roots: std::slice::Iter<'_, PathBuf>| {
            roots.any(|root| path.starts_with(root))
        };
        let is_spelled = spelled.into_iter().any(|root| resolved.spelled.starts_with(root));
        !resolved.is_unresolvable
            && is_spelled
            && is_below(&resolved.real, self.real.iter())
            && !self.is_secret(resolved)
    }

    /// Is it a usual path of keys? A working directory inside of such a path was chosen on purpose.
    pub(crate) fn is_secret(&self, resolved: &ResolvedPath) -> bool {
        let homes = self.list_homes();
        resolved.both_paths().any(|path| {
            find_secret_place(path, &homes).is_some_and(|place| {
                let mut roots = self.spelled.iter().chain(&self.real);
                !roots.any(|root| root.starts_with(&place) && path.starts_with(root))
            })
        })
    }

    /// May what is below one of these paths be a usual path of keys?
    pub(crate) fn hold_secrets<'p>(&self, mut paths: impl Iterator<Item = &'p Path>) -> bool {
        let homes = self.list_homes();
        paths.any(|path| holds_secrets(path, &homes))
    }

    /// The home directory, as it is named and as it is resolved.
    fn list_homes(&self) -> Vec<PathBuf> {
        let Some(home) = self.file_system.home_directory() else { return Vec::new() };
        let real = resolve_links(self.file_system, home, Path::new("")).real;
        let mut homes = vec![home.to_owned(), real];
        homes.dedup();
        homes
    }

    /// The paths a text may mean, from each possible directory. `None` if unknown.
    pub(crate) fn resolve_text(
        &self,
        text: &str,
        directories: &[PathBuf],
    ) -> Option<Vec<ResolvedPath>> {
        let path = Path::new(text);
        if path.is_absolute() {
            return Some(vec![resolve_links(self.file_system, Path::new("/"), path)]);
        }
        if directories.is_empty() {
            return None;
        }
        let resolve = |directory: &PathBuf| resolve_links(self.file_system, directory, path);
        Some(directories.iter().map(resolve).collect())
    }
}

/// Devices that store nothing and reveal nothing.
pub(crate) fn is_harmless_device(path: &Path) -> bool {
    let names = ["/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/zero"];
    let descriptor = path.to_str().and_then(|path| path.strip_prefix("/dev/fd/"));
    names.iter().any(|name| path == Path::new(name))
        || descriptor.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
}
