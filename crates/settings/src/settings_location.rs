//! Paths of settings files, and settings from the command line. Reads nothing.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use windlass_permission::permission_layer::SettingsSource;

/// Folders and files on the caller's system. All absolute.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SettingsLocations {
    /// The administrator's folders; later ones win.
    pub managed: Vec<PathBuf>,
    /// The user's folders with a `settings.json`; later ones win.
    pub user: Vec<PathBuf>,
    /// The file in which other programs store servers for each project.
    pub claude_json: Option<PathBuf>,
    pub home: Option<PathBuf>,
    pub state: Option<PathBuf>,
}

impl SettingsLocations {
    /// The administrator's settings folders on this system.
    #[must_use]
    pub fn system_managed_folders() -> Vec<PathBuf> {
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

/// Which optional files are read. All by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EnabledSources {
    pub user: bool,
    pub project: bool,
    /// The project's local settings on this machine.
    pub local: bool,
}

impl Default for EnabledSources {
    fn default() -> Self {
        Self { user: true, project: true, local: true }
    }
}

impl EnabledSources {
    /// Parses a list such as `user,project`; empty means none.
    ///
    /// # Errors
    /// The unknown name.
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

    pub(crate) fn includes(self, source: SettingsSource) -> bool {
        match source {
            SettingsSource::User => self.user,
            SettingsSource::Project => self.project,
            SettingsSource::Local => self.local,
            SettingsSource::Flag | SettingsSource::Managed => true,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandLineSettings {
    Text(String),
    File(PathBuf),
}

impl CommandLineSettings {
    /// A value that starts like an object is JSON; anything else is a path.
    #[must_use]
    pub fn parse(value: &str) -> Self {
        match value.trim_start().starts_with('{') {
            true => Self::Text(value.to_owned()),
            false => Self::File(PathBuf::from(value)),
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct SettingsRequest {
    pub locations: SettingsLocations,
    /// The working directory; absolute.
    pub cwd: PathBuf,
    pub sources: EnabledSources,
    pub command_line: Option<CommandLineSettings>,
    /// Managed settings from the program that started us, as JSON; below those of the machine.
    pub command_line_managed: Option<String>,
    /// Trust the project for this run.
    pub is_trusted: bool,
    /// Use only the restrictions in the user's and the project's files.
    pub only_restricts: bool,
}

/// A file or flag that may contain settings.
#[derive(Clone, Debug)]
pub(crate) struct SettingsCandidate {
    pub(crate) source: SettingsSource,
    pub(crate) content: CommandLineSettings,
    pub(crate) name: String,
    /// The root of path rules that start with `/`.
    pub(crate) root: PathBuf,
}

impl SettingsCandidate {
    fn new(source: SettingsSource, content: CommandLineSettings, root: &Path) -> Self {
        let name = match &content {
            CommandLineSettings::File(path) => path.display().to_string(),
            CommandLineSettings::Text(_) if source == SettingsSource::Managed => {
                "--managed-settings".to_owned()
            }
            CommandLineSettings::Text(_) => "--settings".to_owned(),
        };
        Self { source, content, name, root: root.to_owned() }
    }
}

/// All candidates, lowest first. `project` is the root of the current project.
pub(crate) fn list_candidates(request: &SettingsRequest, project: &Path) -> Vec<SettingsCandidate> {
    let mut all = Vec::new();
    let mut add = |source, content, root: &Path| {
        all.push(SettingsCandidate::new(source, content, root));
    };
    for folder in &request.locations.user {
        let path = folder.join("settings.json");
        add(SettingsSource::User, CommandLineSettings::File(path), folder);
    }
    for folder in [".claude", ".windlass"] {
        let path = request.cwd.join(folder).join("settings.json");
        // In the home directory, the user's own file must not count as the project's.
        let mut users = request.locations.user.iter();
        if !users.any(|own| is_same_file(&own.join("settings.json"), &path)) {
            add(SettingsSource::Project, CommandLineSettings::File(path), &request.cwd);
        }
    }
    for folder in [".claude", ".windlass"] {
        let path = project.join(folder).join("settings.local.json");
        add(SettingsSource::Local, CommandLineSettings::File(path), &request.cwd);
    }
    if let Some(given) = &request.command_line {
        add(SettingsSource::Flag, given.clone(), &request.cwd);
    }
    if let Some(text) = &request.command_line_managed {
        add(SettingsSource::Managed, CommandLineSettings::Text(text.clone()), &request.cwd);
    }
    for folder in &request.locations.managed {
        for path in list_managed_files(folder) {
            add(SettingsSource::Managed, CommandLineSettings::File(path), folder);
        }
    }
    all.retain(|candidate| request.sources.includes(candidate.source));
    all
}

/// A folder's file, then those of its drop-in folder sorted by name.
fn list_managed_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = vec![folder.join("managed-settings.json")];
    let more = folder.join("managed-settings.d");
    let entries = match more.read_dir() {
        Ok(entries) => entries,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return files;
        }
        // Its restrictions are unknown: add the folder as a file, so that it is reported as broken.
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

fn is_same_file(one: &Path, other: &Path) -> bool {
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => one == other,
    }
}

/// The nearest directory with a `.git` upwards, or this one if there is none.
pub fn find_project_root(cwd: &Path) -> PathBuf {
    let root = cwd.ancestors().find(|folder| folder.join(".git").symlink_metadata().is_ok());
    root.unwrap_or(cwd).to_owned()
}
