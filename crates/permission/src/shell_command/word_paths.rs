//! The files that a word of a command may name, and whether they are inside the working
//! directories.

use crate::file_system_view::{
    MATCHING_NAMES_MAX, MatchingNames, PathEntry, ResolvedPath, resolve_links,
};
use crate::protected_paths::{find_protected_name, find_protected_name_by_pattern};
use crate::workspace_roots::{WorkspaceRoots, is_harmless_device};

use super::{PossibleDirectories, ShellWord};

/// The possible files of a word, with all their readings; empty if unknown.
pub(super) fn resolve_file_word(
    word: &ShellWord,
    directories: &PossibleDirectories,
    roots: &WorkspaceRoots<'_>,
) -> Vec<(String, Vec<ResolvedPath>)> {
    if word.is_pipe() {
        return Vec::new();
    }
    if word.known.is_none() && !is_glob(word) {
        return vec![(word.text.clone(), Vec::new())];
    }
    let resolved =
        |text: &str| roots.resolve_text(text, directories.as_slice()).unwrap_or_default();
    find_path_candidates(&word.text)
        .into_iter()
        .map(|text| (text.to_owned(), resolved(text)))
        .collect()
}

/// Is the word a shell pattern, and otherwise certain?
pub(super) fn is_glob(word: &ShellWord) -> bool {
    word.is_glob && !word.text.contains('…')
}

/// May this word name something outside, or something other than a file?
pub(crate) fn may_leave_workspace(
    word: &ShellWord,
    directories: &PossibleDirectories,
    roots: &WorkspaceRoots<'_>,
) -> bool {
    if word.is_pipe() {
        return false;
    }
    if is_glob(word) && !word.is_split {
        match expand_glob(&word.text, directories, roots) {
            GlobMatches::Unknown => {}
            GlobMatches::NotListed => return true,
            GlobMatches::Paths(paths) => {
                let is_fine = |resolved: &ResolvedPath| {
                    roots.is_inside(resolved) && resolved.entry != PathEntry::Special
                };
                // A name with a blank becomes several words, and one with a star is expanded.
                let becomes_others = |path| is_expanded_by_shell(path, &word.text, directories);
                if word.is_divided_again && paths.iter().any(becomes_others) {
                    return true;
                }
                // If nothing matches, the shell keeps the pattern as it is.
                let is_literal = paths.is_empty()
                    && roots
                        .resolve_text(&word.text, directories.as_slice())
                        .is_none_or(|all| all.iter().any(|resolved| !is_fine(resolved)));
                // The matches may change before the command runs, so the pattern's own directory
                // counts as well.
                if is_literal || !paths.iter().all(is_fine) {
                    return true;
                }
            }
        }
    }
    let texts = match (&word.known, word.is_glob && !word.is_split) {
        (Some(_), _) => find_path_candidates(&word.text),
        // Entries of a directory are inside of it, as far as their spelling shows.
        (None, true) if !word.text.contains("..") && !word.text.contains('…') => {
            let directory = word.prefix.rsplit_once('/').map_or("", |(directory, _)| directory);
            let is_root = word.prefix.starts_with('/') && directory.is_empty();
            vec![if is_root { "/" } else { directory }]
        }
        _ => return true,
    };
    texts.iter().any(|text| match roots.resolve_text(text, directories.as_slice()) {
        None => true,
        Some(all) => all.iter().any(|resolved| {
            let is_file = resolved.entry != PathEntry::Special;
            let is_fine = roots.is_inside(resolved) && is_file;
            !is_fine && !is_harmless_device(&resolved.spelled)
        }),
    })
}

/// A protected name among the files that match a shell pattern. If they cannot be listed, a name
/// that could match.
pub(crate) fn find_protected_glob_match(
    word: &ShellWord,
    directories: &PossibleDirectories,
    roots: &WorkspaceRoots<'_>,
) -> Option<&'static str> {
    if !is_glob(word) {
        return None;
    }
    match expand_glob(&word.text, directories, roots) {
        GlobMatches::Paths(paths) => {
            paths.iter().flat_map(ResolvedPath::both_paths).find_map(find_protected_name)
        }
        GlobMatches::Unknown | GlobMatches::NotListed => {
            // A pattern that begins with a wildcard is rarely meant for one of these names.
            let is_near = |name: &&str| name.contains(WILDCARDS) && !name.starts_with(WILDCARDS);
            word.text.split('/').filter(is_near).find_map(find_protected_name_by_pattern)
        }
    }
}

