//! What confined commands may read of the home directory, all else of which is hidden.
//!
//! A list of known secrets would miss programs that keep a token or a document elsewhere, and links
//! in an untrusted project can lead to any file. So only toolchains are visible, the user's settings
//! for git with the files that they name, and the repositories that the working directories belong
//! to.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::cell_plan::CellPlan;
use crate::git_config_text::{NamedFile, find_work_tree, list_named_files};
use crate::plan::SandboxPlan;
use crate::probe_options::SandboxBackend;
use crate::secrets::{list_home_secrets, list_home_toolchains};

/// A home directory that can be hidden, and what is visible in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VisibleHome {
    /// Canonical.
    home: PathBuf,
    /// Visible files and directories; they need not exist.
    readable: Vec<PathBuf>,
}

/// Looks up a variable of the environment.
type EnvironmentLookup<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// Homes of system users are directories that every program needs.
const SYSTEM_DIRECTORIES: &[&str] =
    &["/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/proc", "/sbin", "/sys", "/usr"];

/// Directories that contain such ones, or the homes of all users.
const SHARED_DIRECTORIES: &[&str] = &["/", "/home", "/Users", "/var", "/opt", "/run"];

/// Variables that name the directory of a toolchain.
const TOOLCHAIN_VARIABLES: &[&str] = &[
    "ASDF_DATA_DIR",
    "ASDF_DIR",
    "CONDA_PREFIX",
    "GOROOT",
    "JAVA_HOME",
    "NVM_BIN",
    "NVM_DIR",
    "PYENV_ROOT",
    "RBENV_ROOT",
    "RUSTUP_HOME",
    "SDKMAN_DIR",
    "VIRTUAL_ENV",
    "VOLTA_HOME",
];

/// Files that programs look for in every directory above the one where they work.
const FILES_ABOVE: &[&str] = &[
    ".editorconfig",
    ".fdignore",
    ".gitignore",
    ".ignore",
    ".node-version",
    ".nvmrc",
    ".python-version",
    ".rgignore",
    ".ruby-version",
    ".tool-versions",
    "rust-toolchain",
    "rust-toolchain.toml",
];

/// Limits on the files of a git configuration, and on the size of one.
const CONFIGURATIONS_MAX: usize = 32;
const FILE_BYTES_MAX: u64 = 256 * 1024;

impl VisibleHome {
    /// `None` if there is no home that can be hidden: then only known secrets in it can be. The
    /// paths in `hidden` stay hidden.
    #[must_use]
    pub fn find(home: Option<&Path>, roots: &[PathBuf], hidden: &[PathBuf]) -> Option<Self> {
        Self::find_with_environment(home?, roots, hidden, &|name| std::env::var_os(name))
    }

