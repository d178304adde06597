//! Git in commands that run without a question: the settings that keep it from running programs
//! named by the repository, or why no setting can.
//!
//! Filters and drivers have arbitrary names, so the repository's own configuration is listed first,
//! by git itself without running anything. Programs in the user's global settings are kept. The
//! result is cached until one of its files changes.

use std::ffi::OsString;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::{GitError, GitRunner, git_process, safe_config};

/// Caches the settings of the last repository, which is usually the only one.
#[derive(Debug, Default)]
pub struct HeldGit {
    last: Mutex<Option<CachedGitSettings>>,
}

#[derive(Clone, Debug)]
struct CachedGitSettings {
    directory: PathBuf,
    /// The files on which the answer depends.
    stamps: Vec<(PathBuf, Option<FileIdentity>)>,
    answer: RepositoryPrograms,
}

/// The programs in a repository's own configuration.
#[derive(Clone, Debug, Default)]
struct RepositoryPrograms {
    /// Keys that our settings override.
    named: Vec<String>,
    /// Why git would run one of its programs anyway, as a message for the model.
    obstacle: Option<String>,
}

/// The settings that keep git from running a repository's programs.
#[derive(Clone, Debug)]
pub struct GitNeutralization {
    pub variables: Vec<(OsString, OsString)>,
    /// Why that is not sufficient.
    pub obstacle: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileIdentity {
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl HeldGit {
    /// For a process that may start git in this directory. Blocks while git lists the
    /// configuration.
    #[must_use]
    pub fn neutralize(&self, directory: &Path) -> GitNeutralization {
        let cached = self.lock_last().clone();
        let fits = cached.filter(|one| one.directory == directory && one.is_current());
        let answer = match fits {
            Some(cached) => cached.answer,
            None => {
                let found = find_settings(directory);
                let answer = found.answer.clone();
                // Changes could not be detected without stamps, so do not cache.
                *self.lock_last() = Some(found).filter(|found| !found.stamps.is_empty());
                answer
            }
        };
        let variables = git_process::build_safe_variables(&answer.named);
        GitNeutralization { variables, obstacle: answer.obstacle }
    }

    /// No update under this lock can be left half done, so poisoning is ignored.
    fn lock_last(&self) -> MutexGuard<'_, Option<CachedGitSettings>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CachedGitSettings {
    fn is_current(&self) -> bool {
        self.stamps.iter().all(|(path, stamp)| identify(path) == *stamp)
    }
}

fn identify(path: &Path) -> Option<FileIdentity> {
    let found = std::fs::metadata(path).ok()?;
    Some(FileIdentity {
        inode: found.ino(),
        size: found.size(),
        modified: (found.mtime(), found.mtime_nsec()),
        changed: (found.ctime(), found.ctime_nsec()),
    })
}

fn find_settings(directory: &Path) -> CachedGitSettings {
    let mut found = CachedGitSettings {
        directory: directory.to_owned(),
        stamps: Vec::new(),
        answer: RepositoryPrograms::default(),
    };
    found.answer = list_programs(directory, &mut found.stamps).unwrap_or_else(|error| {
        let why = format!("What git would run here cannot be found out: {error}.");
        RepositoryPrograms { named: Vec::new(), obstacle: Some(why) }
    });
    found
}

fn list_programs(
    directory: &Path,
    stamps: &mut Vec<(PathBuf, Option<FileIdentity>)>,
) -> Result<RepositoryPrograms, GitError> {
    let mut git = GitRunner::in_directory(directory)?;
    git.timeout = LOOK_TIMEOUT;
    let Some(repository) = RepositoryPaths::find(&git)? else {
        // Outside of a repository, only the user's own settings apply.
        return Ok(RepositoryPrograms::default());
    };
    // Before they are read: a change meanwhile makes the answer outdated.
    let stamped: Vec<_> =
        repository.sources().map(|path| (path.clone(), identify(&path))).collect();
    let entries = list_entries(&git)?;
    let RepositoryPrograms { mut named, mut obstacle } = RepositoryPrograms::default();
    for entry in &entries {
        match entry.classify(&repository) {
            GitEntryMeaning::Harmless => {}
            GitEntryMeaning::CanBeDisabled => named.push(entry.key.clone()),
            GitEntryMeaning::CannotBeDisabled => {
                obstacle = Some(format!(
                    "The repository's own git configuration sets `{}`, which makes git run a \
                     program or read elsewhere.",
                    entry.key
                ));
            }
        }
    }
    named.extend(list_submodule_keys(&git, &repository)?);
    named.sort_unstable();
    named.dedup();
    if named.len() > safe_config::PROGRAM_KEYS_MAX {
        return Err(GitError::TooManyPrograms);
    }
    // A file that is included is not among the sources.
    if !entries.iter().any(|entry| entry.key.starts_with("include")) {
        *stamps = stamped;
    }
    Ok(RepositoryPrograms { named, obstacle })
}

struct RepositoryPaths {
    /// The directory that `.git` was found in.
    top: PathBuf,
    git_directory: PathBuf,
    common_directory: PathBuf,
}

impl RepositoryPaths {
    fn find(git: &GitRunner) -> Result<Option<Self>, GitError> {
        let words = ["--no-pager", "rev-parse", "--absolute-git-dir", "--git-common-dir"];
        let end =
            git_process::run_git(git, &words.map(Into::into), &safe_config::build_settings(&[]))?;
        let text = String::from_utf8_lossy(&end.stdout);
        let mut lines = text.lines();
        let (Some(own), Some(common)) = (lines.next(), lines.next()) else { return Ok(None) };
        if end.code != Some(0) {
            return Ok(None);
        }
        let has_git = |path: &&Path| std::fs::symlink_metadata(path.join(".git")).is_ok();
        let top = git.directory().ancestors().find(has_git).unwrap_or(git.directory());
        Ok(Some(Self {
            top: top.to_owned(),
            git_directory: own.into(),
            common_directory: git.directory().join(common),
        }))
    }

    /// Every file that the answer rests on.
    fn sources(&self) -> impl Iterator<Item = PathBuf> {
        [
            self.top.join(".git"),
            self.top.join(".gitmodules"),
            self.common_directory.join("config"),
            self.git_directory.join("config.worktree"),
            // Holds `.gitmodules` where the working tree does not.
            self.git_directory.join("index"),
            self.git_directory.join("commondir"),
        ]
        .into_iter()
        .enumerate()
        // The directory changes with every commit; which one it is does not.
        .filter(|(at, path)| *at != 0 || path.is_file())
        .map(|(_, path)| path)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GitEntryMeaning {
    Harmless,
    CanBeDisabled,
    CannotBeDisabled,
}

struct GitConfigEntry {
    is_local: bool,
    /// As git lists it: section and name in lower case.
    key: String,
    value: String,
}

impl GitConfigEntry {
    fn classify(&self, repository: &RepositoryPaths) -> GitEntryMeaning {
        if !self.is_local {
            return GitEntryMeaning::Harmless;
        }
        let section = self.key.split('.').next().unwrap_or_default();
        let name = self.key.rsplit('.').next().unwrap_or_default();
        match (section, name) {
            ("filter", "clean" | "smudge" | "process")
            | ("merge", "driver")
            | ("submodule", "ignore") => GitEntryMeaning::CanBeDisabled,
            // An empty command is a command that fails.
            ("diff", "external" | "command" | "textconv") | ("hook", "command") => {
                GitEntryMeaning::CannotBeDisabled
            }
            // Newer versions take an alias for a sub-command that they want to be rid of.
            ("alias", "whatchanged") => GitEntryMeaning::CannotBeDisabled,
            // A submodule and its repository name each other so; any other place is elsewhere.
            ("core", "worktree") => match repository.is_own_work_tree(&self.value) {
                true => GitEntryMeaning::Harmless,
                false => GitEntryMeaning::CannotBeDisabled,
            },
            _ => GitEntryMeaning::Harmless,
        }
    }
}

impl RepositoryPaths {
    fn is_own_work_tree(&self, text: &str) -> bool {
        let named = self.git_directory.join(text).canonicalize().ok();
        named.is_some() && named == self.top.canonicalize().ok()
    }
}

fn list_entries(git: &GitRunner) -> Result<Vec<GitConfigEntry>, GitError> {
    let words = ["--no-pager", "config", "--list", "--null", "--show-scope"];
    let end = git_process::run_git(git, &words.map(Into::into), &safe_config::build_settings(&[]))?;
    if end.code != Some(0) {
        return Err(GitError::UnreadableConfig(end.stderr.trim_end().to_owned()));
    }
    let text = String::from_utf8_lossy(&end.stdout);
    let mut parts = text.split('\0');
    let mut entries = Vec::new();
    while let (Some(scope), Some(entry)) = (parts.next(), parts.next()) {
        let (key, value) = entry.split_once('\n').unwrap_or((entry, ""));
        let is_local = !matches!(scope, "system" | "global" | "command");
        entries.push(GitConfigEntry { is_local, key: key.to_owned(), value: value.to_owned() });
    }
    Ok(entries)
}

/// Settings of a project's `.gitmodules` that would have git run itself in a submodule, where our
/// settings do not count.
fn list_submodule_keys(
    git: &GitRunner,
    repository: &RepositoryPaths,
) -> Result<Vec<String>, GitError> {
    let file = repository.top.join(".gitmodules");
    let sources: Vec<[OsString; 2]> = match std::fs::symlink_metadata(&file).is_ok() {
        true => vec![["--file".into(), file.into()]],
        // Git looks there where the file is missing.
        false => {
            [":.gitmodules", "HEAD:.gitmodules"].map(|blob| ["--blob".into(), blob.into()]).into()
        }
    };
    let mut keys = Vec::new();
    for source in sources {
        let mut words: Vec<OsString> = vec!["--no-pager".into(), "config".into()];
        words.extend(source);
        words.extend(
            ["--null", "--name-only", "--get-regexp", SUBMODULE_KEYS_PATTERN].map(Into::into),
        );
        let end = git_process::run_git(git, &words, &safe_config::build_settings(&[]))?;
        // A failure means that there is no such file: git does not read it either.
        let listed = String::from_utf8_lossy(&end.stdout);
        keys.extend(listed.split('\0').filter(|key| !key.is_empty()).map(str::to_owned));
    }
    Ok(keys)
}

const SUBMODULE_KEYS_PATTERN: &str = r"^submodule\..*\.ignore$";

/// The configuration is a small file; git that takes longer waits for something.
const LOOK_TIMEOUT: Duration = Duration::from_secs(5);
