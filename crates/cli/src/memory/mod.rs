//! Instructions that people keep in files, put together for the model: which files, in which order,
//! and how much of them.
//!
//! From broad to narrow: the machine's, the user's, notes of earlier conversations, then from the root down to where we are. A
//! directory's `AGENTS.md` is read where it has no `CLAUDE.md`. What lies below where we are, and
//! rules for some files alone, are said when such a file is first read: see `nearby`. A project's
//! files may take in other files of the project and nothing else: nobody can be asked here, and what
//! somebody else wrote must not choose which of the user's files are sent away.

mod excluded;
mod file;
mod import;
mod loader;
mod nearby;
mod share;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::environment::Lookup;
use crate::folder;
use excluded::Excluded;
pub(crate) use import::named as mentioned;
use loader::{Author, Loader, Section};
pub(crate) use nearby::NearbyFiles;

/// What was put together.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    /// The text, if there is any.
    pub(crate) text: Option<String>,
    /// What is said later, when a file it counts for is read.
    pub(crate) nearby: Option<Arc<NearbyFiles>>,
    /// What was left out, and why.
    pub(crate) notes: Vec<String>,
}

/// What is wanted of it.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    /// The user's own.
    pub(crate) user: bool,
    /// The project's.
    pub(crate) project: bool,
    /// What somebody keeps in the project for himself.
    pub(crate) local: bool,
    /// Globs over absolute paths; what they match is not read, unless it is the machine's.
    pub(crate) excludes: Vec<String>,
    /// Notes of earlier conversations.
    pub(crate) notebook: Option<PathBuf>,
    /// Bytes of text that is always there. Over it, the longest files are cut, so that a large one
    /// does not push out the others.
    pub(crate) bytes_max: usize,
}

/// Puts them together.
pub(crate) fn load(cwd: &Path, wanted: &Wanted, lookup: &impl Lookup) -> Memory {
    let mut loader = Loader::new(folder::project(cwd), folder::home(lookup));
    let (excluded, problems) = Excluded::new(&wanted.excludes);
    loader.excluded = excluded;
    loader.notes = problems;
    loader.take(Path::new(MANAGED), Author::System);
    let own = folder::claude(lookup).filter(|_| wanted.user);
    if let Some(folder) = &own {
        loader.take(&folder.join("CLAUDE.md"), Author::User);
        loader.rules(&folder.join("rules"), Author::User);
    }
    if let Some(notebook) = &wanted.notebook {
        loader.notebook(notebook);
    }
    let mut folders: Vec<&Path> = cwd.ancestors().collect();
    folders.reverse();
    for folder in folders {
        loader.folder(folder, wanted.project, wanted.local);
        if wanted.project && folder.starts_with(&loader.project) {
            loader.rules(&folder.join(".claude/rules"), Author::Project);
        }
    }
    let mut sections = std::mem::take(&mut loader.sections);
    let cut = share::cut_to(&mut sections, wanted.bytes_max);
    loader.notes.extend(cut);
    let text = (!sections.is_empty()).then(|| rendered(&sections));
    let notes = std::mem::take(&mut loader.notes);
    let nearby = NearbyFiles::new(loader, cwd, wanted);
    Memory { text, nearby: Some(Arc::new(nearby)), notes }
}

fn rendered(sections: &[Section]) -> String {
    let mut text = INTRODUCTION.to_owned();
    for Section { author, path, text: said } in sections {
        let whose = match author {
            Author::System => "set for this machine",
            Author::User => "the user's own, for all projects",
            Author::Notes => "noted in earlier conversations here; may be out of date",
            Author::Project => "of the project",
        };
        text.push_str(&format!("\n\nFrom {} ({whose}):\n\n{}", path.display(), said.trim()));
    }
    text
}

/// The files that a text was put together from: where each lies, whose it is in one word, and how many
/// bytes it says.
pub(crate) fn listed(text: &str) -> Vec<(&str, &'static str, usize)> {
    let sections = text.split("\n\nFrom ").skip(1).filter_map(|section| {
        let (head, said) = section.split_once("):\n\n")?;
        let (path, whose) = head.rsplit_once(" (")?;
        let whose = match whose.split(' ').next() {
            Some("set") => "Managed",
            Some("the") => "User",
            Some("noted") => "AutoMem",
            Some("of") => "Project",
            _ => return None,
        };
        Some((path, whose, said.len()))
    });
    sections.collect()
}

const INTRODUCTION: &str = "Standing instructions for this work, from broad to narrow. Follow them; \
where two differ, the later one counts, and what the user asks for in the conversation counts more.";
#[cfg(not(target_os = "macos"))]
const MANAGED: &str = "/etc/claude-code/CLAUDE.md";
#[cfg(target_os = "macos")]
const MANAGED: &str = "/Library/Application Support/ClaudeCode/CLAUDE.md";
