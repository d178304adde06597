//! Paths whose files later run or configure something: writing them always asks, whatever the
//! rules.
//!
//! Compares names only, so that files that do not exist yet are covered. Reading is not affected.

use std::path::{Component, Path};

use crate::glob::{overlaps, widen_pattern};

pub(crate) fn find_protected_name(path: &Path) -> Option<&'static str> {
    let names: Vec<String> = path
        .components()
        .filter(|component| matches!(component, Component::Normal(_)))
        .map(|component| component.as_os_str().to_string_lossy().to_lowercase())
        .collect();
    let follows = |at: usize, name: &str| names.get(at + 1).is_some_and(|next| next == name);
    for (at, name) in names.iter().enumerate() {
        let found = PROTECTED_DIRECTORIES.iter().find(|directory| *directory == name);
        match found {
            Some(&".claude") if follows(at, "worktrees") => {}
            Some(directory) => return Some(directory),
            None if name == ".config" => {
                let inner = PROTECTED_CONFIG.iter().find(|(directory, _)| follows(at, directory));
                if let Some((_, path)) = inner {
                    return Some(path);
                }
            }
            None => {}
        }
    }
    let last = names.last()?;
    PROTECTED_FILES.iter().copied().find(|file| file == last)
}

/// The same for a word of a command, which may be an option with a value.
pub(crate) fn find_protected_name_in_word(word: &str) -> Option<&'static str> {
    let value = word.split_once('=').map_or(word, |(_, value)| value);
    find_protected_name(Path::new(value)).or_else(|| find_protected_name(Path::new(word)))
}

/// A protected name that a backup copy may get: the name of a file with this suffix.
pub(crate) fn find_protected_name_by_suffix(suffix: &str) -> Option<&'static str> {
    let suffix = suffix.to_lowercase();
    let mut names = PROTECTED_FILES.iter().chain(PROTECTED_DIRECTORIES);
    let is_end = |name: &&&str| name.len() > suffix.len() && name.ends_with(&suffix);
    names.find(is_end).copied().filter(|_| !suffix.is_empty())
}

/// A protected name that a shell pattern for one name may stand for.
pub(crate) fn find_protected_name_by_pattern(pattern: &str) -> Option<&'static str> {
    let pattern = pattern.to_lowercase();
    let mut names = PROTECTED_FILES.iter().chain(PROTECTED_DIRECTORIES);
    names.find(|name| overlaps(name, &widen_pattern(&pattern))).copied()
}

/// Directories below `.config` whose files start programs, with their names for messages.
const PROTECTED_CONFIG: &[(&str, &str)] = &[
    ("git", ".config/git"),
    ("fish", ".config/fish"),
    ("nvim", ".config/nvim"),
    ("zed", ".config/zed"),
    ("systemd", ".config/systemd"),
    ("autostart", ".config/autostart"),
    ("environment.d", ".config/environment.d"),
    ("tmux", ".config/tmux"),
    ("helix", ".config/helix"),
    ("mise", ".config/mise"),
];

/// These directories at any depth, with everything in them.
pub const PROTECTED_DIRECTORIES: &[&str] = &[
    ".git",
    ".vscode",
    ".idea",
    ".husky",
    ".githooks",
    ".cargo",
    ".devcontainer",
    ".yarn",
    ".mvn",
    ".claude",
    ".windlass",
    ".ssh",
    ".cursor",
    ".zed",
    ".windsurf",
    ".fleet",
    ".vim",
    ".emacs.d",
    ".helix",
    ".mise",
];

/// These files at any depth.
pub const PROTECTED_FILES: &[&str] = &[
    ".gitconfig",
    ".gitmodules",
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".kshrc",
    ".cshrc",
    ".tcshrc",
    ".login",
    ".inputrc",
    ".tmux.conf",
    ".screenrc",
    ".xprofile",
    ".xinitrc",
    ".xsession",
    ".vimrc",
    ".gvimrc",
    ".exrc",
    ".nvimrc",
    ".nvim.lua",
    ".ideavimrc",
    ".emacs",
    ".dir-locals.el",
    ".dir-locals-2.el",
    ".ycm_extra_conf.py",
    ".gdbinit",
    ".lldbinit",
    ".curlrc",
    ".wgetrc",
    ".netrc",
    "config.fish",
    ".profile",
    ".zshrc",
    ".zprofile",
    ".zshenv",
    ".zlogin",
    ".zlogout",
    ".envrc",
    "mise.toml",
    ".mise.toml",
    "mise.local.toml",
    ".mise.local.toml",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".pypirc",
    ".pip.conf",
    ".pre-commit-config.yaml",
    "lefthook.yml",
    "lefthook.yaml",
    "lefthook.toml",
    "lefthook.json",
    ".lefthook.yml",
    ".lefthook.yaml",
    ".lefthook.toml",
    ".lefthook.json",
    "gradle-wrapper.properties",
    "maven-wrapper.properties",
    ".ripgreprc",
    ".mcp.json",
    ".claude.json",
];
