//! Removals that no rule and no mode may allow.
//!
//! Critical are the root and its direct entries, the home directory, the working directory and its
//! parents, and all entries at once: a star directly in one of these, or after a variable that may
//! be empty.

use std::path::Path;

use super::parsed_script::{ParsedShellScript, SimpleCommand};
use super::shell_word::ShellWord;
use super::wrapper::base_name;
use crate::file_system_view::{FileSystemView, resolve_links};
use crate::path_pattern::normalize_path;

/// The word that makes a removal critical.
pub(crate) fn find_critical_removal(
    script: &ParsedShellScript,
    directories: &[String],
    file_system: &dyn FileSystemView,
) -> Option<String> {
    script.parts.iter().chain(&script.removals).find_map(|part| {
        let is_critical = |word: &&ShellWord| is_critical(word, part, directories, file_system);
        let mut all = removal_targets(part).chain(find_delete_roots(part));
        all.find(is_critical).map(|word| word.text.clone())
    })
}

/// The directories in which `find` deletes everything it finds.
fn find_delete_roots(part: &SimpleCommand) -> &[ShellWord] {
    let Some((first, rest)) = part.words.split_first() else { return &[] };
    let directories =
        rest.iter().take_while(|word| !word.text.starts_with(['-', '(', '!'])).count();
    let (directories, tests) = rest.split_at(directories);
    let chooses = |word: &ShellWord| {
        let text = word.text.as_str();
        let is_free = ["-delete", "-depth", "-mindepth", "-xdev", "-mount", "-type"];
        text.starts_with('-') && !is_free.contains(&text)
    };
    let deletes = tests.iter().any(|word| word.text == "-delete");
    let sweeps = base_name(&first.text) == "find" && deletes && !tests.iter().any(chooses);
    if sweeps { directories } else { &[] }
}

/// The words after `rm` or `rmdir`, at any position.
fn removal_targets(part: &SimpleCommand) -> impl Iterator<Item = &ShellWord> {
    let removes = |word: &ShellWord| matches!(base_name(&word.text), "rm" | "rmdir");
    let reach = if part.is_wrapper { part.words.len() } else { 1 };
    let at = part.words.iter().take(reach).position(removes);
    let rest = at.and_then(|at| part.words.get(at + 1..)).unwrap_or_default();
    rest.iter().filter(|word| !word.text.starts_with('-'))
}

fn is_critical(
    word: &ShellWord,
    part: &SimpleCommand,
    directories: &[String],
    file_system: &dyn FileSystemView,
) -> bool {
    let text = word.text.as_str();
    // Code in another language has no `~`.
    if word.known.is_some() && matches!(text, "~" | "~/" | "~/*" | "$HOME" | "/*" | "./*" | "*") {
        return true;
    }
    if !word.is_home && word.known.is_none() && (text.starts_with('…') || text.starts_with('$')) {
        return is_bare_below_variable(text.trim_start_matches(['…', '$']), text);
    }
    let (place, is_everything) = match text.rsplit_once('/') {
        Some((place, last)) if word.is_glob && is_star(last) => (place, true),
        None if word.is_glob && is_star(text) => (".", true),
        _ => (text, false),
    };
    let is_home = word.is_home && text.starts_with('…');
    if is_home || (text.starts_with('~') && word.known.is_none()) {
        return !place.trim_end_matches('/').contains('/');
    }
    let place = if place.is_empty() { "/" } else { place };
    let is_only_dots =
        place.split('/').all(|part| matches!(part, ".." | "." | "")) && !place.is_empty();
    if is_only_dots {
        return true;
    }
    let mut bases: Vec<&Path> =
        part.working_directories.as_slice().iter().map(|path| path.as_path()).collect();
    bases.extend(directories.first().map(Path::new).filter(|_| bases.is_empty()));
    if bases.is_empty() && place.starts_with('/') {
        bases.push(Path::new("/"));
    }
    if bases.is_empty() {
        return is_everything;
    }
    bases.iter().any(|base| {
        let resolved = resolve_links(file_system, base, Path::new(place));
        resolved.both_paths().any(|path| is_critical_path(path, directories, file_system))
    })
}

fn is_critical_path(path: &Path, directories: &[String], file_system: &dyn FileSystemView) -> bool {
    let path = normalize_path(Path::new("/"), path);
    let is_shallow = path.components().count() <= 2;
    let is_home = path.parent() == Some(Path::new("/home"))
        || path == Path::new("/root")
        || file_system.home_directory().is_some_and(|home| home.starts_with(&path));
    let holds_us = directories.iter().any(|directory| Path::new(directory).starts_with(&path));
    is_shallow || is_home || holds_us
}

fn is_star(last: &str) -> bool {
    matches!(last, "*" | "**" | ".*" | "{*,.*}" | ".[!.]*")
}

/// `$D/`, `$D/*`, `${D}/*`: the whole file system if the variable is empty; and `$D` alone may be
/// any path.
fn is_bare_below_variable(after: &str, text: &str) -> bool {
    let after = after.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
    let is_home = |home: &&str| text == *home;
    ["$HOME", "$PWD"].iter().any(is_home)
        || after.strip_prefix('/').is_some_and(|last| last.is_empty() || is_star(last))
}
