//! A git worktree beside a repository: made from its last commit, without uncommitted changes.
//!
//! It is removed if nothing happened in it, and kept if it has changes or commits of its own. What
//! the caller keeps in it for itself does not count as a change.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::GitRunner;

#[derive(Clone, Debug)]
pub struct GitWorktree {
    /// The directory of the original repository.
    repository_root: PathBuf,
    path: PathBuf,
    base_commit: String,
    /// The branch that was made for it.
    branch: Option<String>,
}

impl GitWorktree {
    /// Creates a worktree at this path, which must not exist, from the repository of this directory.
    /// Blocks.
    ///
    /// # Errors
    /// Why it was not created, in a sentence: no git, no repository, no commit, no space.
    pub fn create(directory: &Path, path: PathBuf, branch: Option<&str>) -> Result<Self, String> {
        let repository_root = find_repository_root(directory)?;
        let here = open_git(directory)?;
        let base = run_git_line(&here, "rev-parse", &["--verify", "HEAD^{commit}"])
            .map_err(|problem| format!("The repository has no commit to begin with: {problem}"))?;
        if let Some(folder) = path.parent() {
            let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
            made.map_err(|error| format!("`{}` cannot be made: {error}.", folder.display()))?;
        }
        let Some(place) = path.to_str() else {
            return Err(format!("The path `{}` cannot be passed to git.", path.display()));
        };
        // No checkout yet: which filters apply may depend on the location.
        let mut add = vec!["add", "--quiet", "--no-checkout"];
        match branch {
            Some(branch) => add.extend(["-b", branch]),
            None => add.push("--detach"),
        }
        add.extend([place, base.as_str()]);
        run_git(&open_git(&repository_root)?, "worktree", &add)?;
        let branch = branch.map(str::to_owned);
        let worktree = Self { repository_root, path, base_commit: base, branch };
        let filled = open_git(&worktree.path).and_then(|mut there| {
            there.timeout = CHECKOUT_MAX;
            run_git(&there, "reset", &["--quiet", "--hard", "HEAD"])
        });
        match filled {
            Ok(_) => Ok(worktree),
            Err(problem) => {
                worktree.remove();
                Err(problem)
            }
        }
    }

    /// An existing worktree, whose first commit is unknown: it is its head, if another branch
    /// contains that too.
    ///
    /// # Errors
    /// There is no git, or no worktree.
    pub fn open_existing(path: PathBuf) -> Result<Self, String> {
        let git = open_git(&path)?;
        let common = find_common_directory(&git)?;
        let repository_root = common.parent().map(Path::to_owned).unwrap_or(common);
        let head = run_git_line(&git, "rev-parse", &["HEAD"])?;
        let contains = ["--count=1", "--contains", &head];
        let is_elsewhere = !run_git_line(&git, "for-each-ref", &contains)?.is_empty();
        let base_commit = if is_elsewhere { head } else { String::new() };
        Ok(Self { repository_root, path, base_commit, branch: None })
    }

    /// The directory of the original repository.
    #[must_use]
    pub fn repository_root(&self) -> &Path {
        &self.repository_root
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The corresponding directory in the worktree; `None` for one outside of the repository.
    #[must_use]
    pub fn map_directory(&self, directory: &Path) -> Option<PathBuf> {
        let real = directory.canonicalize().ok()?;
        let below = real.strip_prefix(&self.repository_root).ok()?;
        Some(match below.as_os_str().is_empty() {
            true => self.path.clone(),
            false => self.path.join(below),
        })
    }

    /// What happened in it, in words; `None` for nothing. A file that is named in `own` is no change.
    ///
    /// # Errors
    /// Git cannot say.
    pub fn describe_changes(&self, own: &[&str]) -> Result<Option<String>, String> {
        let git = open_git(&self.path)?;
        // A folder with nothing but the caller's own in it is no change either.
        let untracked = if own.is_empty() { "normal" } else { "all" };
        let untracked = format!("--untracked-files={untracked}");
        let status = run_git(&git, "status", &["--porcelain", &untracked])?;
        let is_own = |line: &&str| line.get(3..).is_some_and(|path| own.contains(&path));
        let changed = status.lines().filter(|line| !is_own(line)).count();
        let head = run_git_line(&git, "rev-parse", &["HEAD"])?;
        Ok(match (head == self.base_commit, changed) {
            (true, 0) => None,
            (true, _) => Some(format!("files changed: {changed}")),
            (false, _) => Some(format!("its last commit is {head}, files changed: {changed}")),
        })
    }

    /// Removes it with all that is in it, and the branch that was made for it.
    pub fn remove(&self) {
        let path = self.path.to_string_lossy();
        // If git refuses, the folder stays where it does no harm.
        let Ok(git) = open_git(&self.repository_root) else { return };
        let removed = run_git(&git, "worktree", &["remove", "--force", "--force", &*path]);
        if let (Ok(_), Some(branch)) = (removed, &self.branch) {
            let _ = run_git(&git, "branch", &["--quiet", "-D", branch]);
        }
    }
}

/// The directory of the repository, or of the worktree, that this directory is in.
///
/// # Errors
/// It is in none, or there is no git.
pub fn find_repository_root(directory: &Path) -> Result<PathBuf, String> {
    let here = open_git(directory)?;
    let top = run_git_line(&here, "rev-parse", &["--show-toplevel"]).map_err(|problem| {
        format!("`{}` is not in a git repository: {problem}", directory.display())
    })?;
    Ok(PathBuf::from(top))
}

/// Are both directories worktrees of one repository?
#[must_use]
pub fn is_same_repository(one: &Path, other: &Path) -> bool {
    let common = |path: &Path| find_common_directory(&open_git(path)?);
    match (common(one), common(other)) {
        (Ok(one), Ok(other)) => one == other,
        (Err(_), _) | (_, Err(_)) => false,
    }
}

fn find_common_directory(git: &GitRunner) -> Result<PathBuf, String> {
    let absolute = ["--path-format=absolute", "--git-common-dir"];
    run_git_line(git, "rev-parse", &absolute).map(PathBuf::from)
}

fn open_git(directory: &Path) -> Result<GitRunner, String> {
    GitRunner::in_directory(directory).map_err(|failure| format!("{failure}."))
}

fn run_git(git: &GitRunner, sub: &str, arguments: &[&str]) -> Result<String, String> {
    let end = git.run(sub, arguments).map_err(|failure| format!("{failure}."))?;
    match end.code {
        Some(0) => Ok(String::from_utf8_lossy(&end.stdout).into_owned()),
        _ => Err(format!("git {sub}: {}", end.stderr.trim_end())),
    }
}

fn run_git_line(git: &GitRunner, sub: &str, arguments: &[&str]) -> Result<String, String> {
    run_git(git, sub, arguments).map(|output| output.trim_end_matches('\n').to_owned())
}

/// Checking out a large repository takes long.
const CHECKOUT_MAX: Duration = Duration::from_secs(300);
