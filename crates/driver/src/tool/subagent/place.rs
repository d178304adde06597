//! Where an agent works: with its parent, or in a checkout of its own to which its rights move.

use std::path::{Path, PathBuf};

use tokio_util::sync::CancellationToken;
use windlass_permission::{Policy, Rule};
use windlass_tool::Surroundings;
use windlass_tool::worktree::{Settled, Worktree};
use windlass_vocabulary::AgentId;

use super::definition::Isolation;
use crate::builder::scratch_directory;
use crate::journal::Place as JournalPlace;
use crate::notices::Teller;

/// Where an agent works.
#[derive(Debug)]
pub(super) enum Place {
    /// Where its parent does.
    Shared,
    /// In a checkout of its own.
    Apart(Box<Worktree>),
}

impl Place {
    /// Makes the place ready.
    pub(super) async fn find(
        isolation: Isolation,
        id: &AgentId,
        parent: &Surroundings,
        journal: Option<&JournalPlace>,
        cancel: &CancellationToken,
    ) -> Result<Self, String> {
        if isolation == Isolation::None {
            return Ok(Self::Shared);
        }
        let folder = match journal {
            Some(place) => folder(place),
            // One that is kept must outlive the session, so it is not in what the session removes.
            None => scratch_directory().map_err(|error| format!("{error}."))?,
        };
        let folder = std::path::absolute(&folder).unwrap_or(folder);
        let path = folder.join(id.as_str());
        match Worktree::add(parent.cwd.clone(), path, cancel.clone()).await {
            Ok(worktree) => Ok(Self::Apart(Box::new(worktree))),
            Err(problem) => {
                // Only if it is empty.
                let _ = std::fs::remove_dir(&folder);
                Err(format!("The agent has no worktree to work in. {problem}"))
            }
        }
    }

    /// The surroundings there, and what is allowed there: the parent's rights, moved, not more.
    pub(super) fn surroundings(
        &self,
        parent: &Surroundings,
        policy: &mut Policy,
    ) -> Result<Surroundings, String> {
        let Self::Apart(worktree) = self else {
            return Ok(parent.for_another());
        };
        let inside = parent.directories();
        let inside: Vec<(PathBuf, PathBuf)> = inside
            .into_iter()
            .filter_map(|old| worktree.counterpart(&old).map(|new| (old, new)))
            .collect();
        let whole = (worktree.top().to_owned(), worktree.path().to_owned());
        // A directory may be spelled over a link, so that it does not begin like the whole.
        for (old, new) in std::iter::once(&whole).chain(&inside) {
            move_rules(&mut policy.rules.deny, old, new);
            move_rules(&mut policy.rules.ask, old, new);
        }
        let directories: Vec<PathBuf> = inside.into_iter().map(|(_, new)| new).collect();
        let text = |path: &PathBuf| path.to_string_lossy().into_owned();
        policy.directories = directories.iter().map(text).collect();
        policy.standing = None;
        let there = parent.for_another_in(directories)?;
        match there.cwd.is_dir() {
            true => Ok(there),
            false => Err(format!("`{}` is not part of the last commit.", there.cwd.display())),
        }
    }

    /// The agent is done. What the parent's model must know of the place.
    pub(super) async fn settle(self) -> Option<(String, PathBuf)> {
        let Self::Apart(worktree) = self else { return None };
        let path = worktree.path().to_owned();
        match worktree.settle().await {
            Settled::Removed => {
                // Only if no other is left in it.
                let _ = path.parent().map(std::fs::remove_dir);
                None
            }
            Settled::Kept(why) => {
                let words = format!("Its worktree is kept ({why}): {}", path.display());
                Some((words, path))
            }
        }
    }
}

/// Where the agents of a session that is kept have their worktrees.
fn folder(journal: &JournalPlace) -> PathBuf {
    journal.path.with_extension("worktrees")
}

/// Worktrees that earlier processes of this session left.
pub(crate) fn left(journal: &JournalPlace) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder(journal)).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.is_dir()).take(LEFT_MAX).collect()
}

/// Removes those of them in which nothing happened, and says where work lies that nobody took over.
pub(crate) async fn settle_left(left: Vec<PathBuf>, teller: Teller) {
    let mut kept = Vec::new();
    for path in left {
        match Worktree::settle_left(path.clone()).await {
            Settled::Removed => {
                // Only if no other is left in it.
                let _ = path.parent().map(std::fs::remove_dir);
            }
            Settled::Kept(why) => kept.push(format!("{} ({why})", path.display())),
        }
    }
    if !kept.is_empty() {
        teller.warn(format!("agents of this session left work in: {}", kept.join(", ")));
    }
}

/// Worktrees looked at when a session is opened.
const LEFT_MAX: usize = 16;

/// A rule that names a place by its full path holds for the copy of that place too.
fn move_rules(rules: &mut Vec<Rule>, old: &Path, new: &Path) {
    let (old, new) = (old.to_string_lossy(), new.to_string_lossy());
    let home = std::env::home_dir().map(|home| home.to_string_lossy().into_owned());
    let moved = rules.iter().filter_map(|rule| {
        let content = rule.content.as_deref()?;
        let content = match (content.strip_prefix("~/"), &home) {
            (Some(rest), Some(home)) => format!("/{home}/{rest}"),
            _ => content.to_owned(),
        };
        let moved = content.replace(&*old, &new);
        (moved != content).then(|| Rule { tool: rule.tool.clone(), content: Some(moved) })
    });
    let moved: Vec<Rule> = moved.collect();
    rules.extend(moved);
}
