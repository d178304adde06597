//! The pattern and the file filters of a search.

use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use ignore::types::{Types, TypesBuilder};

use super::GrepInput;
use crate::input::InputError;

#[derive(Debug)]
pub(super) struct GrepQuery {
    pub(super) matcher: RegexMatcher,
    type_filter: Option<Types>,
    name_filter: Option<FileNameFilter>,
}

#[derive(Debug)]
struct FileNameFilter {
    matcher: GlobMatcher,
    is_excluding: bool,
    has_directories: bool,
}

impl GrepQuery {
    pub(super) fn new(input: &GrepInput) -> Result<Self, InputError> {
        let matcher = build_matcher(input).map_err(|why| InputError::field("pattern", why))?;
        let types = match &input.kind {
            None => None,
            Some(kind) => {
                let mut builder = TypesBuilder::new();
                builder.add_defaults().select(kind);
                Some(
                    builder
                        .build()
                        .map_err(|error| InputError::field("type", error.to_string()))?,
                )
            }
        };
        let names = match &input.glob {
            None => None,
            Some(glob) => {
                Some(build_name_filter(glob).map_err(|why| InputError::field("glob", why))?)
            }
        };
        Ok(Self { matcher, type_filter: types, name_filter: names })
    }

    /// Should this file be searched? `below` is its path relative to the start directory.
    pub(super) fn includes_file(&self, below: &Path, path: &Path) -> bool {
        let by_type =
            self.type_filter.as_ref().is_none_or(|types| !types.matched(path, false).is_ignore());
        let by_name = self.name_filter.as_ref().is_none_or(|names| {
            let subject = match (names.has_directories, path.file_name()) {
                (false, Some(name)) => Path::new(name),
                _ => below,
            };
            names.matcher.is_match(subject) != names.is_excluding
        });
        by_type && by_name
    }
}

fn build_matcher(input: &GrepInput) -> Result<RegexMatcher, String> {
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

fn build_name_filter(glob: &str) -> Result<FileNameFilter, String> {
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
    Ok(FileNameFilter { matcher, is_excluding, has_directories: pattern.contains('/') })
}