    fn find_with_environment(
        home: &Path,
        roots: &[PathBuf],
        hidden: &[PathBuf],
        environment: EnvironmentLookup<'_>,
    ) -> Option<Self> {
        let mut hidden = hidden.to_vec();
        hidden.extend(list_home_secrets(home));
        let home = find_private_home(home)?;
        let roots: Vec<PathBuf> =
            roots.iter().filter_map(|root| std::fs::canonicalize(root).ok()).collect();
        if roots.iter().any(|root| home.starts_with(root)) {
            return None;
        }
        let mut readable = list_home_toolchains(&home);
        readable.extend(list_environment_directories(environment));
        readable.extend(list_git_configuration(&home, environment));
        for root in &roots {
            readable.extend(list_files_above(&home, root));
            readable.extend(find_repository(&home, root));
        }
        let hidden: Vec<PathBuf> =
            hidden.iter().filter_map(|path| std::fs::canonicalize(path).ok()).collect();
        readable.retain(|path| {
            let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.clone());
            real.starts_with(&home)
                && real != home
                && !hidden.iter().any(|hidden| real.starts_with(hidden))
        });
        readable.sort_unstable();
        readable.dedup();
        Some(Self { home, readable })
    }

    /// Hides the home in a cell, unless it has become a working directory since.
    pub fn restrict_cell(&self, plan: &mut CellPlan) {
        if !plan.shown.iter().any(|shown| self.home.starts_with(shown)) {
            plan.home = Some(self.home.clone());
            plan.shown.extend(self.readable.iter().cloned());
        }
    }

    /// Hides the home in a sandbox, except for its working directories and what it may read.
    pub fn restrict_sandbox(&self, plan: &mut SandboxPlan, backend: SandboxBackend) {
        let is_home = |path: &Path| std::fs::canonicalize(path).is_ok_and(|real| real == self.home);
        plan.readable.retain(|path| !is_home(path));
        plan.readable.extend(self.readable.iter().filter(|path| path.exists()).cloned());
        match backend {
            SandboxBackend::Bubblewrap | SandboxBackend::Seatbelt => {
                plan.hidden.push(self.home.clone());
            }
            SandboxBackend::Landlock => {
                let named = plan.roots.iter().chain(&plan.scratch).chain(&plan.readable);
                let visible: Vec<PathBuf> =
                    named.filter_map(|path| std::fs::canonicalize(path).ok()).collect();
                push_all_but(&visible, &self.home, &mut plan.hidden);
            }
        }
    }
}

/// Hides the entries of a directory in which and below which nothing is visible.
fn push_all_but(visible: &[PathBuf], directory: &Path, hidden: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        if visible.iter().any(|one| path.starts_with(one)) {
            continue;
        }
        let is_above = visible.iter().any(|one| one.starts_with(&path));
        match is_above && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            true => push_all_but(visible, &path, hidden),
            false => hidden.push(path),
        }
    }
}

/// The canonical path, unless other users or the system need what is there.
pub(crate) fn find_private_home(home: &Path) -> Option<PathBuf> {
    let home = std::fs::canonicalize(home).ok().filter(|home| home.is_dir())?;
    let canonical = |path: &&str| std::fs::canonicalize(path).ok();
    let is_system = SYSTEM_DIRECTORIES.iter().filter_map(canonical).any(|it| home.starts_with(it));
    let is_shared = SHARED_DIRECTORIES.iter().any(|path| home == Path::new(path));
    (!is_system && !is_shared).then_some(home)
}

/// Where the user's programs are, and toolchains in unusual places.
fn list_environment_directories(environment: EnvironmentLookup<'_>) -> Vec<PathBuf> {
    let searched = environment("PATH").unwrap_or_default();
    let programs: Vec<PathBuf> = std::env::split_paths(&searched).collect();
    let beside = |directory: &Path| BESIDE_PROGRAMS.map(|name| directory.with_file_name(name));
    let named = TOOLCHAIN_VARIABLES.iter().filter_map(|name| environment(name));
    let mut all: Vec<PathBuf> = named.map(PathBuf::from).collect();
    let installed = programs.iter().filter(|directory| directory.ends_with("bin"));
    all.extend(installed.flat_map(|directory| beside(directory)).filter(|path| path.is_dir()));
    all.extend(programs);
    all.retain(|path| path.is_absolute());
    all
}

/// What an unpacked distribution has beside its programs.
const BESIDE_PROGRAMS: [&str; 4] = ["conf", "lib", "lib64", "libexec"];

/// The user's configuration of git and the files that it names, through all includes.
fn list_git_configuration(home: &Path, environment: EnvironmentLookup<'_>) -> Vec<PathBuf> {
    let settings = environment("XDG_CONFIG_HOME").map(PathBuf::from);
    let settings = settings.unwrap_or_else(|| home.join(".config")).join("git");
    let mut pending = vec![home.join(".gitconfig"), settings.join("config")];
    pending.extend(environment("GIT_CONFIG_GLOBAL").map(PathBuf::from));
    let mut seen: Vec<PathBuf> = Vec::new();
    let mut files = vec![settings];
    while let Some(file) = pending.pop() {
        if seen.contains(&file) || seen.len() >= CONFIGURATIONS_MAX {
            continue;
        }
        let text = read_bounded(&file).unwrap_or_default();
        let directory = file.parent().unwrap_or(home);
        for named in list_named_files(&text) {
            match named {
                NamedFile::Configuration(path) => pending.push(resolve(&path, home, directory)),
                NamedFile::Other(path) => files.push(resolve(&path, home, directory)),
            }
        }
        seen.push(file);
    }
    files.extend(seen);
    files
}

