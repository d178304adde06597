//! Assembles memory files for the model: which files, in which order, and how much of each.
//!
//! From broad to narrow: the machine's, the user's, notes of earlier conversations, then from the
//! root down to the working directory. A directory's `AGENTS.md` is read if it has no `CLAUDE.md`.
//! Files below the working directory, and rules for certain files, are added when such a file is
//! first read: see `path_instructions`. A project's files may import only files of the project, and
//! none that a rule denies or that lies where keys are kept: there is no permission prompt here, and
//! untrusted text must not choose which of the user's files are sent to a provider.

mod excluded_files;
mod import;
mod loader;
mod memory_file;
mod path_instructions;
mod truncation;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use excluded_files::ExcludedFiles;
pub use import::find_mentions;
use loader::{MemoryAuthor, MemoryLoader, MemorySection};
pub use path_instructions::PathInstructionFiles;
use windlass_host::environment::EnvLookup;
use windlass_host::user_directories;
use windlass_permission::Policy;

#[derive(Debug, Default)]
pub struct LoadedMemory {
    pub text: Option<String>,
    /// Added later, when a matching file is read.
    pub path_instructions: Option<Arc<PathInstructionFiles>>,
    /// What was left out, and why.
    pub notes: Vec<String>,
}

#[derive(Clone, Debug)]
pub struct MemoryOptions {
    pub user: bool,
    pub project: bool,
    /// Read the user's private files in the project.
    pub local: bool,
    /// Globs of excluded absolute paths; do not apply to the machine's file.
    pub excludes: Vec<String>,
    /// The notes of earlier conversations.
    pub auto_memory_file: Option<PathBuf>,
    /// Further folders whose files are read.
    pub more_folders: Vec<PathBuf>,
    /// Limit on the text that is always sent. Above it the longest files are truncated, so that one
    /// large file does not displace the others.
    pub bytes_max: usize,
    /// Rules for what a project's files may import or link to.
    pub policy: Policy,
}

pub fn load_memory_files(
    cwd: &Path,
    wanted: &MemoryOptions,
    lookup: &impl EnvLookup,
) -> LoadedMemory {
    let mut loader = MemoryLoader::new(
        windlass_settings::find_project_root(cwd),
        user_directories::home_directory(lookup),
        wanted.policy.clone(),
    );
    let (excluded, problems) = ExcludedFiles::new(&wanted.excludes);
    loader.excluded = excluded;
    loader.notes = problems;
    loader.load_file(Path::new(MANAGED_MEMORY_FILE), MemoryAuthor::System);
    let own = user_directories::claude_directory(lookup).filter(|_| wanted.user);
    if let Some(folder) = &own {
        loader.load_file(&folder.join("CLAUDE.md"), MemoryAuthor::User);
        loader.load_rules(&folder.join("rules"), MemoryAuthor::User);
    }
    if let Some(notebook) = &wanted.auto_memory_file {
        loader.load_auto_memory(notebook);
    }
    let mut folders: Vec<&Path> = cwd.ancestors().collect();
    folders.reverse();
    for folder in folders {
        loader.load_folder(folder, wanted.project, wanted.local);
        if wanted.project && folder.starts_with(&loader.project) {
            loader.load_rules(&folder.join(".claude/rules"), MemoryAuthor::Project);
        }
    }
    for folder in &wanted.more_folders {
        loader.load_folder(folder, wanted.project, wanted.local);
        if wanted.project {
            loader.load_rules(&folder.join(".claude/rules"), MemoryAuthor::Project);
        }
    }
    let mut sections = std::mem::take(&mut loader.sections);
    let cut = truncation::truncate_sections(&mut sections, wanted.bytes_max);
    loader.notes.extend(cut);
    let text = (!sections.is_empty()).then(|| render_sections(&sections));
    let notes = std::mem::take(&mut loader.notes);
    let nearby = PathInstructionFiles::new(loader, cwd, wanted);
    LoadedMemory { text, path_instructions: Some(Arc::new(nearby)), notes }
}

fn render_sections(sections: &[MemorySection]) -> String {
    let mut text = INTRODUCTION.to_owned();
    for MemorySection { author, path, text: content } in sections {
        let whose = author.describe();
        text.push_str(&format!("\n\nFrom {} ({whose}):\n\n{}", path.display(), content.trim()));
    }
    text
}

/// A loaded file, for display.
pub struct MemoryFileSize<'a> {
    pub path: &'a str,
    /// The kind, in the terms of other programs.
    pub kind: &'static str,
    pub bytes: usize,
}

/// Reads the sizes off the instructions of a session: a resumed one has those of its start, whatever
/// the files are now.
pub fn list_memory_files(text: &str) -> Vec<MemoryFileSize<'_>> {
    let sections = text.split("\n\nFrom ").skip(1).filter_map(|section| {
        let (head, content) = section.split_once("):\n\n")?;
        let (path, whose) = head.rsplit_once(" (")?;
        let author = MemoryAuthor::ALL.into_iter().find(|author| author.describe() == whose)?;
        Some(MemoryFileSize { path, kind: author.kind(), bytes: content.len() })
    });
    sections.collect()
}

const INTRODUCTION: &str = "Standing instructions for this work, from broad to narrow. Follow them; \
where two differ, the later one counts, and what the user asks for in the conversation counts more.";
#[cfg(not(target_os = "macos"))]
const MANAGED_MEMORY_FILE: &str = "/etc/claude-code/CLAUDE.md";
#[cfg(target_os = "macos")]
const MANAGED_MEMORY_FILE: &str = "/Library/Application Support/ClaudeCode/CLAUDE.md";
