//! Lexical path scopes: what a path means before any file is looked at.
//!
//! Nothing here follows a symbolic link. The file tools open what they were granted without
//! following any, so the path that was judged is the path that is touched.

use std::path::{Component, Path, PathBuf};

use crate::glob::matches_name;

/// The absolute path meant, with `.` and `..` taken out by their spelling alone.
#[must_use]
pub fn resolve(base: &Path, path: &Path) -> PathBuf {
    let mut resolved = PathBuf::new();
    for component in base.join(path).components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                resolved.pop();
            }
            other => resolved.push(other),
        }
    }
    resolved
}

/// Does the path lie in one of the directories, by its components?
#[must_use]
pub fn is_inside(path: &Path, directories: &[String]) -> bool {
    directories.iter().any(|directory| path.starts_with(directory))
}

/// Could a word of a command name something outside the working directories? Relative words
/// without `..` cannot: a shell never stands outside.
pub(crate) fn may_lead_outside(word: &str, directories: &[String]) -> bool {
    let is_option = word.starts_with('-');
    let climbs = |part: &str| part == ".." || (is_option && part.ends_with(".."));
    if word.split(['/', '=']).any(climbs) {
        return true;
    }
    let is_elsewhere = |value: &str| {
        value.starts_with('~')
            || (value.starts_with('/')
                && !is_inside(&resolve(Path::new("/"), Path::new(value)), directories))
    };
    // An option may carry its value right behind its letter, or behind an equals sign.
    let attached = word.find('/').filter(|_| is_option).and_then(|at| word.get(at..));
    let assigned = word.split_once('=').map(|(_, value)| value);
    is_elsewhere(word) || attached.is_some_and(is_elsewhere) || assigned.is_some_and(is_elsewhere)
}

/// How a pattern is read: an allow in its narrowest sense, anything else in its widest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sense {
    Narrow,
    Wide,
}

/// A path pattern of a rule.
///
/// `//x` is absolute, `~/x` is under a home, `/x`, `./x` and `x/y` are under the working directory,
/// and a bare name is meant at any depth. `*` stays within a name, `**` does not. In the wide sense
/// letter case is ignored, a single name or a leading `**` is meant anywhere at all, and what is
/// said of a directory is said of everything in it.
#[derive(Debug)]
pub(crate) struct PathPattern {
    base: Base,
    parts: Vec<String>,
    is_directory: bool,
    sense: Sense,
}

#[derive(Debug)]
enum Base {
    Root,
    WorkingDirectory,
    Nowhere,
}

impl PathPattern {
    pub(crate) fn new(pattern: &str, sense: Sense) -> Self {
        let is_wide = sense == Sense::Wide;
        let (base, is_deep, rest) = if let Some(rest) = pattern.strip_prefix("//") {
            (Base::Root, false, rest)
        } else if let Some(rest) = pattern.strip_prefix("~/") {
            // Where home is was not said: for an allow nowhere, otherwise anywhere.
            if is_wide { (Base::Root, true, rest) } else { (Base::Nowhere, false, rest) }
        } else {
            let rest = pattern.trim_start_matches("./").trim_start_matches('/');
            let is_anchored = rest.len() != pattern.len();
            let body = rest.strip_suffix("/**").unwrap_or(rest).trim_end_matches('/');
            let is_single = !is_anchored && !body.contains('/');
            let is_bare = is_single && body.len() == rest.trim_end_matches('/').len();
            let is_anywhere = is_wide && (is_single || rest.starts_with("**/"));
            let base = if is_anywhere { Base::Root } else { Base::WorkingDirectory };
            (base, is_bare || is_anywhere, rest)
        };
        let mut parts: Vec<String> = Vec::new();
        if is_deep {
            parts.push("**".to_owned());
        }
        for part in rest.split('/').filter(|part| !part.is_empty() && *part != ".") {
            // Two in a row say no more than one.
            if part != "**" || parts.last().is_none_or(|last| last != "**") {
                parts.push(if is_wide { widened(part) } else { part.to_owned() });
            }
        }
        Self { base, parts, is_directory: rest.ends_with('/'), sense }
    }

    /// Does it speak of this absolute path?
    pub(crate) fn matches(&self, path: &Path, cwd: Option<&str>) -> bool {
        let base = match (&self.base, cwd) {
            (Base::Root, _) => "/",
            (Base::WorkingDirectory, Some(cwd)) => cwd,
            _ => return false,
        };
        let Ok(below) = path.strip_prefix(base) else { return false };
        let is_wide = self.sense == Sense::Wide;
        let name = |component: Component<'_>| {
            let name = component.as_os_str().to_string_lossy();
            if is_wide { name.to_lowercase() } else { name.into_owned() }
        };
        let names: Vec<String> = below.components().map(name).collect();
        let first = if is_wide || self.is_directory { 0 } else { names.len() };
        (first..=names.len()).any(|end| {
            let is_below = end < names.len();
            (is_wide || is_below || !self.is_directory)
                && names.get(..end).is_some_and(|names| self.fits(&self.parts, names))
        })
    }

    fn fits(&self, parts: &[String], names: &[String]) -> bool {
        match (parts.split_first(), names.split_first()) {
            (None, None) => true,
            (Some((part, [])), _) if part == "**" => {
                // `dir/**` is what lies in the directory; widely taken, the directory too.
                self.sense == Sense::Wide || !names.is_empty()
            }
            (Some((part, rest)), _) if part == "**" => (0..=names.len())
                .any(|skip| names.get(skip..).is_some_and(|names| self.fits(rest, names))),
            (Some((part, parts)), Some((name, names))) => {
                matches_name(part, name) && self.fits(parts, names)
            }
            _ => false,
        }
    }
}

/// In the wide sense letter case does not count, and a set of characters is any character.
fn widened(part: &str) -> String {
    let mut wide = String::new();
    let mut rest = part;
    while let Some((before, after)) = rest.split_once('[') {
        wide.push_str(before);
        match after.get(1..).and_then(|inner| inner.split_once(']')) {
            Some((_, after)) => {
                wide.push('?');
                rest = after;
            }
            None => {
                wide.push('[');
                rest = after;
            }
        }
    }
    wide.push_str(rest);
    wide.to_lowercase()
}