/// Git expands a tilde, and takes a relative path from the file that names it.
fn resolve(path: &str, home: &Path, directory: &Path) -> PathBuf {
    match path.strip_prefix("~/") {
        Some(rest) => home.join(rest),
        None => directory.join(path),
    }
}

fn list_files_above(home: &Path, root: &Path) -> Vec<PathBuf> {
    let above = root.ancestors().skip(1).take_while(|above| above.starts_with(home));
    let files = above.flat_map(|above| FILES_ABOVE.iter().map(|name| above.join(name)));
    files.filter(|file| file.is_file()).collect()
}

/// What git needs of the repository that a working directory belongs to, outside of it: the
/// directory that contains it, or the repository of a linked work tree.
fn find_repository(home: &Path, root: &Path) -> Vec<PathBuf> {
    let has_git = |path: &&Path| std::fs::symlink_metadata(path.join(".git")).is_ok();
    let Some(top) = root.ancestors().find(has_git) else {
        return Vec::new();
    };
    let git = top.join(".git");
    let mut readable = Vec::new();
    if top != root && !home.starts_with(top) {
        readable.push(top.to_owned());
    }
    if std::fs::symlink_metadata(&git).is_ok_and(|found| found.is_file()) {
        readable.extend(find_linked_repository(&git));
    } else if top != root {
        readable.push(git);
    }
    readable
}

/// The repository that a `.git` file names, if that repository names the same file or its
/// directory: anybody can write a file that names a repository of someone else.
fn find_linked_repository(git: &Path) -> Option<PathBuf> {
    let text = read_text(git)?;
    let named = text.strip_prefix("gitdir:")?.trim();
    let top = git.parent()?;
    let directory = std::fs::canonicalize(top.join(named)).ok()?;
    let worktrees = directory.parent().filter(|above| above.ends_with("worktrees"));
    if let Some(common) = worktrees.and_then(Path::parent) {
        let back = directory.join(read_text(&directory.join("gitdir"))?.trim());
        return (std::fs::canonicalize(back).ok()? == git).then(|| common.to_owned());
    }
    let work_tree = find_work_tree(&read_bounded(&directory.join("config"))?)?;
    let back = std::fs::canonicalize(directory.join(work_tree)).ok()?;
    (back == top).then_some(directory)
}

fn read_text(file: &Path) -> Option<String> {
    String::from_utf8(read_bounded(file)?).ok()
}

