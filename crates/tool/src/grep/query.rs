//! What is looked for, and in which files.

use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use ignore::types::{Types, TypesBuilder};

use super::Input;
use crate::input::Wrong;

/// A checked search.
#[derive(Debug)]
pub(super) struct Query {
    pub(super) matcher: RegexMatcher,
    types: Option<Types>,
    names: Option<Names>,
}

#[derive(Debug)]
struct Names {
    matcher: GlobMatcher,
    is_excluding: bool,
    has_directories: bool,
}

impl Query {
    pub(super) fn new(input: &Input) -> Result<Self, Wrong> {
        let matcher = matcher(input).map_err(|why| Wrong::field("pattern", why))?;
        let types = match &input.kind {
            None => None,
            Some(kind) => {
                let mut builder = TypesBuilder::new();
                builder.add_defaults().select(kind);
                Some(builder.build().map_err(|error| Wrong::field("type", error.to_string()))?)
            }
        };
        let names = match &input.glob {
            None => None,
            Some(glob) => Some(names(glob).map_err(|why| Wrong::field("glob", why))?),
        };
        Ok(Self { matcher, types, names })
    }

    /// Is this file to be searched? `below` is its path from where the search began.
    pub(super) fn wants(&self, below: &Path, path: &Path) -> bool {
        let by_type =
            self.types.as_ref().is_none_or(|types| !types.matched(path, false).is_ignore());
        let by_name = self.names.as_ref().is_none_or(|names| {
            let subject = match (names.has_directories, path.file_name()) {
                (false, Some(name)) => Path::new(name),
                _ => below,
            };
            names.matcher.is_match(subject) != names.is_excluding
        });
        by_type && by_name
    }
}

fn matcher(input: &Input) -> Result<RegexMatcher, String> {
    let mut builder = RegexMatcherBuilder::new();
    builder.case_insensitive(input.ignore_case).multi_line(true).crlf(true);
    if input.multiline {
        builder.crlf(false).dot_matches_new_line(true);
    }
    builder.build(&input.pattern).map_err(|error| {
        let mut text = error.to_string();
        if !input.multiline && input.pattern.contains("\\n") {
            text.push_str("; set `multiline` to match over several lines");
        }
        text
    })
}

fn names(glob: &str) -> Result<Names, String> {
    let (is_excluding, pattern) = match glob.strip_prefix('!') {
        Some(pattern) => (true, pattern),
        None => (false, glob),
    };
    let pattern = pattern.trim_start_matches("./").trim_start_matches('/');
    let matcher = GlobBuilder::new(pattern)
        .literal_separator(true)
        .build()
        .map_err(|error| error.to_string())?
        .compile_matcher();
    Ok(Names { matcher, is_excluding, has_directories: pattern.contains('/') })
}
