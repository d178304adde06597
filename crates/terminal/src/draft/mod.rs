//! An answer under way. What is settled is drawn once and never again: a frame costs what is new, not
//! what is there, and the end of a long answer costs no more than any other frame. What no longer fits
//! the screen is handed over for good.

mod cut;

use std::collections::VecDeque;

use crate::line::Line;
use crate::text;
use cut::{Cutter, PIECE_MAX};

/// The answer so far.
#[derive(Debug, Default)]
pub struct Draft {
    text: String,
    cutter: Cutter,
    /// Lines that are settled and not handed over.
    lines: VecDeque<Line>,
    /// The lines of the rest.
    rest: Vec<Line>,
    /// Something was drawn.
    has_begun: bool,
    /// No more will come.
    is_whole: bool,
    /// Bytes and width the rest was drawn for.
    drawn: (usize, usize),
    /// Bytes that were drawn, each as often as it was.
    work: usize,
}

impl Draft {
    /// More of it.
    pub fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// No more will come.
    pub fn end(&mut self) {
        self.is_whole = true;
    }

    /// Will no more come?
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.is_whole
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
    pub fn work(&self) -> usize {
        self.work
    }

    /// Draws what is new, or so much of it as a frame may cost.
    pub fn draw(&mut self, width: usize) {
        let state = (self.text.len(), width);
        if self.drawn == state && !self.is_whole {
            return;
        }
        let most = self.work + WORK_MAX;
        let has_all = loop {
            if self.work >= most {
                break false;
            }
            let from = self.cutter.from();
            let Some(cut) = self.cutter.next(&self.text, self.is_whole) else { break true };
            let piece = self.text.get(from..cut.end).unwrap_or_default();
            let lines = drawn(&cut.head, piece, width);
            self.work += cut.head.len() + piece.len();
            let has_gap = self.has_begun && cut.has_gap;
            self.has_begun = true;
            self.lines.extend(has_gap.then(Line::new));
            self.lines.extend(lines);
        };
        self.rest.clear();
        if !has_all {
            // It is drawn on from here with the next frame.
            self.drawn = (0, 0);
            return;
        }
        self.drawn = state;
        let rest = self.text.get(self.cutter.from()..).unwrap_or_default();
        if !rest.trim().is_empty() {
            self.work += self.cutter.head().len() + rest.len();
            let lines = drawn(self.cutter.head(), rest, width);
            let has_gap = self.has_begun && self.cutter.has_gap();
            self.rest.extend(has_gap.then(Line::new));
            self.rest.extend(lines);
        }
    }

    /// Was everything drawn that is there?
    #[must_use]
    pub fn is_drawn(&self) -> bool {
        self.drawn.0 == self.text.len()
    }

    /// Hands over settled lines: all but the last so many, and at most so many.
    pub fn overflow(&mut self, keep: usize, most: usize) -> impl Iterator<Item = Line> {
        let over = self.lines.len().saturating_sub(keep).min(most);
        self.lines.drain(..over)
    }

    /// The last lines of it, as drawn.
    pub fn lines(&self) -> impl DoubleEndedIterator<Item = &Line> {
        self.lines.iter().chain(&self.rest)
    }
}

/// A piece, behind what has to stand before it.
fn drawn(head: &str, piece: &str, width: usize) -> Vec<Line> {
    match head.is_empty() {
        true => text::markdown(piece, width),
        false => text::markdown(&format!("{head}{piece}"), width),
    }
}

/// Bytes a frame may draw, and the rest beside them.
const WORK_MAX: usize = 4 * PIECE_MAX;

#[cfg(test)]
mod tests;