/// `None` if it is not a file that can be read, or too large.
fn read_bounded(file: &Path) -> Option<Vec<u8>> {
    let found = std::fs::metadata(file).ok()?;
    (found.is_file() && found.len() <= FILE_BYTES_MAX).then(|| std::fs::read(file).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Home {
        _folder: tempfile::TempDir,
        path: PathBuf,
    }

    impl Home {
        fn new(directories: &[&str], files: &[(&str, &str)]) -> Self {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().canonicalize().unwrap().join("me");
            for directory in directories {
                std::fs::create_dir_all(path.join(directory)).unwrap();
            }
            for (file, text) in files {
                std::fs::write(path.join(file), text.replace("HOME", &path.display().to_string()))
                    .unwrap();
            }
            Self { _folder: folder, path }
        }

        fn find(&self, root: &str, hidden: &[&str]) -> Option<VisibleHome> {
            let hidden: Vec<PathBuf> = hidden.iter().map(|name| self.path.join(name)).collect();
            let variables = |name: &str| match name {
                "PATH" => Some(format!("/usr/bin:{}/tools/bin", self.path.display()).into()),
                _ => None,
            };
            let roots = [self.path.join(root)];
            VisibleHome::find_with_environment(&self.path, &roots, &hidden, &variables)
        }

        fn shows(&self, root: &str, path: &str) -> bool {
            let visible = self.find(root, &[]).unwrap();
            visible.readable.iter().any(|one| self.path.join(path).starts_with(one))
        }
    }

    #[test]
    fn toolchains_and_settings_of_git_are_visible_and_nothing_else() {
        let home = Home::new(
            &["w/a", "dot", ".cargo/bin", "tools/bin", "tools/lib", ".config/git", "Documents"],
            &[
                (".gitconfig", "[include]\n\tpath = ~/dot/git\n"),
                ("dot/git", "[core]\n\texcludesFile = ignore\n[include]\n\tpath = git\n"),
                ("dot/ignore", "*.o\n"),
                ("w/.gitignore", "*.o\n"),
            ],
        );
        for path in [
            ".cargo/bin/x",
            "tools/bin/x",
            "tools/lib/x",
            ".gitconfig",
            "dot/git",
            "dot/ignore",
            ".config/git/ignore",
            "w/.gitignore",
        ] {
            assert!(home.shows("w/a", path), "{path}");
        }
        for path in [
            "",
            "w",
            "w/b",
            "tools",
            "tools/x",
            "dot",
            "dot/other",
            "Documents",
            ".config",
            ".bashrc",
        ] {
            assert!(!home.shows("w/a", path), "{path}");
        }
        let hidden = home.find("w/a", &[".cargo", "dot/ignore"]).unwrap();
        for path in [".cargo/bin", ".cargo", "dot/ignore"] {
            assert!(!hidden.readable.contains(&home.path.join(path)), "{path}");
        }
    }

    #[test]
    fn a_home_that_is_a_working_directory_or_of_the_system_is_not_hidden() {
        let home = Home::new(&["w/a"], &[]);
        assert_eq!(home.find("", &[]), None);
        assert_eq!(home.find("..", &[]), None);
        assert!(home.find("w", &[]).is_some());
        for system in ["/", "/usr/sbin", "/bin", "/var", "/nonexistent"] {
            let found = VisibleHome::find(Some(Path::new(system)), &[], &[]);
            assert_eq!(found, None, "{system}");
        }
    }

    #[test]
    fn the_own_repository_is_visible_and_no_other() {
        let home = Home::new(
            &[
                "w/own/deep",
                "w/own/.git/worktrees/one",
                "w/own/.git/modules/sub",
                "w/own/sub",
                "w/tree",
                "w/liar",
                "w/mirror/worktrees/one",
                "w/other/.git/worktrees/one",
            ],
            &[
                ("w/tree/.git", "gitdir: HOME/w/own/.git/worktrees/one\n"),
                ("w/own/.git/worktrees/one/gitdir", "HOME/w/tree/.git\n"),
                ("w/own/sub/.git", "gitdir: ../.git/modules/sub\n"),
                ("w/own/.git/modules/sub/config", "[core]\n\tworktree = ../../../sub\n"),
                ("w/liar/.git", "gitdir: HOME/w/other/.git/worktrees/one\n"),
                ("w/other/.git/worktrees/one/gitdir", "HOME/w/elsewhere/.git\n"),
            ],
        );
        assert!(home.shows("w/own/deep", "w/own/.git") && home.shows("w/own/deep", "w/own/file"));
        assert!(home.shows("w/tree", "w/own/.git") && !home.shows("w/tree", "w/own/file"));
        assert!(home.shows("w/own/sub", "w/own/.git/modules/sub"));
        assert!(!home.shows("w/own/sub", "w/own/.git/modules"));
        assert!(!home.shows("w/liar", "w/other/.git"));
    }
}
