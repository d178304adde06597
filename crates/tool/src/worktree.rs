//! A second checkout of a repository, for an agent that must not step on others' toes.
//!
//! It holds the last commit, not what is changed and not committed. At the end one in which nothing
//! happened is removed; one with changes or commits of its own is kept for people to look at. Git is
//! called through the one door for calls of our own, so nothing that the repository names runs.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

use crate::git::Git;

/// Writing out a large repository takes its time.
const CHECKOUT_MAX: Duration = Duration::from_secs(300);

/// A checkout of its own.
#[derive(Clone, Debug)]
pub struct Worktree {
    /// Where the repository's own files are.
    top: PathBuf,
    path: PathBuf,
    /// The commit it began with.
    base: String,
}

/// What became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settled {
    /// Nothing was changed; it is gone.
    Removed,
    /// It is kept: why, in words.
    Kept(String),
}

impl Worktree {
    /// Makes one at this path, which must not be there yet, of the repository this directory is in.
    /// One that nobody waits for any more is removed again.
    ///
    /// # Errors
    /// Why there is none, in words for the model: no git, no repository, no commit, no room.
    pub async fn add(
        directory: PathBuf,
        path: PathBuf,
        cancel: CancellationToken,
    ) -> Result<Self, String> {
        let made = spawn_blocking(move || {
            let made = make(&directory, path)?;
            if cancel.is_cancelled() {
                made.remove();
                return Err("Interrupted before it began.".to_owned());
            }
            Ok(made)
        });
        made.await.unwrap_or_else(|error| Err(format!("It broke down: {error}.")))
    }

    /// Where the repository it was made of has its own files.
    #[must_use]
    pub fn top(&self) -> &Path {
        &self.top
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The same directory in here; `None` for one outside the repository.
    #[must_use]
    pub fn counterpart(&self, directory: &Path) -> Option<PathBuf> {
        let real = directory.canonicalize().ok()?;
        let below = real.strip_prefix(&self.top).ok()?;
        Some(match below.as_os_str().is_empty() {
            true => self.path.clone(),
            false => self.path.join(below),
        })
    }

    /// Removes it if nothing happened in it. What cannot be made sure of is kept.
    pub async fn settle(self) -> Settled {
        let settled = spawn_blocking(move || match self.changes() {
            Ok(None) => {
                self.remove();
                Settled::Removed
            }
            Ok(Some(changes)) => Settled::Kept(changes),
            Err(problem) => Settled::Kept(problem),
        });
        settled.await.unwrap_or_else(|error| Settled::Kept(error.to_string()))
    }

    /// The same for one that nobody looks after any more, because whoever made it was killed. What it
    /// began with is not known then: a commit that no branch has is its own.
    pub async fn settle_left(path: PathBuf) -> Settled {
        let found = spawn_blocking(move || found(path)).await;
        match found.unwrap_or_else(|error| Err(error.to_string())) {
            Ok(worktree) => worktree.settle().await,
            Err(problem) => Settled::Kept(problem),
        }
    }

    /// What happened in it, in words.
    fn changes(&self) -> Result<Option<String>, String> {
        let git = git(&self.path)?;
        let changed = run(&git, "status", &["--porcelain"])?.lines().count();
        let head = line(&git, "rev-parse", &["HEAD"])?;
        Ok(match (head == self.base, changed) {
            (true, 0) => None,
            (true, _) => Some(format!("files changed: {changed}")),
            (false, _) => Some(format!("its last commit is {head}, files changed: {changed}")),
        })
    }

    fn remove(&self) {
        let path = self.path.to_string_lossy();
        // What git does not want to remove lies in a folder of our own and harms nobody.
        let _ = git(&self.top)
            .and_then(|git| run(&git, "worktree", &["remove", "--force", "--force", &*path]));
    }
}

fn make(directory: &Path, path: PathBuf) -> Result<Worktree, String> {
    let here = git(directory)?;
    let top = line(&here, "rev-parse", &["--show-toplevel"]).map_err(|problem| {
        format!("`{}` is not in a git repository: {problem}", directory.display())
    })?;
    let top = PathBuf::from(top);
    let base = line(&here, "rev-parse", &["--verify", "HEAD^{commit}"])
        .map_err(|problem| format!("The repository has no commit to begin with: {problem}"))?;
    if let Some(folder) = path.parent() {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(|error| format!("`{}` cannot be made: {error}.", folder.display()))?;
    }
    let Some(place) = path.to_str() else {
        return Err(format!("`{}` is no name that can be given to git.", path.display()));
    };
    // Nothing is written out yet: which filters there are may depend on where it lies.
    let add = ["add", "--quiet", "--no-checkout", "--detach", place, &base];
    run(&git(&top)?, "worktree", &add)?;
    let worktree = Worktree { top, path, base };
    let filled = git(&worktree.path).and_then(|mut there| {
        there.within = CHECKOUT_MAX;
        run(&there, "reset", &["--quiet", "--hard", "HEAD"])
    });
    match filled {
        Ok(_) => Ok(worktree),
        Err(problem) => {
            worktree.remove();
            Err(problem)
        }
    }
}

/// One that is there, with what nobody would lose as its beginning.
fn found(path: PathBuf) -> Result<Worktree, String> {
    let git = git(&path)?;
    let absolute = ["--path-format=absolute", "--git-common-dir"];
    let common = PathBuf::from(line(&git, "rev-parse", &absolute)?);
    let top = common.parent().map(Path::to_owned).unwrap_or(common);
    let head = line(&git, "rev-parse", &["HEAD"])?;
    let contains = ["--count=1", "--contains", &head];
    let is_elsewhere = !line(&git, "for-each-ref", &contains)?.is_empty();
    Ok(Worktree { top, path, base: if is_elsewhere { head } else { String::new() } })
}

fn git(directory: &Path) -> Result<Git, String> {
    Git::in_directory(directory).map_err(|failure| format!("{failure}."))
}

/// What it prints, or why it failed.
fn run(git: &Git, sub: &str, arguments: &[&str]) -> Result<String, String> {
    let end = git.run(sub, arguments).map_err(|failure| format!("{failure}."))?;
    match end.code {
        Some(0) => Ok(String::from_utf8_lossy(&end.stdout).into_owned()),
        _ => Err(format!("git {sub}: {}", end.stderr.trim_end())),
    }
}

fn line(git: &Git, sub: &str, arguments: &[&str]) -> Result<String, String> {
    run(git, sub, arguments).map(|said| said.trim_end_matches('\n').to_owned())
}
