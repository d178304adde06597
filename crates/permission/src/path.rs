//! Lexical path scopes: what a path means before any file is looked at.
//!
//! Nothing here follows a symbolic link; where links lead is asked of a [`World`](crate::world::World).

use std::path::{Component, Path, PathBuf};

use crate::glob::{matches_name, overlaps};

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
        self.speaks(path, cwd, matches_name)
    }

    /// May it speak of a path that a pattern of the shell becomes?
    pub(crate) fn may_match_glob(&self, glob: &Path, cwd: Option<&str>) -> bool {
        self.speaks(glob, cwd, overlaps)
    }

    /// Could a pattern with this text speak of one of these paths, given in small letters? Cheap,
    /// and wrong only on the side of yes.
    pub(crate) fn may_speak_of(pattern: &str, paths: &[String]) -> bool {
        let is_literal = |part: &&str| {
            part.is_ascii() && !part.contains(['*', '?', '[']) && !matches!(*part, "" | "." | "~")
        };
        let Some(part) = pattern.rsplit('/').find(is_literal) else { return true };
        let part = part.as_bytes();
        paths.iter().any(|path| {
            path.as_bytes().windows(part.len()).any(|bytes| bytes.eq_ignore_ascii_case(part))
        })
    }

    fn speaks(&self, path: &Path, cwd: Option<&str>, fits: fn(&str, &str) -> bool) -> bool {
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
                && names.get(..end).is_some_and(|names| self.fits(&self.parts, names, fits))
        })
    }

    fn fits(&self, parts: &[String], names: &[String], fits: fn(&str, &str) -> bool) -> bool {
        match (parts.split_first(), names.split_first()) {
            (None, None) => true,
            (Some((part, [])), _) if part == "**" => {
                // `dir/**` is what lies in the directory; widely taken, the directory too.
                self.sense == Sense::Wide || !names.is_empty()
            }
            (Some((part, rest)), _) if part == "**" => (0..=names.len())
                .any(|skip| names.get(skip..).is_some_and(|names| self.fits(rest, names, fits))),
            (Some((part, parts)), Some((name, names))) => {
                fits(part, name) && self.fits(parts, names, fits)
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
