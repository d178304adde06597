//! Where skills lie: the user's first, then the project's from where we are up to its root. Folders
//! only; the skills in them are looked for beside the first request.

use std::path::{Path, PathBuf};

use windlass_settings::Sources;

use crate::environment::Lookup;
use crate::folder;

/// The folders that are there; where two hold a skill of one name, the first folder's is meant.
pub(crate) fn folders(cwd: &Path, sources: Sources, lookup: &impl Lookup) -> Vec<PathBuf> {
    let project = folder::project(cwd);
    let mut folders: Vec<PathBuf> = folder::claude(lookup)
        .map(|folder| folder.join("skills"))
        .into_iter()
        .chain(folder::home(lookup).map(|home| home.join(".agents/skills")))
        .filter(|_| sources.user)
        .collect();
    for folder in
        cwd.ancestors().take_while(|folder| sources.project && folder.starts_with(&project))
    {
        folders.push(folder.join(".claude/skills"));
        folders.push(folder.join(".agents/skills"));
    }
    let mut seen = Vec::new();
    folders.retain(|folder| {
        let is_new = folder.is_dir() && !seen.contains(folder);
        seen.push(folder.clone());
        is_new
    });
    folders
}
