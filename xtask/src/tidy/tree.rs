//! The repository as the rules see it: every text file, and the manifest of every crate.
//!
//! Read once, in a fixed order, without following links and without asking git, so that a rule
//! gives the same answer on every machine. Files that are not text, or too big to be anyone's
//! source, are left out.

use std::fs;
use std::io;
use std::path::Path;

/// A file larger than this is a recording or an artefact, not something a person wrote.
const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// Folders that hold what tools made.
const SKIPPED_FOLDERS: &[&str] = &["target", ".git", ".venv", "node_modules"];

/// In a worktree, a file that says where its repository is.
const WORKTREE_LINK: &str = ".git";

/// The repository.
pub struct RepositoryTree {
    /// Where it is.
    pub root: std::path::PathBuf,
    /// Every text file, sorted by path.
    pub files: Vec<TextFile>,
    /// Every crate of the workspace, sorted by folder.
    pub crates: Vec<WorkspaceCrate>,
}

/// One text file.
pub struct TextFile {
    /// From the root, with forward slashes.
    pub path: String,
    /// Its text.
    pub text: String,
}

/// One crate of the workspace.
pub struct WorkspaceCrate {
    /// The folder's name, which is what the floor table and the map call the crate.
    pub name: String,
    /// The folder, from the root.
    pub folder: String,
    /// Its manifest.
    pub manifest: toml::Table,
}

impl RepositoryTree {
    /// Reads the repository at `root`.
    ///
    /// # Errors
    ///
    /// When a folder cannot be listed, a file cannot be read, or a crate's manifest is not TOML.
    pub fn read(root: &Path) -> Result<Self, String> {
        let mut files = Vec::new();
        walk(root, "", &mut files)?;
        files.sort_by(|a, b| a.path.cmp(&b.path));
        let mut crates = Vec::new();
        for file in &files {
            let Some(folder) = crate_folder(&file.path) else {
                continue;
            };
            let manifest = file
                .text
                .parse::<toml::Table>()
                .map_err(|error| format!("{}: not a manifest: {error}", file.path))?;
            let name = folder.rsplit('/').next().unwrap_or(folder).to_owned();
            crates.push(WorkspaceCrate { name, folder: folder.to_owned(), manifest });
        }
        Ok(Self { root: root.to_owned(), files, crates })
    }

    /// The file at this path, if it is there.
    #[must_use]
    pub fn file(&self, path: &str) -> Option<&TextFile> {
        self.files.iter().find(|file| file.path == path)
    }

    /// The files below this folder, which is given without a closing slash.
    pub fn files_below<'a>(&'a self, folder: &'a str) -> impl Iterator<Item = &'a TextFile> {
        self.files.iter().filter(move |file| {
            file.path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
        })
    }

    /// The Rust files below `crates/*/src`, each with the name of its crate. Files called `tests.rs`
    /// are left out, as what stands under `#[cfg(test)]` is.
    pub fn crate_sources(&self) -> impl Iterator<Item = (&str, &TextFile)> {
        self.rust_files().filter_map(|file| {
            let (name, inside) = file.path.strip_prefix("crates/")?.split_once('/')?;
            (inside.starts_with("src/") && !inside.ends_with("/tests.rs")).then_some((name, file))
        })
    }

    /// Rust files of the whole tree.
    pub fn rust_files(&self) -> impl Iterator<Item = &TextFile> {
        self.files.iter().filter(|file| file.path.ends_with(".rs"))
    }

    /// Has this crate been begun? A crate whose only source is a line or two has not, and rules
    /// about what must be in it wait.
    #[must_use]
    pub fn is_begun(&self, name: &str) -> bool {
        let folder = format!("crates/{name}/src");
        let sources: Vec<&TextFile> = self.files_below(&folder).collect();
        match sources.as_slice() {
            [] => false,
            [only] => only.text.lines().filter(|line| !line.trim().is_empty()).count() > 3,
            _ => true,
        }
    }
}

/// The crate folder this manifest describes, if it is a workspace member's manifest. A manifest
/// deeper down belongs to a fixture or a fuzz target, which stand outside the workspace.
fn crate_folder(path: &str) -> Option<&str> {
    let folder = path.strip_suffix("/Cargo.toml")?;
    let is_member = match folder.strip_prefix("crates/") {
        Some(name) => !name.contains('/'),
        None => folder == "xtask",
    };
    is_member.then_some(folder)
}

fn walk(folder: &Path, prefix: &str, files: &mut Vec<TextFile>) -> Result<(), String> {
    let wrong = |error: io::Error| format!("{}: cannot be read: {error}", folder.display());
    for entry in fs::read_dir(folder).map_err(wrong)? {
        let entry = entry.map_err(wrong)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}/{name}") };
        let kind = entry.file_type().map_err(wrong)?;
        if kind.is_dir() {
            if !SKIPPED_FOLDERS.contains(&name.as_str()) {
                walk(&entry.path(), &path, files)?;
            }
        } else if kind.is_file()
            && name != WORKTREE_LINK
            && entry.metadata().map_err(wrong)?.len() <= FILE_BYTES_MAX
        {
            let bytes = fs::read(entry.path()).map_err(wrong)?;
            if let Ok(text) = String::from_utf8(bytes) {
                files.push(TextFile { path, text });
            }
        }
    }
    Ok(())
}
