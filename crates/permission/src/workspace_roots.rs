//! Where words of a command lead: inside the working directories, or out.

use std::path::{Path, PathBuf};

use crate::file_system_view::{FileSystemView, PathEntry, ResolvedPath, resolve_links};
use crate::path_pattern::normalize_path;
use crate::policy::Policy;
use crate::shell_command::{PossibleDirectories, ShellWord};

/// The working directories and whoever can see files.
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

    /// Does it lie inside, by its spelling and where it really leads?
    pub(crate) fn is_inside(&self, meant: &ResolvedPath) -> bool {
        let spelled = self.spelled.iter().chain(&self.real);
        let is_below = |path: &Path, mut roots: std::slice::Iter<'_, PathBuf>| {
            roots.any(|root| path.starts_with(root))
        };
        let is_spelled = spelled.into_iter().any(|root| meant.spelled.starts_with(root));
        !meant.is_unresolvable && is_spelled && is_below(&meant.real, self.real.iter())
    }

    /// The paths a text may mean, from each place it may be read at. `None` when that is not known.
    pub(crate) fn resolve_text(
        &self,
        text: &str,
        places: &PossibleDirectories,
    ) -> Option<Vec<ResolvedPath>> {
        let path = Path::new(text);
        if path.is_absolute() {
            return Some(vec![resolve_links(self.file_system, Path::new("/"), path)]);
        }
        let places = places.as_slice();
        if places.is_empty() {
            return None;
        }
        Some(places.iter().map(|place| resolve_links(self.file_system, place, path)).collect())
    }

    /// May this word name something outside, or something that is more than a file?
    pub(crate) fn may_leave_workspace(
        &self,
        word: &ShellWord,
        places: &PossibleDirectories,
    ) -> bool {
        if word.is_pipe() {
            return false;
        }
        let texts = match (&word.known, word.is_glob && !word.is_split) {
            (Some(_), _) => find_path_candidates(&word.text),
            // What lies in a directory is in it, as far as its spelling goes.
            (None, true) if !word.text.contains("..") && !word.text.contains('…') => {
                let directory = word.prefix.rsplit_once('/').map_or("", |(directory, _)| directory);
                let is_root = word.prefix.starts_with('/') && directory.is_empty();
                vec![if is_root { "/" } else { directory }]
            }
            _ => return true,
        };
        texts.iter().any(|text| match self.resolve_text(text, places) {
            None => true,
            Some(all) => all.iter().any(|meant| {
                let is_file = meant.entry != PathEntry::Special;
                let is_fine = self.is_inside(meant) && is_file;
                !is_fine && !is_harmless_device(&meant.spelled)
            }),
        })
    }
}

/// Devices that keep nothing and give nothing away.
pub(crate) fn is_harmless_device(path: &Path) -> bool {
    let names = ["/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/zero"];
    let descriptor = path.to_str().and_then(|path| path.strip_prefix("/dev/fd/"));
    names.iter().any(|name| path == Path::new(name))
        || descriptor.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The texts within a word that may name a file: the word itself, or the value of an option.
pub(crate) fn find_path_candidates(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let is_option = text.starts_with('-') && text.len() > 1;
    if !is_option {
        found.push(text);
    }
    if let Some((_, value)) = text.split_once('=') {
        found.push(value);
    }
    if is_option && !text.starts_with("--") {
        found.extend(text.get(2..).filter(|value| !value.is_empty()));
    }
    if is_option && let Some(at) = text.find('/') {
        let from = text.get(..at).and_then(|before| before.find("..")).unwrap_or(at);
        found.extend(text.get(from..));
    }
    found.retain(|text| !text.is_empty());
    found
}
