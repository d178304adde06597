//! Removals that no rule and no mode may wave through.
//!
//! Critical are the root and what lies directly under it, home, the working directory and all
//! above it, and everything at once: a star directly under one of these, or under a variable that
//! may turn out empty.

use std::path::Path;

use super::parts::{Part, Parts, Word};
use super::wrapper::base_name;
use crate::path::resolve;

/// The word of a removal that makes it critical.
pub(crate) fn removes_critical(parts: &Parts, directories: &[String]) -> Option<String> {
    parts.commands.iter().find_map(|part| {
        targets(part).find(|word| is_critical(word, directories)).map(|word| word.text.clone())
    })
}

/// The words behind `rm` or `rmdir`, wherever they stand.
fn targets(part: &Part) -> impl Iterator<Item = &Word> {
    let removes = |word: &&Word| matches!(base_name(&word.text), "rm" | "rmdir");
    let reach = if part.is_wrapper { part.words.len() } else { 1 };
    let at = part.words.iter().take(reach).position(|word| removes(&word));
    let rest = at.and_then(|at| part.words.get(at + 1..)).unwrap_or_default();
    rest.iter().filter(|word| !word.text.starts_with('-'))
}

fn is_critical(word: &Word, directories: &[String]) -> bool {
    let text = word.text.as_str();
    if let Some(rest) = text.strip_prefix('$').filter(|_| word.is_expanded) {
        return is_bare_below_variable(rest);
    }
    let (place, is_everything) = match text.rsplit_once('/') {
        Some((place, last)) if word.is_expanded && is_star(last) => (place, true),
        None if word.is_expanded && is_star(text) => (".", true),
        _ => (text, false),
    };
    if word.is_expanded && place.starts_with('~') {
        return !place.trim_end_matches('/').contains('/');
    }
    let place = if place.is_empty() { "/" } else { place };
    let is_only_dots =
        place.split('/').all(|part| matches!(part, ".." | "." | "")) && !place.is_empty();
    let Some(here) =
        directories.first().map(String::as_str).or(place.starts_with('/').then_some("/"))
    else {
        return is_only_dots || is_everything;
    };
    let path = resolve(Path::new(here), Path::new(place));
    let is_shallow = path.components().count() <= 2;
    let is_home = path.parent() == Some(Path::new("/home")) || path == Path::new("/root");
    let holds_us = directories.iter().any(|directory| Path::new(directory).starts_with(&path));
    is_shallow || is_home || holds_us || is_only_dots
}

fn is_star(last: &str) -> bool {
    matches!(last, "*" | "**" | ".*" | "{*,.*}" | ".[!.]*")
}

/// `$D/`, `$D/*`, `${D}/*`: all there is, should the variable be empty.
fn is_bare_below_variable(rest: &str) -> bool {
    let after = match rest.strip_prefix('{') {
        Some(rest) => rest.split_once('}').map_or("", |(_, after)| after),
        None => rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_'),
    };
    let is_home = matches!(rest, "HOME" | "{HOME}" | "PWD" | "{PWD}");
    is_home || after.strip_prefix('/').is_some_and(|last| last.is_empty() || is_star(last))
}
