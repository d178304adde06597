//! Instructions that are added when a matching file is first read: those of folders below the
//! working directory, and rules for certain files.

use std::path::{Path, PathBuf};

use windlass_driver::{PathInstruction, PathInstructionSource};

use super::MemoryOptions;
use super::loader::{IMPORT_DEPTH_MAX, MemoryLoader, MemorySection};

#[derive(Debug)]
pub struct PathInstructionFiles {
    /// Knows what was loaded at the start, so that it is not repeated.
    loader: MemoryLoader,
    cwd: PathBuf,
    project: bool,
    local: bool,
}

impl PathInstructionFiles {
    pub(super) fn new(loader: MemoryLoader, cwd: &Path, wanted: &MemoryOptions) -> Self {
        let cwd = cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned());
        Self { loader, cwd, project: wanted.project, local: wanted.local }
    }
}

impl PathInstructionSource for PathInstructionFiles {
    fn load_instructions(&self, file: &Path) -> Vec<PathInstruction> {
        let Ok(real) = file.canonicalize() else { return Vec::new() };
        let mut loader = self.loader.clone();
        let Ok(inside) = real.strip_prefix(&self.loader.project) else { return Vec::new() };
        // From the project's root down; folders above the working directory were loaded at the
        // start.
        let mut folders: Vec<&Path> = real.ancestors().skip(1).collect();
        folders
            .retain(|folder| folder.starts_with(&loader.project) && !self.cwd.starts_with(folder));
        for folder in folders.into_iter().rev() {
            loader.load_folder(folder, self.project, self.local);
        }
        for rule in self.loader.rules.iter().filter(|rule| rule.files.is_match(inside)) {
            loader.add_with_imports(&rule.path, rule.author, IMPORT_DEPTH_MAX);
        }
        let content =
            |MemorySection { path, text, .. }: MemorySection| PathInstruction { path, text };
        loader.sections.into_iter().map(content).collect()
    }
}
