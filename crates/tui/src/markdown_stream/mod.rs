//! An answer under way. What is settled is drawn once and never again: a frame costs what is new, not
//! what is there, and the end of a long answer costs no more than any other frame. What no longer fits
//! the screen is handed over for good.

mod markdown_splitter;

use std::collections::VecDeque;

use crate::styled_line::StyledLine;
use crate::text;
use markdown_splitter::{CHUNK_BYTES_MAX, MarkdownSplitter};

/// The answer so far.
#[derive(Debug, Default)]
pub struct MarkdownStream {
    text: String,
    splitter: MarkdownSplitter,
    /// Lines that are settled and not handed over.
    lines: VecDeque<StyledLine>,
    /// The lines of the rest.
    rest: Vec<StyledLine>,
    /// Something was drawn.
    has_begun: bool,
    /// No more will come.
    is_complete: bool,
    /// Bytes and width the rest was drawn for.
    drawn_for: (usize, usize),
    /// Bytes that were drawn, each as often as it was.
    drawn_bytes: usize,
}

impl MarkdownStream {
    /// More of it.
    pub fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// No more will come.
    pub fn finish(&mut self) {
        self.is_complete = true;
    }

    /// Will no more come?
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Nothing of it any more.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// What was pushed.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Bytes that were drawn since it began, each as often as it was.
    #[must_use]
    pub fn drawn_bytes(&self) -> usize {
        self.drawn_bytes
    }

    /// Draws what is new, or so much of it as a frame may cost.
    pub fn draw(&mut self, width: usize) {
        let state = (self.text.len(), width);
        if self.drawn_for == state && !self.is_complete {
            return;
        }
        let most = self.drawn_bytes + FRAME_BYTES_MAX;
        let has_all = loop {
            if self.drawn_bytes >= most {
                break false;
            }
            let from = self.splitter.open_start();
            let Some(cut) = self.splitter.next_chunk(&self.text, self.is_complete) else {
                break true;
            };
            let piece = self.text.get(from..cut.end).unwrap_or_default();
            let lines = render_chunk(&cut.head, piece, width);
            self.drawn_bytes += cut.head.len() + piece.len();
            let has_gap = self.has_begun && cut.has_gap;
            self.has_begun = true;
            self.lines.extend(has_gap.then(StyledLine::new));
            self.lines.extend(lines);
        };
        self.rest.clear();
        if !has_all {
            // It is drawn on from here with the next frame.
            self.drawn_for = (0, 0);
            return;
        }
        self.drawn_for = state;
        let rest = self.text.get(self.splitter.open_start()..).unwrap_or_default();
        if !rest.trim().is_empty() {
            self.drawn_bytes += self.splitter.head().len() + rest.len();
            let lines = render_chunk(self.splitter.head(), rest, width);
            let has_gap = self.has_begun && self.splitter.has_gap();
            self.rest.extend(has_gap.then(StyledLine::new));
            self.rest.extend(lines);
        }
    }

    /// Was everything drawn that is there?
    #[must_use]
    pub fn is_fully_drawn(&self) -> bool {
        self.drawn_for.0 == self.text.len()
    }

    /// Hands over settled lines: all but the last so many, and at most so many.
    pub fn take_overflow(&mut self, keep: usize, most: usize) -> impl Iterator<Item = StyledLine> {
        let over = self.lines.len().saturating_sub(keep).min(most);
        self.lines.drain(..over)
    }

    /// The last lines of it, as drawn.
    pub fn lines(&self) -> impl DoubleEndedIterator<Item = &StyledLine> {
        self.lines.iter().chain(&self.rest)
    }
}

/// A piece, behind what has to stand before it.
fn render_chunk(head: &str, piece: &str, width: usize) -> Vec<StyledLine> {
    match head.is_empty() {
        true => text::render_markdown(piece, width),
        false => text::render_markdown(&format!("{head}{piece}"), width),
    }
}

/// Bytes a frame may draw, and the rest beside them.
const FRAME_BYTES_MAX: usize = 4 * CHUNK_BYTES_MAX;

#[cfg(test)]
mod tests;
