//! Searches files and keeps the lines to show, within limits.
//!
//! Each thread has its own searcher; `results` merges them.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::SystemTime;

use grep_matcher::{LineTerminator, Matcher};
use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};

use super::query::GrepQuery;
use super::results::{FileMatches, GrepResults};
use super::{GrepInput, GrepOutputMode};
use crate::builtin::file_walk::FileWalk;
use crate::lock::lock;

const RESULTS_BYTES_MAX: usize = 4 * 1024 * 1024;
const LINE_CHARS_MAX: usize = 500;
/// Limit on a line, or with `multiline` on a file.
const HEAP_BYTES_MAX: usize = 16 * 1024 * 1024;
const CONTEXT_LINES_MAX: u64 = 100;

pub(super) struct FileSearcher<'q> {
    searcher: Searcher,
    matcher: &'q RegexMatcher,
    walk: &'q FileWalk,
    results: &'q GrepResults,
    display: MatchDisplay,
}

#[derive(Clone, Copy)]
struct MatchDisplay {
    mode: GrepOutputMode,
    line_numbers: bool,
    only_matching: bool,
}

pub(super) fn resolve_context_lines(input: &GrepInput) -> (usize, usize) {
    let around = input.context.or(input.around);
    let is_content = input.output_mode == GrepOutputMode::Content && !input.only_matching;
    let size = |lines: Option<u64>| {
        let lines = lines.or(around).filter(|_| is_content).unwrap_or(0);
        usize::try_from(lines.min(CONTEXT_LINES_MAX)).unwrap_or(0)
    };
    (size(input.before), size(input.after))
}

impl<'q> FileSearcher<'q> {
    pub(super) fn new(
        input: &GrepInput,
        query: &'q GrepQuery,
        walk: &'q FileWalk,
        results: &'q GrepResults,
    ) -> Self {
        let (before, after) = resolve_context_lines(input);
        let numbers = input.numbers.unwrap_or(true) && input.output_mode == GrepOutputMode::Content;
        let line_end =
            if input.multiline { LineTerminator::byte(b'\n') } else { LineTerminator::crlf() };
        let searcher = SearcherBuilder::new()
            .line_terminator(line_end)
            .line_number(numbers)
            .multi_line(input.multiline)
            .before_context(before)
            .after_context(after)
            .binary_detection(BinaryDetection::quit(0))
            .heap_limit(Some(HEAP_BYTES_MAX))
            .build();
        let display = MatchDisplay {
            mode: input.output_mode,
            line_numbers: numbers,
            only_matching: input.only_matching,
        };
        Self { searcher, matcher: &query.matcher, walk, results, display }
    }

    pub(super) fn search_file(&mut self, path: &Path) {
        let file = match self.walk.open_file(path) {
            Ok(file) => file,
            Err(problem) => return self.results.record_problem(problem),
        };
        let reader = StoppableReader { file: &file, walk: self.walk };
        let mut page = MatchSink {
            display: self.display,
            matcher: self.matcher,
            results: self.results,
            path,
            name: None,
            count: 0,
            lines: Vec::new(),
        };
        let searched = self.searcher.search_reader(self.matcher, reader, &mut page);
        // Matches before an error are kept.
        let count = page.count;
        let lines = page.lines;
        if count > 0 {
            let path = path.to_path_buf();
            let modified = match self.display.mode {
                GrepOutputMode::FilesWithMatches => self.walk.modified_time(&path),
                GrepOutputMode::Content | GrepOutputMode::Count => SystemTime::UNIX_EPOCH,
            };
            lock(&self.results.files).push(FileMatches {
                path,
                modified,
                match_count: count,
                lines,
            });
        }
        if let Err(error) = searched
            && !self.walk.should_stop()
        {
            self.results.record_problem(format!("`{}`: {error}", path.display()));
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.results.bytes_stored.load(Ordering::Relaxed) >= RESULTS_BYTES_MAX
    }
}

struct MatchSink<'p> {
    display: MatchDisplay,
    matcher: &'p RegexMatcher,
    results: &'p GrepResults,
    path: &'p Path,
    /// The path as text, computed when first needed.
    name: Option<String>,
    count: u64,
    lines: Vec<String>,
}

impl Sink for MatchSink<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        self.count += 1;
        match self.display.mode {
            GrepOutputMode::FilesWithMatches => return Ok(false),
            GrepOutputMode::Count => return Ok(true),
            GrepOutputMode::Content => {}
        }
        let first = found.line_number();
        if self.display.only_matching {
            return self.push_matching_parts(found);
        }
        let mut has_room = true;
        for (number, line) in (first.unwrap_or(1)..).zip(found.lines()) {
            has_room = self.push_line(first.map(|_| number), ':', line);
        }
        Ok(has_room)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        Ok(self.push_line(context.line_number(), '-', context.bytes()))
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        self.lines.push("--".to_owned());
        Ok(true)
    }
}

impl MatchSink<'_> {
    /// Adds a line. Returns whether there is room for more.
    fn push_line(&mut self, number: Option<u64>, sign: char, text: &[u8]) -> bool {
        let end =
            text.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r')).map_or(0, |at| at + 1);
        let text = text.get(..end).unwrap_or(text);
        // A character has at most four bytes, so this part is always sufficient.
        let near = text.get(..LINE_CHARS_MAX * 4 + 4).unwrap_or(text);
        let shown = String::from_utf8_lossy(near);
        let path = self.path;
        let name = self.name.get_or_insert_with(|| path.to_string_lossy().into_owned());
        let mut line = String::with_capacity(name.len() + shown.len() + 16);
        line.push_str(name);
        line.push(sign);
        if let Some(number) = number.filter(|_| self.display.line_numbers) {
            line.push_str(&format!("{number}{sign}"));
        }
        match find_cut(&shown) {
            Some(at) => {
                line.push_str(shown.get(..at).unwrap_or(&shown));
                line.push('…');
            }
            None => line.push_str(&shown),
        }
        let stored =
            self.results.bytes_stored.fetch_add(line.len(), Ordering::Relaxed) + line.len();
        self.lines.push(line);
        stored < RESULTS_BYTES_MAX
    }

    fn push_matching_parts(&mut self, found: &SinkMatch<'_>) -> io::Result<bool> {
        let text = found.bytes();
        let mut parts: Vec<Vec<u8>> = Vec::new();
        self.matcher
            .find_iter(text, |part| {
                parts.extend(text.get(part.start()..part.end()).map(<[u8]>::to_vec));
                parts.len() < LINE_CHARS_MAX
            })
            .map_err(io::Error::other)?;
        let mut has_room = true;
        for part in parts {
            has_room = self.push_line(found.line_number(), ':', &part);
        }
        Ok(has_room)
    }
}

fn find_cut(text: &str) -> Option<usize> {
    if text.len() <= LINE_CHARS_MAX {
        return None;
    }
    text.char_indices().nth(LINE_CHARS_MAX).map(|(at, _)| at)
}

/// A reader that ends when the search must stop.
struct StoppableReader<'a> {
    file: &'a File,
    walk: &'a FileWalk,
}

impl Read for StoppableReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.walk.should_stop() {
            return Err(io::Error::other("stopped"));
        }
        self.file.read(buffer)
    }
}