const WILDCARDS: [char; 3] = ['*', '?', '['];

/// The files that match a shell pattern; `None` if the word is none, or they cannot be listed.
pub(crate) fn list_matching_paths(
    word: &ShellWord,
    directories: &PossibleDirectories,
    roots: &WorkspaceRoots<'_>,
) -> Option<Vec<ResolvedPath>> {
    if !is_glob(word) || word.is_split {
        return None;
    }
    match expand_glob(&word.text, directories, roots) {
        GlobMatches::Paths(paths) => Some(paths),
        GlobMatches::Unknown | GlobMatches::NotListed => None,
    }
}

/// Does the shell split or expand the matches of this pattern again, because it is unquoted?
fn is_expanded_by_shell(
    resolved: &ResolvedPath,
    pattern: &str,
    directories: &PossibleDirectories,
) -> bool {
    let path = resolved.spelled.as_path();
    let from_here =
        directories.as_slice().iter().find_map(|directory| path.strip_prefix(directory).ok());
    let written = if pattern.starts_with('/') { path } else { from_here.unwrap_or(path) };
    let is_active = |c: char| c.is_whitespace() || matches!(c, '*' | '?' | '[' | '\\');
    written.to_string_lossy().contains(is_active)
}

/// The matches of a shell pattern.
enum GlobMatches {
    /// Not checked.
    Unknown,
    /// Too many, or unknown.
    NotListed,
    Paths(Vec<ResolvedPath>),
}

/// Limits on the patterns in a word, and on the directories for one.
const GLOB_LEVELS_MAX: usize = 8;
const GLOB_PLACES_MAX: usize = 1_000;

/// Every path that matches a pattern, from each possible directory of the shell.
fn expand_glob(
    text: &str,
    directories: &PossibleDirectories,
    roots: &WorkspaceRoots<'_>,
) -> GlobMatches {
    let starts = match text.starts_with('/') {
        true => vec![std::path::PathBuf::from("/")],
        false => directories.as_slice().to_vec(),
    };
    if starts.is_empty() {
        return GlobMatches::NotListed;
    }
    let resolve =
        |path: &std::path::Path| resolve_links(roots.file_system, path, std::path::Path::new(""));
    let mut found: Vec<ResolvedPath> = starts.iter().map(|start| resolve(start)).collect();
    let names: Vec<&str> = text.split('/').filter(|name| !name.is_empty()).collect();
    if names.iter().filter(|name| name.contains(['*', '?', '['])).count() > GLOB_LEVELS_MAX {
        return GlobMatches::NotListed;
    }
    for name in names {
        let mut next = Vec::new();
        for place in &found {
            if !name.contains(['*', '?', '[']) {
                next.push(resolve(&place.spelled.join(name)));
                continue;
            }
            match roots.file_system.matching_names(&place.real, name) {
                MatchingNames::Unknown => return GlobMatches::Unknown,
                MatchingNames::NotListed => return GlobMatches::NotListed,
                MatchingNames::Listed { plain, other } => {
                    // A plain name does not lead out of its directory.
                    next.extend(plain.iter().map(|name| ResolvedPath {
                        spelled: place.spelled.join(name),
                        real: place.real.join(name),
                        is_unresolvable: place.is_unresolvable,
                        entry: PathEntry::File,
                    }));
                    next.extend(other.iter().map(|name| resolve(&place.real.join(name))));
                }
            }
            if next.len() > GLOB_PLACES_MAX.max(MATCHING_NAMES_MAX) {
                return GlobMatches::NotListed;
            }
        }
        found = next;
    }
    GlobMatches::Paths(found)
}

/// The texts in a word that may name a file: the word itself, or the value of an option.
pub(crate) fn find_path_candidates(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let is_option = text.starts_with('-') && text.len() > 1;
    if !is_option {
        found.push(text);
    }
    if let Some((_, value)) = text.split_once('=') {
        found.push(value);
    }
    if is_option && !text.starts_with("--") {
        found.extend(text.get(2..).filter(|value| !value.is_empty()));
    }
    // Letters before a slash may be options or a directory; after an equals sign they are not
    // options.
    if is_option
        && !text.contains('=')
        && let Some(at) = text.find('/')
    {
        let from = text.get(..at).and_then(|before| before.find("..")).unwrap_or(at);
        found.extend(text.get(from..));
    }
    found.retain(|text| !text.is_empty());
    found
}
