//! Where an agent works: in its parent's directory, or in a worktree to which its rules are moved.

use std::path::{Path, PathBuf};

use tokio_util::sync::CancellationToken;
use windlass_permission::{Policy, Rule};
use windlass_tool::ToolSessionContext;
use windlass_tool::worktree::{Worktree, WorktreeOutcome};
use windlass_vocabulary::AgentId;

use super::agent_definition::AgentIsolation;
use crate::journal_location::JournalLocation;
use crate::notices::NoticeSender;
use crate::scratch_directory::create_scratch_directory;

#[derive(Debug)]
pub(super) enum AgentWorkspace {
    /// In the parent's directory.
    Shared,
    Worktree(Box<Worktree>),
}

impl AgentWorkspace {
    pub(super) async fn prepare(
        isolation: AgentIsolation,
        id: &AgentId,
        parent: &ToolSessionContext,
        journal: Option<&JournalLocation>,
        cancel: &CancellationToken,
    ) -> Result<Self, String> {
        if isolation == AgentIsolation::None {
            return Ok(Self::Shared);
        }
        let folder = match journal {
            Some(place) => worktrees_folder(place),
            // A kept worktree must outlive the session, so it is not in a directory that the
            // session removes.
            None => create_scratch_directory().map_err(|error| format!("{error}."))?,
        };
        let folder = std::path::absolute(&folder).unwrap_or(folder);
        let path = folder.join(id.as_str());
        match Worktree::create(parent.files.cwd.clone(), path, cancel.clone()).await {
            Ok(worktree) => Ok(Self::Worktree(Box::new(worktree))),
            Err(problem) => {
                // Fails unless it is empty.
                let _ = std::fs::remove_dir(&folder);
                Err(format!("The agent has no worktree to work in. {problem}"))
            }
        }
    }

    /// The tool context in the worktree, and the parent's policy with its paths moved there.
    pub(super) fn build_tool_context(
        &self,
        parent: &ToolSessionContext,
        policy: &mut Policy,
    ) -> Result<ToolSessionContext, String> {
        let Self::Worktree(worktree) = self else {
            return Ok(parent.for_subagent());
        };
        let inside = parent.files.working_directories();
        let inside: Vec<(PathBuf, PathBuf)> = inside
            .into_iter()
            .filter_map(|old| worktree.map_directory(&old).map(|new| (old, new)))
            .collect();
        let whole = (worktree.repository_root().to_owned(), worktree.path().to_owned());
        // A directory may be spelled through a symlink, so that it does not start with the root's
        // path.
        for (old, new) in std::iter::once(&whole).chain(&inside) {
            copy_rules_to(&mut policy.rules.deny, old, new);
            copy_rules_to(&mut policy.rules.ask, old, new);
        }
        let directories: Vec<PathBuf> = inside.into_iter().map(|(_, new)| new).collect();
        let text = |path: &PathBuf| path.to_string_lossy().into_owned();
        policy.directories = directories.iter().map(text).collect();
        policy.standing = None;
        let there = parent.for_subagent_in(directories)?;
        match there.files.cwd.is_dir() {
            true => Ok(there),
            false => {
                Err(format!("`{}` is not part of the last commit.", there.files.cwd.display()))
            }
        }
    }

    /// Called when the agent has ended. Returns a kept worktree, and a message about it for the
    /// parent's model.
    pub(super) async fn clean_up(self) -> Option<(String, PathBuf)> {
        let Self::Worktree(worktree) = self else { return None };
        let path = worktree.path().to_owned();
        match worktree.remove_if_unchanged().await {
            WorktreeOutcome::Removed => {
                // Fails unless it is empty.
                let _ = path.parent().map(std::fs::remove_dir);
                None
            }
            WorktreeOutcome::Kept(why) => {
                let words = format!("Its worktree is kept ({why}): {}", path.display());
                Some((words, path))
            }
        }
    }
}

/// The folder for worktrees of a session with a journal.
fn worktrees_folder(journal: &JournalLocation) -> PathBuf {
    journal.path.with_extension("worktrees")
}

/// Worktrees that earlier processes of this session left behind.
pub(crate) fn find_leftover_worktrees(journal: &JournalLocation) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(worktrees_folder(journal)).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.is_dir()).take(LEFTOVERS_MAX).collect()
}

/// Removes those without changes, and reports where unmerged work is.
pub(crate) async fn clean_up_leftovers(left: Vec<PathBuf>, notice_sender: NoticeSender) {
    let mut kept = Vec::new();
    for path in left {
        match Worktree::remove_orphan_if_unchanged(path.clone()).await {
            WorktreeOutcome::Removed => {
                // Fails unless it is empty.
                let _ = path.parent().map(std::fs::remove_dir);
            }
            WorktreeOutcome::Kept(why) => kept.push(format!("{} ({why})", path.display())),
        }
    }
    if !kept.is_empty() {
        notice_sender.warn(format!("agents of this session left work in: {}", kept.join(", ")));
    }
}

/// Limit on the worktrees checked when a session is opened.
const LEFTOVERS_MAX: usize = 16;

/// A rule that names an absolute path must also apply to the copy of that path.
fn copy_rules_to(rules: &mut Vec<Rule>, old: &Path, new: &Path) {
    let old = old.to_string_lossy();
    let new = new.to_string_lossy();
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
