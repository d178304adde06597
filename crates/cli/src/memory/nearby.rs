//! Instructions that are said when a file they count for is first read: those of folders below where
//! we are, and rules for some files alone.

use std::path::{Path, PathBuf};

use windlass_driver::{Instruction, Nearby};

use super::Wanted;
use super::loader::{IMPORTS_DEEP, Loader, Section};

/// Looks for them.
#[derive(Debug)]
pub(crate) struct NearbyFiles {
    /// With everything that was said at the start marked as seen.
    loader: Loader,
    /// Where we are, by its real path.
    cwd: PathBuf,
    project: bool,
    local: bool,
}

impl NearbyFiles {
    pub(super) fn new(loader: Loader, cwd: &Path, wanted: &Wanted) -> Self {
        let cwd = cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned());
        Self { loader, cwd, project: wanted.project, local: wanted.local }
    }
}

impl Nearby for NearbyFiles {
    fn instructions(&self, file: &Path) -> Vec<Instruction> {
        let Ok(real) = file.canonicalize() else { return Vec::new() };
        let mut loader = self.loader.clone();
        let Ok(inside) = real.strip_prefix(&self.loader.project) else { return Vec::new() };
        // From the project's root down; what is on the way to where we are was said at the start.
        let mut folders: Vec<&Path> = real.ancestors().skip(1).collect();
        folders
            .retain(|folder| folder.starts_with(&loader.project) && !self.cwd.starts_with(folder));
        for folder in folders.into_iter().rev() {
            loader.folder(folder, self.project, self.local);
        }
        for rule in self.loader.rules.iter().filter(|rule| rule.files.is_match(inside)) {
            loader.add(&rule.path, rule.author, IMPORTS_DEEP);
        }
        let said = |Section { path, text, .. }: Section| Instruction { place: path, text };
        loader.sections.into_iter().map(said).collect()
    }
}
