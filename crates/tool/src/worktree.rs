//! A git worktree for an agent that must not disturb the work of others.
//!
//! It contains the last commit, without uncommitted changes. At the end it is removed if nothing
//! happened in it, and kept if it has changes or commits of its own. Git is called through
//! `GitRunner`, so nothing that the repository configures runs.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

use windlass_git::GitRunner;

/// Checking out a large repository takes long.
const CHECKOUT_MAX: Duration = Duration::from_secs(300);

#[derive(Clone, Debug)]
pub struct Worktree {
    /// The directory of the original repository.
    repository_root: PathBuf,
    path: PathBuf,
    base_commit: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorktreeOutcome {
    /// Nothing was changed; it is removed.
    Removed,
    /// It is kept, for this reason.
    Kept(String),
}

impl Worktree {
    /// Creates a worktree at this path, which must not exist, from the repository of this
    /// directory. Removes it again if it is cancelled.
    ///
    /// # Errors
    /// Why it was not created, as a message for the model: no git, no repository, no commit, no
    /// space.
    pub async fn create(
        directory: PathBuf,
        path: PathBuf,
        cancel: CancellationToken,
    ) -> Result<Self, String> {
        let made = spawn_blocking(move || {
            let made = create_worktree(&directory, path)?;
            if cancel.is_cancelled() {
                made.remove();
                return Err("Interrupted before it began.".to_owned());
            }
            Ok(made)
        });
        made.await.unwrap_or_else(|error| Err(format!("It broke down: {error}.")))
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

    /// Removes it if nothing happened in it. If that is uncertain, it is kept.
    pub async fn remove_if_unchanged(self) -> WorktreeOutcome {
        let settled = spawn_blocking(move || match self.describe_changes() {
            Ok(None) => {
                self.remove();
                WorktreeOutcome::Removed
            }
            Ok(Some(changes)) => WorktreeOutcome::Kept(changes),
            Err(problem) => WorktreeOutcome::Kept(problem),
        });
        settled.await.unwrap_or_else(|error| WorktreeOutcome::Kept(error.to_string()))
    }

    /// The same for a worktree whose owner was killed. Its first commit is unknown, so a commit
    /// that is on no branch counts as its own.
    pub async fn remove_orphan_if_unchanged(path: PathBuf) -> WorktreeOutcome {
        let found = spawn_blocking(move || open_existing(path)).await;
        match found.unwrap_or_else(|error| Err(error.to_string())) {
            Ok(worktree) => worktree.remove_if_unchanged().await,
            Err(problem) => WorktreeOutcome::Kept(problem),
        }
    }

    fn describe_changes(&self) -> Result<Option<String>, String> {
        let git = open_git(&self.path)?;
        let changed = run_git(&git, "status", &["--porcelain"])?.lines().count();
        let head = run_git_line(&git, "rev-parse", &["HEAD"])?;
        Ok(match (head == self.base_commit, changed) {
            (true, 0) => None,
            (true, _) => Some(format!("files changed: {changed}")),
            (false, _) => Some(format!("its last commit is {head}, files changed: {changed}")),
        })
    }

    fn remove(&self) {
        let path = self.path.to_string_lossy();
        // If git refuses, the folder stays in a directory of ours and does no harm.
        let _ = open_git(&self.repository_root)
            .and_then(|git| run_git(&git, "worktree", &["remove", "--force", "--force", &*path]));
    }
}

fn create_worktree(directory: &Path, path: PathBuf) -> Result<Worktree, String> {
    let here = open_git(directory)?;
    let top = run_git_line(&here, "rev-parse", &["--show-toplevel"]).map_err(|problem| {
        format!("`{}` is not in a git repository: {problem}", directory.display())
    })?;
    let top = PathBuf::from(top);
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
    let add = ["add", "--quiet", "--no-checkout", "--detach", place, &base];
    run_git(&open_git(&top)?, "worktree", &add)?;
    let worktree = Worktree { repository_root: top, path, base_commit: base };
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

/// An existing worktree. Its base is its head, if another branch contains that commit too.
fn open_existing(path: PathBuf) -> Result<Worktree, String> {
    let git = open_git(&path)?;
    let absolute = ["--path-format=absolute", "--git-common-dir"];
    let common = PathBuf::from(run_git_line(&git, "rev-parse", &absolute)?);
    let top = common.parent().map(Path::to_owned).unwrap_or(common);
    let head = run_git_line(&git, "rev-parse", &["HEAD"])?;
    let contains = ["--count=1", "--contains", &head];
    let is_elsewhere = !run_git_line(&git, "for-each-ref", &contains)?.is_empty();
    Ok(Worktree {
        repository_root: top,
        path,
        base_commit: if is_elsewhere { head } else { String::new() },
    })
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
