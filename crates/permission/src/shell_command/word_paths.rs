//! The files a word of a command may name, and whether they lie inside the working directories.

use crate::file_system_view::{PathEntry, ResolvedPath};
use crate::workspace_roots::{WorkspaceRoots, is_harmless_device};

use super::{PossibleDirectories, ShellWord};

/// The files a word may name, as shown, and what each may mean; nothing where that cannot be known.
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

/// Is the word a pattern of the shell, and certain but for what fits it?
pub(super) fn is_glob(word: &ShellWord) -> bool {
    word.is_glob && !word.text.contains('…')
}

/// May this word name something outside, or something that is more than a file?
pub(crate) fn may_leave_workspace(
    word: &ShellWord,
    directories: &PossibleDirectories,
    roots: &WorkspaceRoots<'_>,
) -> bool {
    if word.is_pipe() {
        return false;
    }
    let texts = match (&word.known, word.is_glob && !word.is_split) {
        (Some(_), _) => find_path_candidates(&word.text),
        // What lies in a directory is in it, as far as its spelling goes.
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

/// The texts within a word that may name a file: the word itself, or the value of an option.
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
    // Letters in front of a slash may be options or a directory; behind an equals sign they are no
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
