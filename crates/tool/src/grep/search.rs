//! Looks into one file after the other and keeps what is to be shown, within bounds.
//!
//! Each thread has a search of its own; what all of them found comes together in `found`.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::SystemTime;

use grep_matcher::{LineTerminator, Matcher};
use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};

use super::found::{Found, Hits};
use super::query::Query;
use super::{Input, OutputMode};
use crate::surroundings::lock;
use crate::walk::Walk;

/// Bytes kept of all lines.
const KEPT_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Characters kept of one line.
const LINE_CHARS_MAX: usize = 500;
/// The longest line, or with `multiline` the largest file, that is searched.
const HEAP_BYTES_MAX: usize = 16 * 1024 * 1024;
const CONTEXT_LINES_MAX: u64 = 100;

/// One thread's search.
pub(super) struct Search<'q> {
    searcher: Searcher,
    matcher: &'q RegexMatcher,
    walk: &'q Walk,
    found: &'q Found,
    show: Show,
}

/// What is shown of a match.
#[derive(Clone, Copy)]
struct Show {
    mode: OutputMode,
    numbers: bool,
    only_matching: bool,
}

/// Lines to show before and after a match.
pub(super) fn context(input: &Input) -> (usize, usize) {
    let around = input.context.or(input.around);
    let is_content = input.output_mode == OutputMode::Content && !input.only_matching;
    let size = |lines: Option<u64>| {
        let lines = lines.or(around).filter(|_| is_content).unwrap_or(0);
        usize::try_from(lines.min(CONTEXT_LINES_MAX)).unwrap_or(0)
    };
    (size(input.before), size(input.after))
}

impl<'q> Search<'q> {
    pub(super) fn new(input: &Input, query: &'q Query, walk: &'q Walk, found: &'q Found) -> Self {
        let (before, after) = context(input);
        let numbers = input.numbers.unwrap_or(true) && input.output_mode == OutputMode::Content;
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
        let show = Show { mode: input.output_mode, numbers, only_matching: input.only_matching };
        Self { searcher, matcher: &query.matcher, walk, found, show }
    }

    /// Searches one file.
    pub(super) fn file(&mut self, path: &Path) {
        let file = match self.walk.open(path) {
            Ok(file) => file,
            Err(problem) => return self.found.pass_over(problem),
        };
        let reader = Stoppable { file: &file, walk: self.walk };
        let mut page = Page {
            show: self.show,
            matcher: self.matcher,
            found: self.found,
            path,
            name: None,
            count: 0,
            lines: Vec::new(),
        };
        let searched = self.searcher.search_reader(self.matcher, reader, &mut page);
        // What was found before an error is still found.
        let (count, lines) = (page.count, page.lines);
        if count > 0 {
            let path = path.to_path_buf();
            let modified = match self.show.mode {
                OutputMode::FilesWithMatches => self.walk.modified(&path),
                _ => SystemTime::UNIX_EPOCH,
            };
            lock(&self.found.files).push(Hits { path, modified, count, lines });
        }
        if let Err(error) = searched
            && !self.walk.must_stop()
        {
            self.found.pass_over(format!("`{}`: {error}", path.display()));
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.found.bytes.load(Ordering::Relaxed) >= KEPT_BYTES_MAX
    }
}

/// What one file gives, line by line.
struct Page<'p> {
    show: Show,
    matcher: &'p RegexMatcher,
    found: &'p Found,
    path: &'p Path,
    /// The path as text, once it is needed.
    name: Option<String>,
    count: u64,
    lines: Vec<String>,
}

impl Sink for Page<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        self.count += 1;
        match self.show.mode {
            OutputMode::FilesWithMatches => return Ok(false),
            OutputMode::Count => return Ok(true),
            OutputMode::Content => {}
        }
        let first = found.line_number();
        if self.show.only_matching {
            return self.matching_parts(found);
        }
        let mut has_room = true;
        for (number, line) in (first.unwrap_or(1)..).zip(found.lines()) {
            has_room = self.keep(first.map(|_| number), ':', line);
        }
        Ok(has_room)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        Ok(self.keep(context.line_number(), '-', context.bytes()))
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        self.lines.push("--".to_owned());
        Ok(true)
    }
}

impl Page<'_> {
    /// Keeps a line. Says whether there is room for more.
    fn keep(&mut self, number: Option<u64>, sign: char, text: &[u8]) -> bool {
        let end =
            text.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r')).map_or(0, |at| at + 1);
        let text = text.get(..end).unwrap_or(text);
        // The longest character has four bytes; more than that is not looked at.
        let near = text.get(..LINE_CHARS_MAX * 4 + 4).unwrap_or(text);
        let shown = String::from_utf8_lossy(near);
        let path = self.path;
        let name = self.name.get_or_insert_with(|| path.to_string_lossy().into_owned());
        let mut line = String::with_capacity(name.len() + shown.len() + 16);
        line.push_str(name);
        line.push(sign);
        if let Some(number) = number.filter(|_| self.show.numbers) {
            line.push_str(&format!("{number}{sign}"));
        }
        match cut(&shown) {
            Some(at) => {
                line.push_str(shown.get(..at).unwrap_or(&shown));
                line.push('…');
            }
            None => line.push_str(&shown),
        }
        let kept = self.found.bytes.fetch_add(line.len(), Ordering::Relaxed) + line.len();
        self.lines.push(line);
        kept < KEPT_BYTES_MAX
    }

    fn matching_parts(&mut self, found: &SinkMatch<'_>) -> io::Result<bool> {
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
            has_room = self.keep(found.line_number(), ':', &part);
        }
        Ok(has_room)
    }
}

/// Where a line that is too long is cut.
fn cut(text: &str) -> Option<usize> {
    if text.len() <= LINE_CHARS_MAX {
        return None;
    }
    text.char_indices().nth(LINE_CHARS_MAX).map(|(at, _)| at)
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
