//! Looks into one file after the other and keeps what is to be shown, within bounds.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use grep_matcher::{LineTerminator, Matcher};
use grep_regex::RegexMatcher;
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkContextKind, SinkMatch,
};

use super::query::Query;
use super::{Input, OutputMode};
use crate::file;
use crate::output::text_of;
use crate::walk::Walk;

/// Bytes kept of all lines.
const KEPT_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Characters kept of one line.
const LINE_CHARS_MAX: usize = 500;
/// The longest line, or with `multiline` the largest file, that is searched.
const HEAP_BYTES_MAX: usize = 16 * 1024 * 1024;
const CONTEXT_LINES_MAX: u64 = 100;

/// The search over all files.
pub(super) struct Search<'q> {
    searcher: Searcher,
    matcher: &'q RegexMatcher,
    mode: OutputMode,
    numbers: bool,
    only_matching: bool,
    has_context: bool,
    lines: Vec<String>,
    bytes: usize,
    passed_over: u64,
    first_problem: Option<String>,
}

impl<'q> Search<'q> {
    pub(super) fn new(input: &Input, query: &'q Query) -> Self {
        let around = input.context.or(input.around);
        let is_content = input.output_mode == OutputMode::Content && !input.only_matching;
        let size = |lines: Option<u64>| {
            let lines = lines.or(around).filter(|_| is_content).unwrap_or(0);
            usize::try_from(lines.min(CONTEXT_LINES_MAX)).unwrap_or(0)
        };
        let (before, after) = (size(input.before), size(input.after));
        let line_end =
            if input.multiline { LineTerminator::byte(b'\n') } else { LineTerminator::crlf() };
        let searcher = SearcherBuilder::new()
            .line_terminator(line_end)
            .line_number(true)
            .multi_line(input.multiline)
            .before_context(before)
            .after_context(after)
            .binary_detection(BinaryDetection::quit(0))
            .heap_limit(Some(HEAP_BYTES_MAX))
            .build();
        Self {
            searcher,
            matcher: &query.matcher,
            mode: input.output_mode,
            numbers: input.numbers.unwrap_or(true),
            only_matching: input.only_matching,
            has_context: before + after > 0,
            lines: Vec::new(),
            bytes: 0,
            passed_over: 0,
            first_problem: None,
        }
    }

    /// Searches one file and counts its hits. One that cannot be searched is passed over, told of
    /// in the end.
    pub(super) fn file(&mut self, walk: &Walk, path: &Path) -> u64 {
        let opened = match file::open(&walk.job().surroundings, path) {
            Ok(opened) => opened,
            Err(problem) => {
                self.pass_over(problem);
                return 0;
            }
        };
        let reader = Stoppable { file: &opened.file, walk };
        let mut searcher = self.searcher.clone();
        let matcher = self.matcher;
        let kept = self.lines.len();
        let name = path.to_string_lossy().into_owned();
        let mut page = Page { search: self, name, count: 0, kept };
        let searched = searcher.search_reader(matcher, reader, &mut page);
        // What was found before an error is still found.
        let count = page.count;
        if let Err(error) = searched
            && !walk.must_stop()
        {
            self.pass_over(format!("`{}`: {error}", path.display()));
        }
        count
    }

    fn pass_over(&mut self, problem: String) {
        self.passed_over += 1;
        self.first_problem.get_or_insert(problem);
    }

    /// What the lines themselves do not show.
    pub(super) fn remark(&self) -> Option<String> {
        let problem = self.first_problem.as_ref()?;
        Some(format!("[{} files could not be searched to their end: {problem}]", self.passed_over))
    }

    pub(super) fn is_full(&self) -> bool {
        self.bytes >= KEPT_BYTES_MAX
    }

    pub(super) fn into_lines(self) -> Vec<String> {
        self.lines
    }

    fn keep(&mut self, name: &str, number: Option<u64>, sign: char, text: &[u8]) {
        let text = text_of(text);
        let text = text.trim_end_matches(['\n', '\r']);
        let text = match text.char_indices().nth(LINE_CHARS_MAX) {
            Some((at, _)) => format!("{}…", text.get(..at).unwrap_or(text)),
            None => text.to_owned(),
        };
        let line = match number.filter(|_| self.numbers) {
            Some(number) => format!("{name}{sign}{number}{sign}{text}"),
            None => format!("{name}{sign}{text}"),
        };
        self.bytes += line.len();
        self.lines.push(line);
    }
}

/// What one file gives, line by line.
struct Page<'s, 'q> {
    search: &'s mut Search<'q>,
    name: String,
    count: u64,
    /// Lines kept before this file.
    kept: usize,
}

impl Sink for Page<'_, '_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        self.count += 1;
        match self.search.mode {
            OutputMode::FilesWithMatches => return Ok(false),
            OutputMode::Count => return Ok(true),
            OutputMode::Content => {}
        }
        if self.kept == self.search.lines.len() && self.kept > 0 && self.search.has_context {
            self.search.lines.push("--".to_owned());
        }
        let first = found.line_number();
        if self.search.only_matching {
            self.matching_parts(found)?;
        } else {
            for (number, line) in (first.unwrap_or(1)..).zip(found.lines()) {
                self.search.keep(&self.name, first.map(|_| number), ':', line);
            }
        }
        Ok(!self.search.is_full())
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        let is_first = self.kept == self.search.lines.len() && self.kept > 0;
        if is_first && *context.kind() == SinkContextKind::Before {
            self.search.lines.push("--".to_owned());
        }
        self.search.keep(&self.name, context.line_number(), '-', context.bytes());
        Ok(!self.search.is_full())
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        self.search.lines.push("--".to_owned());
        Ok(true)
    }
}

impl Page<'_, '_> {
    fn matching_parts(&mut self, found: &SinkMatch<'_>) -> io::Result<()> {
        let text = found.bytes();
        let mut parts: Vec<Vec<u8>> = Vec::new();
        self.search
            .matcher
            .find_iter(text, |part| {
                parts.extend(text.get(part.start()..part.end()).map(<[u8]>::to_vec));
                parts.len() < LINE_CHARS_MAX
            })
            .map_err(io::Error::other)?;
        for part in parts {
            self.search.keep(&self.name, found.line_number(), ':', &part);
        }
        Ok(())
    }
}

/// A file whose reading ends when the search must.
struct Stoppable<'a> {
    file: &'a File,
    walk: &'a Walk,
}

impl Read for Stoppable<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.walk.must_stop() {
            return Err(io::Error::other("stopped"));
        }
        self.file.read(buffer)
    }
}
