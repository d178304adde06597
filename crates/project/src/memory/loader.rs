//! Loads instruction files and their imports, each file once by its canonical path.

use std::collections::BTreeSet;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use globset::{Glob, GlobSet, GlobSetBuilder};

use super::excluded_files::ExcludedFiles;
use super::import;
use super::memory_file::{self, MemoryFileContent};
use crate::call_judgement::judge_read;
use crate::markdown_files::list_markdown_files;
use windlass_driver::ToolRegistry;
use windlass_host::regular_file::{open_regular, report_if_special};
use windlass_permission::Policy;
use windlass_vocabulary::PermissionMode;

static BUILTIN_TOOLS: LazyLock<ToolRegistry> = LazyLock::new(ToolRegistry::with_builtin_tools);

/// The author of a file, which determines what it may import.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MemoryAuthor {
    System,
    User,
    AutoMemory,
    Project,
}

impl MemoryAuthor {
    pub(super) const ALL: [Self; 4] = [Self::System, Self::User, Self::AutoMemory, Self::Project];

    /// For the model.
    pub(super) fn describe(self) -> &'static str {
        match self {
            Self::System => "set for this machine",
            Self::User => "the user's own, for all projects",
            Self::AutoMemory => "noted in earlier conversations here; may be out of date",
            Self::Project => "of the project",
        }
    }

    /// In the terms of other programs.
    pub(super) fn kind(self) -> &'static str {
        match self {
            Self::System => "Managed",
            Self::User => "User",
            Self::AutoMemory => "AutoMem",
            Self::Project => "Project",
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct MemorySection {
    pub(super) author: MemoryAuthor,
    pub(super) path: PathBuf,
    pub(super) text: String,
}

/// A file that applies only to certain files.
#[derive(Clone, Debug)]
pub(super) struct PathRule {
    pub(super) files: GlobSet,
    pub(super) path: PathBuf,
    pub(super) author: MemoryAuthor,
}

#[derive(Clone, Debug)]
pub(super) struct MemoryLoader {
    pub(super) project: PathBuf,
    home: Option<PathBuf>,
    policy: Policy,
    pub(super) excluded: ExcludedFiles,
    /// By canonical path: a file that is linked or imported twice is added once.
    pub(super) loaded_paths: BTreeSet<PathBuf>,
    pub(super) sections: Vec<MemorySection>,
    pub(super) rules: Vec<PathRule>,
    pattern_count: usize,
    pub(super) notes: Vec<String>,
}

impl MemoryLoader {
    pub(super) fn new(project: PathBuf, home: Option<PathBuf>, mut policy: Policy) -> Self {
        // The whole project is read here, wherever in it the session works.
        policy.directories.push(project.to_string_lossy().into_owned());
        policy.rules.ask.clear();
        policy.mode = PermissionMode::Default;
        Self {
            project,
            home,
            policy,
            excluded: ExcludedFiles::default(),
            loaded_paths: BTreeSet::new(),
            sections: Vec::new(),
            rules: Vec::new(),
            pattern_count: 0,
            notes: Vec::new(),
        }
    }

    /// Loads a directory's own file, and the user's private one.
    pub(super) fn load_folder(&mut self, folder: &Path, project: bool, local: bool) {
        if project {
            let own = ["CLAUDE.md", ".claude/CLAUDE.md", "AGENTS.md"];
            let _ =
                own.iter().any(|name| self.load_file(&folder.join(name), MemoryAuthor::Project));
        }
        if local {
            self.load_file(&folder.join("CLAUDE.local.md"), MemoryAuthor::Project);
        }
    }

    /// Loads the beginning of the notes of earlier conversations, unchanged.
    pub(super) fn load_auto_memory(&mut self, path: &Path) {
        let file = match open_regular(path) {
            Ok(file) => file,
            Err(error) => return report_if_special(path, &error),
        };
        let mut bytes = Vec::new();
        if file.take(NOTES_BYTES_MAX).read_to_end(&mut bytes).is_err() {
            return self.note_skipped(path, "it cannot be read");
        }
        let text = String::from_utf8_lossy(&bytes);
        let text: Vec<&str> = text.lines().take(NOTES_LINES_MAX).collect();
        let text = text.join("\n");
        if !text.trim().is_empty() {
            let author = MemoryAuthor::AutoMemory;
            let path = path.to_owned();
            self.sections.push(MemorySection { author, path, text });
        }
    }

    /// Loads a file and its imports. Returns whether it exists.
    pub(super) fn load_file(&mut self, path: &Path, author: MemoryAuthor) -> bool {
        let Some(real) = self.resolve_allowed(path, author) else { return path.exists() };
        self.add_with_imports(&real, author, IMPORT_DEPTH_MAX);
        true
    }

    /// Loads the rules of a folder; those for certain files are stored for later.
    pub(super) fn load_rules(&mut self, folder: &Path, author: MemoryAuthor) {
        for path in list_markdown_files(folder) {
            let Some(real) = self.resolve_allowed(&path, author) else { continue };
            match memory_file::read_path_patterns(&real) {
                Ok(None) => self.add_with_imports(&real, author, IMPORT_DEPTH_MAX),
                Ok(Some(patterns)) => self.add_path_rule(real, author, &patterns),
                Err(problem) => self.note_skipped(&real, &problem),
            }
        }
    }

    fn add_path_rule(&mut self, path: PathBuf, author: MemoryAuthor, patterns: &[String]) {
        self.pattern_count += patterns.len();
        if self.pattern_count > PATTERNS_MAX {
            self.note_skipped(&path, "the rules have over 1,000 patterns");
            return;
        }
        let mut files = GlobSetBuilder::new();
        for pattern in patterns {
            match Glob::new(pattern.trim_start_matches("./")) {
                Ok(glob) => drop(files.add(glob)),
                Err(error) => self.note_skipped(&path, &error.to_string()),
            }
        }
        if let Ok(files) = files.build() {
            self.rules.push(PathRule { files, path, author });
        }
    }

    fn resolve_allowed(&mut self, path: &Path, author: MemoryAuthor) -> Option<PathBuf> {
        let real = path.canonicalize().ok()?;
        if author != MemoryAuthor::System && self.excluded.contains(path, &real) {
            return None;
        }
        if author == MemoryAuthor::Project && !self.is_trusted(path, &real) {
            self.note_skipped(path, "it belongs to another user, or lies outside the project");
            return None;
        }
        if author == MemoryAuthor::Project
            && real != path
            && let Err(why) = self.judge_read(&real)
        {
            self.note_skipped(path, &why);
            return None;
        }
        Some(real)
    }

    /// May the text of a project bring this file to the model?
    fn judge_read(&self, real: &Path) -> Result<(), String> {
        judge_read(&self.policy, &BUILTIN_TOOLS, &real.to_string_lossy())
    }

    pub(super) fn add_with_imports(&mut self, real: &Path, author: MemoryAuthor, depth: u8) {
        if !self.loaded_paths.insert(real.to_owned()) {
            return;
        }
        let MemoryFileContent { text, imports } = match memory_file::read_memory_file(real) {
            Ok(content) => content,
            Err(problem) => return self.note_skipped(real, &problem),
        };
        if !text.trim().is_empty() {
            self.sections.push(MemorySection { author, path: real.to_owned(), text });
        }
        for import in imports {
            let Some(target) = import::resolve_import(&import, real, self.home.as_deref()) else {
                continue;
            };
            if author == MemoryAuthor::Project && !target.starts_with(&self.project) {
                let place = real.display();
                self.notes.push(format!("@{import} of {place} lies outside the project"));
            } else if author == MemoryAuthor::Project
                && let Err(why) = self.judge_read(&target)
            {
                self.notes.push(format!("@{import} of {} was not read: {why}", real.display()));
            } else if depth == 0 {
                self.notes.push(format!("@{import} of {} is nested too deep", real.display()));
            } else {
                self.add_with_imports(&target, author, depth - 1);
            }
        }
    }

    /// A project's file must be inside of the project; a file above it must belong to the user,
    /// because others can write to directories such as the temporary one.
    fn is_trusted(&self, path: &Path, real: &Path) -> bool {
        if path.starts_with(&self.project) {
            return real.starts_with(&self.project);
        }
        let ours = rustix::process::getuid().as_raw();
        real.metadata().is_ok_and(|found| [0, ours].contains(&found.uid()))
    }

    fn note_skipped(&mut self, path: &Path, why: &str) {
        self.notes.push(format!("{} was not read: {why}", path.display()));
    }
}

/// Limit on nested imports.
pub(super) const IMPORT_DEPTH_MAX: u8 = 4;
/// Limit on the lines of notes.
const NOTES_LINES_MAX: usize = 200;
const NOTES_BYTES_MAX: u64 = 25 * 1024;
/// Limit on the patterns of all rules together.
const PATTERNS_MAX: usize = 1_000;
