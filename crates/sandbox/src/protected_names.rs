//! Which names at the top of a writable root stay as they are.
//!
//! The list is `permission`'s own: what asks there is held here. This file only adds what `git`
//! reads inside its directory.

use windlass_permission::{PROTECTED_DIRECTORIES, PROTECTED_FILES};

/// What makes `git` run or read something else, inside `.git`. The rest of it is written by every
/// commit. `commondir` sends git to another directory for its configuration, and `modules` holds
/// the same files once more for each submodule.
pub(crate) const PROTECTED_IN_GIT: &[&str] =
    &["hooks", "config", "config.worktree", "info", "commondir", "modules"];

/// A protected directory, and one inside that is written nevertheless, as `permission` has it.
pub(crate) const WRITABLE_IN_PROTECTED: (&str, &str) = (".claude", "worktrees");

/// Those of them that are directories.
pub(crate) const DIRECTORIES_IN_GIT: &[&str] = &["hooks", "info", "modules"];

/// Files that no build reads: an empty directory in their place while a command runs harms nobody.
pub(crate) const HELD_FILES: &[&str] = &[".envrc", ".mcp.json"];

/// What a shell prompt, an editor that is open or an agent reads by itself, and what a build reads that
/// is told of nothing. The others are read when the user starts a program for them, at that very moment. A
/// short list: each name costs time at every start, and shows as an empty directory while a command runs.
pub(crate) const HELD_IN_FOREGROUND: &[&str] = &[
    ".git",
    ".vscode",
    ".cursor",
    ".windsurf",
    ".zed",
    ".idea",
    ".fleet",
    ".claude",
    ".cargo",
    ".envrc",
    ".mcp.json",
];

pub(crate) fn list_protected_directories() -> impl Iterator<Item = &'static str> {
    PROTECTED_DIRECTORIES.iter().copied()
}

pub(crate) fn list_protected_names() -> impl Iterator<Item = &'static str> {
    PROTECTED_DIRECTORIES.iter().chain(PROTECTED_FILES).copied()
}

pub(crate) fn is_git_directory(name: &str) -> bool {
    name == ".git"
}
