//! Instructions that people keep in files, put together for the model: which files, in which order,
//! and how much of them.
//!
//! From broad to narrow: the machine's, the user's, then from the root down to where we are. A
//! directory's `AGENTS.md` is read where it has no `CLAUDE.md`. A project's files may take in other
//! files of the project and nothing else: nobody can be asked here, and what somebody else wrote must
//! not choose which of the user's files are sent away.

mod file;
mod import;

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::environment::Lookup;
use crate::folder;
use file::{Content, read};

/// What was put together.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    /// The text, if there is any.
    pub(crate) text: Option<String>,
    /// What was left out, and why.
    pub(crate) notes: Vec<String>,
}

/// Who wrote a file, which decides what it may take in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Author {
    /// Whoever runs the machine.
    System,
    /// The user, for all projects.
    User,
    /// Whoever wrote the project.
    Project,
}

/// One file in the text.
#[derive(Debug)]
struct Section {
    author: Author,
    path: PathBuf,
    text: String,
}

/// Puts them together. At most so many bytes: the broad ones give way to the narrow ones.
pub(crate) fn load(cwd: &Path, bytes_max: usize, lookup: &impl Lookup) -> Memory {
    let mut loader = Loader {
        project: folder::project(cwd),
        home: folder::home(lookup),
        seen: BTreeSet::new(),
        sections: Vec::new(),
        notes: Vec::new(),
    };
    loader.take(Path::new(MANAGED), Author::System);
    if let Some(folder) = folder::claude(lookup) {
        loader.take(&folder.join("CLAUDE.md"), Author::User);
    }
    let mut folders: Vec<&Path> = cwd.ancestors().collect();
    folders.reverse();
    for folder in folders {
        let own = ["CLAUDE.md", ".claude/CLAUDE.md", "AGENTS.md"];
        let _ = own.iter().any(|name| loader.take(&folder.join(name), Author::Project));
        loader.take(&folder.join("CLAUDE.local.md"), Author::Project);
    }
    loader.finish(bytes_max)
}

struct Loader {
    project: PathBuf,
    home: Option<PathBuf>,
    /// By their real paths: what is linked or taken in twice is said once.
    seen: BTreeSet<PathBuf>,
    sections: Vec<Section>,
    notes: Vec<String>,
}

impl Loader {
    /// Takes in a file and what it takes in. Says whether it is there.
    fn take(&mut self, path: &Path, author: Author) -> bool {
        let Ok(real) = path.canonicalize() else { return false };
        if author == Author::Project && !self.is_trusted(path, &real) {
            let why = "it belongs to somebody else, or lies outside the project";
            self.notes.push(format!("{} was not read: {why}", path.display()));
            return true;
        }
        self.add(&real, author, IMPORTS_DEEP);
        true
    }

    fn add(&mut self, real: &Path, author: Author, depth: u8) {
        if !self.seen.insert(real.to_owned()) {
            return;
        }
        let Content { text, imports } = match read(real) {
            Ok(content) => content,
            Err(problem) => {
                self.notes.push(format!("{} was not read: {problem}", real.display()));
                return;
            }
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

    fn finish(self, bytes_max: usize) -> Memory {
        let Self { mut sections, mut notes, .. } = self;
        let total = |sections: &[Section]| sections.iter().map(|one| one.text.len()).sum::<usize>();
        while total(&sections) > bytes_max && sections.len() > 1 {
            let broadest = sections.iter().position(|one| one.author != Author::System);
            let left_out = sections.remove(broadest.unwrap_or(0));
            let place = left_out.path.display();
            notes.push(format!("{place} was left out: instructions are over {bytes_max} bytes"));
        }
        if let [only] = sections.as_mut_slice()
            && only.text.len() > bytes_max
        {
            only.text.truncate(only.text.floor_char_boundary(bytes_max));
            only.text.push_str("\n(The rest was cut.)");
            notes.push(format!("{} was cut at {bytes_max} bytes", only.path.display()));
        }
        let text = (!sections.is_empty()).then(|| rendered(&sections));
        Memory { text, notes }
    }
}

fn rendered(sections: &[Section]) -> String {
    let mut text = INTRODUCTION.to_owned();
    for Section { author, path, text: said } in sections {
        let whose = match author {
            Author::System => "set for this machine",
            Author::User => "the user's own, for all projects",
            Author::Project => "of the project",
        };
        text.push_str(&format!("\n\nFrom {} ({whose}):\n\n{}", path.display(), said.trim()));
    }
    text
}

const INTRODUCTION: &str = "Standing instructions for this work, from broad to narrow. Follow them; \
where two differ, the later one counts, and what the user asks for in the conversation counts more.";
/// Files taken in by files that were taken in.
const IMPORTS_DEEP: u8 = 4;
#[cfg(not(target_os = "macos"))]
const MANAGED: &str = "/etc/claude-code/CLAUDE.md";
#[cfg(target_os = "macos")]
const MANAGED: &str = "/Library/Application Support/ClaudeCode/CLAUDE.md";
