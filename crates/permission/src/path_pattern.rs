//! Lexical path scopes: what a path means before any file is looked at.
//!
//! Nothing here follows a symbolic link; a `FileSystemView` knows where links lead.

use std::borrow::Cow;
use std::path::{Component, Path, PathBuf};

use crate::glob::{matches_name, widen_pattern};

/// The absolute path meant, with `.` and `..` taken out by their spelling alone.
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

/// Does the path lie in one of the directories, by its components?
#[must_use]
pub fn is_inside(path: &Path, directories: &[String]) -> bool {
    directories.iter().any(|directory| path.starts_with(directory))
}

/// How a pattern is read: an allow in its narrowest sense, anything else in its widest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MatchSense {
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

/// Do a part of a pattern and a name fit?
type NameMatcher = fn(&str, &str) -> bool;

impl<'p> PathPattern<'p> {
    pub(crate) fn new(pattern: &'p str, sense: MatchSense) -> Self {
        let is_wide = sense == MatchSense::Wide;
        let (base, is_deep, rest) = if let Some(rest) = pattern.strip_prefix("//") {
            (PatternBase::Root, false, rest)
        } else if let Some(rest) = pattern.strip_prefix("~/") {
            // Where home is was not said: for an allow nowhere, otherwise anywhere.
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
            // Two in a row say no more than one.
            if part != "**" || parts.last().is_none_or(|last| last != "**") {
                parts.push(if is_wide { widen_pattern(part) } else { Cow::Borrowed(part) });
            }
        }
        Self { base, parts, is_directory: rest.ends_with('/'), sense }
    }

    /// The same, kept for longer than the rule.
    pub(crate) fn into_owned(self) -> PathPattern<'static> {
        let parts = self.parts.into_iter().map(|part| Cow::Owned(part.into_owned())).collect();
        PathPattern { base: self.base, parts, is_directory: self.is_directory, sense: self.sense }
    }

    pub(crate) fn matches(&self, path: &Path, cwd: Option<&str>) -> bool {
        self.matches_with(path, cwd, matches_name)
    }

    /// May it speak of a path that a pattern of the shell becomes?
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

    /// Could a pattern with this text speak of one of these paths, given in small letters? Cheap,
    /// and wrong only on the side of yes.
    pub(crate) fn may_match_any(pattern: &str, paths: &[String]) -> bool {
        let Some(part) = pattern.rsplit('/').find(Self::is_literal) else { return true };
        let part = part.as_bytes();
        paths.iter().any(|path| {
            path.as_bytes().windows(part.len()).any(|bytes| bytes.eq_ignore_ascii_case(part))
        })
    }

    /// Does a part of a pattern stand for nothing but itself?
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

    /// Follows all ways through the names at once, so that no pattern takes longer than its length
    /// times theirs.
    fn matches_names(&self, names: &[String], fits: NameMatcher) -> bool {
        let is_wide = self.sense == MatchSense::Wide;
        // Which numbers of names can be used up by the parts so far.
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
                // `dir/**` is what lies in the directory; widely taken, the directory too.
                let from = if at == last && !is_wide { first + 1 } else { first };
                next.iter_mut().skip(from).for_each(|is_reached| *is_reached = true);
            } else {
                for (place, name) in names.iter().enumerate().skip(first) {
                    if reached.get(place) != Some(&true) {
                        continue;
                    }
                    // With one of its options on, two stars of the shell stand for any depth.
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
        // What is said of a directory is said of everything in it, when widely taken.
        let is_end = |end: usize| match (is_wide, self.is_directory) {
            (true, _) => true,
            (false, true) => end < names.len(),
            (false, false) => end == names.len(),
        };
        reached.iter().enumerate().any(|(end, is_reached)| *is_reached && is_end(end))
    }
}

/// A path with patterns of the shell in it, taken apart once for many rules.
#[derive(Debug)]
pub(crate) struct ShellGlob {
    path: PathBuf,
    /// The root and every name below it, widened.
    names: Vec<String>,
    name_matcher: NameMatcher,
}

impl ShellGlob {
    /// `fits` says what the shell's stars stand for.
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

    /// Could a pattern with this text speak of it? Cheap, and wrong only on the side of yes.
    pub(crate) fn may_match_pattern(&self, pattern: &str) -> bool {
        let is_deep = self.names.iter().any(|name| name == "**");
        let mut literals = pattern.split('/').filter(PathPattern::is_literal);
        is_deep || literals.all(|part| self.names.iter().any(|name| may_become_name(name, part)))
    }
}

/// Could the shell's pattern become this name? Its ends tell most of them apart.
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
