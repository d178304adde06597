//! Checks whether words of a command lead out of the working directories.

use std::path::{Path, PathBuf};

use crate::file_system_view::{FileSystemView, ResolvedPath, resolve_links};
use crate::path_pattern::normalize_path;
use crate::policy::Policy;

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

    /// Is it inside, both as spelled and as resolved?
    pub(crate) fn is_inside(&self, resolved: &ResolvedPath) -> bool {
        let spelled = self.spelled.iter().chain(&self.real);
        let is_below = |path: &Path, mut roots: std::slice::Iter<'_, PathBuf>| {
            roots.any(|root| path.starts_with(root))
        };
        let is_spelled = spelled.into_iter().any(|root| resolved.spelled.starts_with(root));
        !resolved.is_unresolvable && is_spelled && is_below(&resolved.real, self.real.iter())
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
