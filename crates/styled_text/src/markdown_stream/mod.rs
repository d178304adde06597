//! Markdown that is still being written. What cannot change any more is rendered once: a frame costs
//! what is new, not what is there, and the end of a long answer costs no more than any other frame.

mod markdown_splitter;

use std::collections::VecDeque;

use crate::styled_line::{StyledLine, TextStyle};
use crate::text;
use markdown_splitter::{CHUNK_BYTES_MAX, MarkdownSplitter};

#[derive(Debug, Default)]
pub struct MarkdownStream {
    text: String,
    splitter: MarkdownSplitter,
    /// Lines that cannot change and were not taken.
    lines: VecDeque<StyledLine>,
    /// The lines of the open chunk.
    rest: Vec<StyledLine>,
    has_begun: bool,
    is_complete: bool,
    drawn_for: DrawnState,
    /// Bytes that were rendered, counted every time.
    drawn_bytes: usize,
}

/// What `rest` was rendered for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct DrawnState {
    bytes: usize,
    width: usize,
}

impl MarkdownStream {
    pub fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// No more text will come.
    pub fn finish(&mut self) {
        self.is_complete = true;
    }

    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    pub fn clear(&mut self) {
        *self = Self::default();
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Bytes that were rendered so far, counted every time.
    pub fn drawn_bytes(&self) -> usize {
        self.drawn_bytes
    }

    /// Renders the new text, or as much of it as one frame may cost.
    pub fn draw(&mut self, width: usize) {
        // Next to the mark at the start of an answer.
        let width = width.saturating_sub(ANSWER_INDENT).max(1);
        let state = DrawnState { bytes: self.text.len(), width };
        if self.drawn_for == state && !self.is_complete {
            return;
        }
        let most = self.drawn_bytes + FRAME_BYTES_MAX;
        let has_all = loop {
            if self.drawn_bytes >= most {
                break false;
            }
            let from = self.splitter.open_start();
            let Some(chunk) = self.splitter.next_chunk(&self.text, self.is_complete) else {
                break true;
            };
            let piece = self.text.get(from..chunk.end).unwrap_or_default();
            let lines = mark_answer(render_chunk(&chunk.head, piece, width), !self.has_begun);
            self.drawn_bytes += chunk.head.len() + piece.len();
            let has_gap = self.has_begun && chunk.has_gap;
            self.has_begun = true;
            self.lines.extend(has_gap.then(StyledLine::new));
            self.lines.extend(lines);
        };
        self.rest.clear();
        if !has_all {
            // The next frame continues here.
            self.drawn_for = DrawnState::default();
            return;
        }
        self.drawn_for = state;
        let rest = self.text.get(self.splitter.open_start()..).unwrap_or_default();
        if !rest.trim().is_empty() {
            self.drawn_bytes += self.splitter.head().len() + rest.len();
            let lines = render_chunk(self.splitter.head(), rest, width);
            let lines = mark_answer(lines, !self.has_begun);
            let has_gap = self.has_begun && self.splitter.has_gap();
            self.rest.extend(has_gap.then(StyledLine::new));
            self.rest.extend(lines);
        }
    }

    pub fn is_fully_drawn(&self) -> bool {
        self.drawn_for.bytes == self.text.len()
    }

    /// Takes lines that cannot change: all but the last `keep`, at most `most`.
    pub fn take_overflow(&mut self, keep: usize, most: usize) -> impl Iterator<Item = StyledLine> {
        let over = self.lines.len().saturating_sub(keep).min(most);
        self.lines.drain(..over)
    }

    /// The lines that were not taken.
    pub fn lines(&self) -> impl DoubleEndedIterator<Item = &StyledLine> {
        self.lines.iter().chain(&self.rest)
    }
}

fn render_chunk(head: &str, piece: &str, width: usize) -> Vec<StyledLine> {
    match head.is_empty() {
        true => text::render_markdown(piece, width),
        false => text::render_markdown(&format!("{head}{piece}"), width),
    }
}

/// A whole answer at once.
pub fn render_answer(text: &str, width: usize) -> Vec<StyledLine> {
    mark_answer(text::render_markdown(text, width.saturating_sub(ANSWER_INDENT).max(1)), true)
}

/// An answer starts with a mark, like a call; its other lines are indented.
fn mark_answer(lines: Vec<StyledLine>, is_first: bool) -> Vec<StyledLine> {
    let mut is_first = is_first;
    let mark = |line: StyledLine| {
        if line.spans.is_empty() {
            return line;
        }
        match std::mem::take(&mut is_first) {
            true => {
                let whole = StyledLine::from_text("● ", TextStyle::Plain);
                let spans = line.spans.into_iter();
                spans.fold(whole, |whole, span| whole.with_span(span.text, span.style))
            }
            false => line.indent(ANSWER_INDENT),
        }
    };
    lines.into_iter().map(mark).collect()
}

const ANSWER_INDENT: usize = 2;
/// Bytes that one frame may render, not counting the open chunk.
const FRAME_BYTES_MAX: usize = CHUNK_BYTES_MAX;

#[cfg(test)]
mod tests;
