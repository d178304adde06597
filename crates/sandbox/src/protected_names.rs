//! Protected names at the top of a writable root.
//!
//! The list is from `permission`: where that asks, the sandbox protects. This file only adds what
//! `git` reads inside of its directory.

use windlass_permission::{PROTECTED_DIRECTORIES, PROTECTED_FILES};

/// Files in `.git` that make `git` run or read something else. All other files there are written by
/// every commit. `commondir` redirects git to another configuration, and `modules` contains the
/// same files for each submodule.
pub(crate) const PROTECTED_IN_GIT: &[&str] =
    &["hooks", "config", "config.worktree", "info", "commondir", "modules"];

/// A protected directory, and a writable one inside of it, as in `permission`.
pub(crate) const WRITABLE_IN_PROTECTED: (&str, &str) = (".claude", "worktrees");

/// Those of them that are directories.
pub(crate) const DIRECTORIES_IN_GIT: &[&str] = &["hooks", "info", "modules"];

/// Files that no build reads, so that a placeholder does no harm while a command runs.
pub(crate) const HELD_FILES: &[&str] = &[".envrc", ".mcp.json"];

/// Files that a shell prompt, a running editor or an agent reads by itself. The others are read
/// only when the user starts a program. The list is short, because each name costs time at every
/// start and shows as an empty directory while a command runs.
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
