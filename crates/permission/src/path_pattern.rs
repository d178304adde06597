//! Lexical path patterns, matched without access to files.
//!
//! Follows no symlinks; a `FileSystemView` knows where they lead.

use std::borrow::Cow;
use std::path::{Component, Path, PathBuf};

use crate::glob::{matches_name, widen_pattern};

/// The absolute path, with `.` and `..` removed lexically.
#[must_use]
pub fn normalize_path(base: &Path, path: &Path) -> PathBuf {
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

/// Is the path inside one of the directories, by components?
#[must_use]
pub fn is_inside(path: &Path, directories: &[String]) -> bool {
    directories.iter().any(|directory| path.starts_with(directory))
}

/// The sense of a match: narrow for an allow, wide for anything else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MatchSense {
    Narrow,
    Wide,
}

/// The path pattern of a rule.
///
/// `//x` is absolute, `~/x` is in the home directory, `/x`, `./x` and `x/y` are relative to the
/// working directory, and a bare name matches at any depth. `*` stays within a name, `**` does not.
/// In the wide sense case is ignored, a bare name or a leading `**` matches in any directory at
/// all, and a directory includes everything in it.
#[derive(Debug)]
pub(crate) struct PathPattern<'p> {
    base: PatternBase,
    parts: Vec<Cow<'p, str>>,
    is_directory: bool,
    sense: MatchSense,
}

#[derive(Debug)]
enum PatternBase {
    Root,
    WorkingDirectory,
    Nowhere,
}

/// Matches a part of a pattern with a name.
type NameMatcher = fn(&str, &str) -> bool;

impl<'p> PathPattern<'p> {
    pub(crate) fn new(pattern: &'p str, sense: MatchSense) -> Self {
        let is_wide = sense == MatchSense::Wide;
        let (base, is_deep, rest) = if let Some(rest) = pattern.strip_prefix("//") {
            (PatternBase::Root, false, rest)
        } else if let Some(rest) = pattern.strip_prefix("~/") {
            // The home directory is unknown: an allow then matches nothing, anything else matches
            // everywhere.
            if is_wide {
                (PatternBase::Root, true, rest)
            } else {
                (PatternBase::Nowhere, false, rest)
            }
        } else {
            let rest = pattern.trim_start_matches("./").trim_start_matches('/');
            let is_anchored = rest.len() != pattern.len();
            let body = rest.strip_suffix("/**").unwrap_or(rest).trim_end_matches('/');
            let is_single = !is_anchored && !body.contains('/');
            let is_bare = is_single && body.len() == rest.trim_end_matches('/').len();
            let is_anywhere = is_wide && (is_single || rest.starts_with("**/"));
            let base = if is_anywhere { PatternBase::Root } else { PatternBase::WorkingDirectory };
            (base, is_bare || is_anywhere, rest)
        };
        let mut parts: Vec<Cow<'p, str>> = Vec::new();
        if is_deep {
            parts.push(Cow::Borrowed("**"));
        }
        for part in rest.split('/').filter(|part| !part.is_empty() && *part != ".") {
            // Two in a row are the same as one.
            if part != "**" || parts.last().is_none_or(|last| last != "**") {
                parts.push(if is_wide { widen_pattern(part) } else { Cow::Borrowed(part) });
            }
        }
        Self { base, parts, is_directory: rest.ends_with('/'), sense }
    }

