//! Takes in files of instructions, and what they take in: each once, by its real path.

use std::collections::BTreeSet;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use globset::{Glob, GlobSet, GlobSetBuilder};

use super::excluded::Excluded;
use super::file::{self, Content};
use super::import;
use crate::frontmatter::pages;

/// Who wrote a file, which decides what it may take in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Author {
    /// Whoever runs the machine.
    System,
    /// The user, for all projects.
    User,
    /// A model, in earlier conversations.
    Notes,
    /// Whoever wrote the project.
    Project,
}

/// One file in the text.
#[derive(Clone, Debug)]
pub(super) struct Section {
    pub(super) author: Author,
    pub(super) path: PathBuf,
    pub(super) text: String,
}

/// A file that counts for some files alone.
#[derive(Clone, Debug)]
pub(super) struct PathRule {
    pub(super) files: GlobSet,
    pub(super) path: PathBuf,
    pub(super) author: Author,
}

/// What was taken in so far.
#[derive(Clone, Debug)]
pub(super) struct Loader {
    pub(super) project: PathBuf,
    home: Option<PathBuf>,
    pub(super) excluded: Excluded,
    /// By their real paths: what is linked or taken in twice is said once.
    pub(super) seen: BTreeSet<PathBuf>,
    pub(super) sections: Vec<Section>,
    pub(super) rules: Vec<PathRule>,
    patterns: usize,
    pub(super) notes: Vec<String>,
}

impl Loader {
    pub(super) fn new(project: PathBuf, home: Option<PathBuf>) -> Self {
        Self {
            project,
            home,
            excluded: Excluded::default(),
            seen: BTreeSet::new(),
            sections: Vec::new(),
            rules: Vec::new(),
            patterns: 0,
            notes: Vec::new(),
        }
    }

    /// What a directory has to say: its own file, and the one somebody keeps for himself.
    pub(super) fn folder(&mut self, folder: &Path, project: bool, local: bool) {
        if project {
            let own = ["CLAUDE.md", ".claude/CLAUDE.md", "AGENTS.md"];
            let _ = own.iter().any(|name| self.take(&folder.join(name), Author::Project));
        }
        if local {
            self.take(&folder.join("CLAUDE.local.md"), Author::Project);
        }
    }

    /// Takes in the beginning of the notes of earlier conversations, as they are.
    pub(super) fn notebook(&mut self, path: &Path) {
        let Ok(file) = std::fs::File::open(path) else { return };
        let mut bytes = Vec::new();
        if file.take(NOTES_BYTES_MAX).read_to_end(&mut bytes).is_err() {
            return self.leave_out(path, "it cannot be read");
        }
        let text = String::from_utf8_lossy(&bytes);
        let text: Vec<&str> = text.lines().take(NOTES_LINES_MAX).collect();
        let text = text.join("\n");
        if !text.trim().is_empty() {
            let (author, path) = (Author::Notes, path.to_owned());
            self.sections.push(Section { author, path, text });
        }
    }

    /// Takes in a file and what it takes in. Says whether it is there.
    pub(super) fn take(&mut self, path: &Path, author: Author) -> bool {
        let Some(real) = self.allowed(path, author) else { return path.exists() };
        self.add(&real, author, IMPORTS_DEEP);
        true
    }

    /// Takes in the rules of a folder; those for some files alone are kept for later.
    pub(super) fn rules(&mut self, folder: &Path, author: Author) {
        for path in pages(folder) {
            let Some(real) = self.allowed(&path, author) else { continue };
            match file::paths(&real) {
                Ok(None) => self.add(&real, author, IMPORTS_DEEP),
                Ok(Some(patterns)) => self.rule(real, author, &patterns),
                Err(problem) => self.leave_out(&real, &problem),
            }
        }
    }

    fn rule(&mut self, path: PathBuf, author: Author, patterns: &[String]) {
        self.patterns += patterns.len();
        if self.patterns > PATTERNS_MAX {
            self.leave_out(&path, "the rules have over 1,000 patterns");
            return;
        }
        let mut files = GlobSetBuilder::new();
        for pattern in patterns {
            match Glob::new(pattern.trim_start_matches("./")) {
                Ok(glob) => drop(files.add(glob)),
                Err(error) => self.leave_out(&path, &error.to_string()),
            }
        }
        if let Ok(files) = files.build() {
            self.rules.push(PathRule { files, path, author });
        }
    }

    fn allowed(&mut self, path: &Path, author: Author) -> Option<PathBuf> {
        let real = path.canonicalize().ok()?;
        if author != Author::System && self.excluded.has(path, &real) {
            return None;
        }
        if author == Author::Project && !self.is_trusted(path, &real) {
            self.leave_out(path, "it belongs to somebody else, or lies outside the project");
            return None;
        }
        Some(real)
    }

    pub(super) fn add(&mut self, real: &Path, author: Author, depth: u8) {
        if !self.seen.insert(real.to_owned()) {
            return;
        }
        let Content { text, imports } = match file::read(real) {
            Ok(content) => content,
            Err(problem) => return self.leave_out(real, &problem),
        };
        if !text.trim().is_empty() {
            self.sections.push(Section { author, path: real.to_owned(), text });
        }
        for import in imports {
            let Some(target) = import::target(&import, real, self.home.as_deref()) else {
                continue;
            };
            if author == Author::Project && !target.starts_with(&self.project) {
                let place = real.display();
                self.notes.push(format!("@{import} of {place} lies outside the project"));
            } else if depth == 0 {
                self.notes.push(format!("@{import} of {} is taken in too deep", real.display()));
            } else {
                self.add(&target, author, depth - 1);
            }
        }
    }

    /// A file of the project must lie in it; one above it must be the user's own, because others may
    /// write to directories such as the one for temporary files.
    fn is_trusted(&self, path: &Path, real: &Path) -> bool {
        if path.starts_with(&self.project) {
            return real.starts_with(&self.project);
        }
        let ours = rustix::process::getuid().as_raw();
        real.metadata().is_ok_and(|found| [0, ours].contains(&found.uid()))
    }

    fn leave_out(&mut self, path: &Path, why: &str) {
        self.notes.push(format!("{} was not read: {why}", path.display()));
    }
}

/// Files taken in by files that were taken in.
pub(super) const IMPORTS_DEEP: u8 = 4;
/// Notes of earlier conversations that are read.
const NOTES_LINES_MAX: usize = 200;
const NOTES_BYTES_MAX: u64 = 25 * 1024;
/// Patterns of all rules together.
const PATTERNS_MAX: usize = 1_000;
