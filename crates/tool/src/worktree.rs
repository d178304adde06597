//! A git worktree for an agent that must not disturb the work of others.
//!
//! Git is called through `windlass_git`, so nothing that the repository configures runs.

use std::path::{Path, PathBuf};

use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

use windlass_git::worktree::GitWorktree;

#[derive(Clone, Debug)]
pub struct Worktree(GitWorktree);

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
            let made = GitWorktree::create(&directory, path, None)?;
            if cancel.is_cancelled() {
                made.remove();
                return Err("Interrupted before it began.".to_owned());
            }
            Ok(Self(made))
        });
        made.await.unwrap_or_else(|error| Err(format!("It broke down: {error}.")))
    }

    /// The directory of the original repository.
    #[must_use]
    pub fn repository_root(&self) -> &Path {
        self.0.repository_root()
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// The corresponding directory in the worktree; `None` for one outside of the repository.
    #[must_use]
    pub fn map_directory(&self, directory: &Path) -> Option<PathBuf> {
        self.0.map_directory(directory)
    }

    /// Removes it if nothing happened in it. If that is uncertain, it is kept.
    pub async fn remove_if_unchanged(self) -> WorktreeOutcome {
        let settled = spawn_blocking(move || match self.0.describe_changes(&[]) {
            Ok(None) => {
                self.0.remove();
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
        let found = spawn_blocking(move || GitWorktree::open_existing(path)).await;
        match found.unwrap_or_else(|error| Err(error.to_string())) {
            Ok(worktree) => Self(worktree).remove_if_unchanged().await,
            Err(problem) => WorktreeOutcome::Kept(problem),
        }
    }
}
