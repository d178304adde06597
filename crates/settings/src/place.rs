//! Where settings lie, and what was asked for on the command line. Names only; nothing is read here.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use windlass_permission::layer::Source;

/// Folders and files, as the caller's system has them. All absolute.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// Folders of the administrator's, the later one winning.
    pub managed: Vec<PathBuf>,
    /// Folders of the user's that hold a `settings.json`, the later one winning.
    pub user: Vec<PathBuf>,
    /// The file in which other programs keep servers for each project.
    pub claude_json: Option<PathBuf>,
    /// The home directory.
    pub home: Option<PathBuf>,
    /// Where our own state is kept.
    pub state: Option<PathBuf>,
}

impl Places {
    /// Where administrators put settings on this system.
    #[must_use]
    pub fn managed_here() -> Vec<PathBuf> {
        let ours = if cfg!(target_os = "macos") {
            "/Library/Application Support/Windlass"
        } else {
            "/etc/windlass"
        };
        let theirs = if cfg!(target_os = "macos") {
            "/Library/Application Support/ClaudeCode"
        } else {
            "/etc/claude-code"
        };
        vec![theirs.into(), ours.into()]
    }
}

/// Which of the files that can be left out are read. All by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sources {
    /// The user's.
    pub user: bool,
    /// The project's.
    pub project: bool,
    /// The machine's own of the project.
    pub local: bool,
}

impl Default for Sources {
    fn default() -> Self {
        Self { user: true, project: true, local: true }
    }
}

impl Sources {
    /// A list such as `user,project`; empty is none.
    ///
    /// # Errors
    /// The word that is no source.
    pub fn parse(list: &str) -> Result<Self, String> {
        let mut sources = Self { user: false, project: false, local: false };
        for word in list.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            match word {
                "user" => sources.user = true,
                "project" => sources.project = true,
                "local" => sources.local = true,
                other => return Err(other.to_owned()),
            }
        }
        Ok(sources)
    }

    pub(crate) fn has(self, source: Source) -> bool {
        match source {
            Source::User => self.user,
            Source::Project => self.project,
            Source::Local => self.local,
            Source::Flag | Source::Managed => true,
        }
    }
}

/// Settings given on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Given {
    /// As JSON.
    Text(String),
    /// In a file.
    File(PathBuf),
}

impl Given {
    /// What begins like an object is JSON; the rest is a path.
    #[must_use]
    pub fn parse(value: &str) -> Self {
        match value.trim_start().starts_with('{') {
            true => Self::Text(value.to_owned()),
            false => Self::File(PathBuf::from(value)),
        }
    }
}

/// What to read.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// Where things lie.
    pub places: Places,
    /// Where we are; absolute.
    pub cwd: PathBuf,
    /// Which files.
    pub sources: Sources,
    /// Settings of the command line.
    pub given: Option<Given>,
    /// Managed settings of whoever started us, as JSON; below those of the machine.
    pub given_managed: Option<String>,
    /// The user trusts the project for this run.
    pub is_trusted: bool,
    /// The user's and the project's files may only forbid: nothing else of them is wanted.
    pub only_restricts: bool,
}

/// A file or flag that may hold settings.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub(crate) source: Source,
    pub(crate) given: Given,
    /// What to call it.
    pub(crate) name: String,
    /// What `/x` in its path rules is relative to.
    pub(crate) root: PathBuf,
}

/// All of them, lowest first. `project` is the root of the project we are in.
pub(crate) fn candidates(request: &Request, project: &Path) -> Vec<Candidate> {
    let mut all = Vec::new();
    let mut add = |source, path: PathBuf, root: &Path| {
        let name = path.display().to_string();
        let root = root.to_owned();
        all.push(Candidate { source, given: Given::File(path), name, root });
    };
    for folder in &request.places.user {
        add(Source::User, folder.join("settings.json"), folder);
    }
    for folder in [".claude", ".windlass"] {
        let path = request.cwd.join(folder).join("settings.json");
        // In the home directory the user's own file is not a project's.
        let is_users =
            request.places.user.iter().any(|own| is_same(&own.join("settings.json"), &path));
        if !is_users {
            add(Source::Project, path, &request.cwd);
        }
    }
    for folder in [".claude", ".windlass"] {
        let path = project.join(folder).join("settings.local.json");
        add(Source::Local, path, &request.cwd);
    }
    if let Some(given) = &request.given {
        let name = match given {
            Given::Text(_) => "--settings".to_owned(),
            Given::File(path) => path.display().to_string(),
        };
        let (given, root) = (given.clone(), request.cwd.clone());
        all.push(Candidate { source: Source::Flag, given, name, root });
    }
    if let Some(text) = &request.given_managed {
        all.push(Candidate {
            source: Source::Managed,
            given: Given::Text(text.clone()),
            name: "--managed-settings".to_owned(),
            root: request.cwd.clone(),
        });
    }
    for folder in &request.places.managed {
        for path in managed_files(folder) {
            let name = path.display().to_string();
            let (source, root) = (Source::Managed, folder.clone());
            all.push(Candidate { source, given: Given::File(path), name, root });
        }
    }
    all.retain(|candidate| request.sources.has(candidate.source));
    all
}

/// The file of a folder, then those of its drop-in folder by name.
fn managed_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = vec![folder.join("managed-settings.json")];
    let more = folder.join("managed-settings.d");
    let entries = match more.read_dir() {
        Ok(entries) => entries,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return files;
        }
        // What it forbids is not known: read as a file it is broken, and says so.
        Err(_) => {
            files.push(more);
            return files;
        }
    };
    let mut more: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .filter(|path| {
            !path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
        })
        .collect();
    more.sort();
    files.extend(more);
    files
}

fn is_same(one: &Path, other: &Path) -> bool {
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => one == other,
    }
}

/// The directory that holds `.git`, from here upwards; where we are, if there is none.
pub(crate) fn project(cwd: &Path) -> PathBuf {
    let root = cwd.ancestors().find(|folder| folder.join(".git").symlink_metadata().is_ok());
    root.unwrap_or(cwd).to_owned()
}