    /// The same, independent of the rule's lifetime.
    pub(crate) fn into_owned(self) -> PathPattern<'static> {
        let parts = self.parts.into_iter().map(|part| Cow::Owned(part.into_owned())).collect();
        PathPattern { base: self.base, parts, is_directory: self.is_directory, sense: self.sense }
    }

    pub(crate) fn matches(&self, path: &Path, cwd: Option<&str>) -> bool {
        self.matches_with(path, cwd, matches_name)
    }

    /// May it match a path that a shell pattern expands to?
    pub(crate) fn may_match_glob(&self, glob: &ShellGlob, cwd: Option<&str>) -> bool {
        let above = match (&self.base, cwd) {
            (PatternBase::Root, _) => 1,
            (PatternBase::WorkingDirectory, Some(cwd)) if glob.path.starts_with(cwd) => {
                Path::new(cwd).components().count()
            }
            (PatternBase::WorkingDirectory | PatternBase::Nowhere, _) => return false,
        };
        glob.names.get(above..).is_some_and(|names| self.matches_names(names, glob.name_matcher))
    }

    /// Could a pattern with this text match one of these lower-case paths? Cheap, and may be wrong
    /// only by returning `true`.
    pub(crate) fn may_match_any(pattern: &str, paths: &[String]) -> bool {
        let Some(part) = pattern.rsplit('/').find(Self::is_literal) else { return true };
        let part = part.as_bytes();
        paths.iter().any(|path| {
            path.as_bytes().windows(part.len()).any(|bytes| bytes.eq_ignore_ascii_case(part))
        })
    }

    /// Is this part of a pattern literal?
    fn is_literal(part: &&str) -> bool {
        part.is_ascii() && !part.contains(['*', '?', '[']) && !matches!(*part, "" | "." | "~")
    }

    fn matches_with(&self, path: &Path, cwd: Option<&str>, fits: NameMatcher) -> bool {
        let base = match (&self.base, cwd) {
            (PatternBase::Root, _) => "/",
            (PatternBase::WorkingDirectory, Some(cwd)) => cwd,
            (PatternBase::WorkingDirectory | PatternBase::Nowhere, _) => return false,
        };
        let Ok(below) = path.strip_prefix(base) else { return false };
        let name = |component: Component<'_>| {
            let name = component.as_os_str().to_string_lossy();
            if self.sense == MatchSense::Wide { name.to_lowercase() } else { name.into_owned() }
        };
        let names: Vec<String> = below.components().map(name).collect();
        self.matches_names(&names, fits)
    }

    /// Tries all ways to match in parallel, so the time is at most the product of both lengths.
    fn matches_names(&self, names: &[String], fits: NameMatcher) -> bool {
        let is_wide = self.sense == MatchSense::Wide;
        // Which numbers of names can be consumed by the parts so far.
        let mut reached = vec![false; names.len() + 1];
        if let Some(first) = reached.first_mut() {
            *first = true;
        }
        let last = self.parts.len().saturating_sub(1);
        for (at, part) in self.parts.iter().enumerate() {
            let mut next = vec![false; names.len() + 1];
            let first = reached.iter().position(|is_reached| *is_reached);
            let Some(first) = first else { return false };
            if part == "**" {
                // `dir/**` matches what is in the directory; in the wide sense also the directory.
                let from = if at == last && !is_wide { first + 1 } else { first };
                next.iter_mut().skip(from).for_each(|is_reached| *is_reached = true);
            } else {
                for (place, name) in names.iter().enumerate().skip(first) {
                    if reached.get(place) != Some(&true) {
                        continue;
                    }
                    // With the `globstar` option, two stars match any depth.
                    if name == "**" {
                        return true;
                    }
                    if let Some(step) = next.get_mut(place + 1).filter(|_| fits(part, name)) {
                        *step = true;
                    }
                }
            }
            reached = next;
        }
        // In the wide sense, a directory includes everything in it.
        let is_end = |end: usize| match (is_wide, self.is_directory) {
            (true, _) => true,
            (false, true) => end < names.len(),
            (false, false) => end == names.len(),
        };
        reached.iter().enumerate().any(|(end, is_reached)| *is_reached && is_end(end))
    }
}

/// A path with shell patterns, split once for many rules.
#[derive(Debug)]
pub(crate) struct ShellGlob {
    path: PathBuf,
    /// The root and all names below it, widened.
    names: Vec<String>,
    name_matcher: NameMatcher,
}

impl ShellGlob {
    /// `name_matcher` decides what the shell's stars match.
    pub(crate) fn new(path: &Path, name_matcher: NameMatcher) -> Self {
        let name = |component: Component<'_>| {
            widen_pattern(&component.as_os_str().to_string_lossy()).into_owned()
        };
        Self {
            path: path.to_path_buf(),
            names: path.components().map(name).collect(),
            name_matcher,
        }
    }

    /// Could a pattern with this text match it? Cheap, and may be wrong only by returning `true`.
    pub(crate) fn may_match_pattern(&self, pattern: &str) -> bool {
        let is_deep = self.names.iter().any(|name| name == "**");
        let mut literals = pattern.split('/').filter(PathPattern::is_literal);
        is_deep || literals.all(|part| self.names.iter().any(|name| may_become_name(name, part)))
    }
}

/// Could the shell's pattern expand to this name? Comparing the ends rules out most names.
fn may_become_name(glob: &str, name: &str) -> bool {
    fn is_wild(byte: u8) -> bool {
        matches!(byte, b'*' | b'?')
    }
    let glob = glob.as_bytes();
    let name = name.as_bytes();
    let Some(first) = glob.iter().position(|byte| is_wild(*byte)) else {
        return glob.eq_ignore_ascii_case(name);
    };
    let behind = glob.len() - 1 - glob.iter().rposition(|byte| is_wild(*byte)).unwrap_or(first);
    let begins = glob.iter().zip(name).take(first).all(|(a, b)| a.eq_ignore_ascii_case(b));
    let ends = glob.iter().rev().zip(name.iter().rev()).take(behind);
    name.len() >= first + behind && begins && ends.clone().all(|(a, b)| a.eq_ignore_ascii_case(b))
}
