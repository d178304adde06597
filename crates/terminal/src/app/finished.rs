//! What goes up into the terminal's history: in order, once, and so much in a frame that keys are not
//! kept waiting. A text that came at once is drawn as it is taken, not before.

use std::collections::VecDeque;

use crate::draft::Draft;
use crate::line::Line;

/// What waits to be shown for good.
#[derive(Debug, Default)]
pub struct Finished {
    waiting: VecDeque<Piece>,
}

#[derive(Debug)]
enum Piece {
    Line(Line),
    /// A text that no more comes to.
    Text(Box<Draft>),
}

impl Finished {
    /// Lines as they are.
    pub fn push(&mut self, lines: impl IntoIterator<Item = Line>) {
        self.waiting.extend(lines.into_iter().map(Piece::Line));
    }

    /// A text, and an empty line behind it.
    pub fn text(&mut self, mut draft: Draft) {
        draft.end();
        self.waiting.push_back(Piece::Text(Box::new(draft)));
        self.push([Line::new()]);
    }

    /// Does nothing wait?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The next lines, at most so many.
    pub fn take(&mut self, width: usize, lines_max: usize) -> Vec<Line> {
        let mut lines = Vec::new();
        while lines.len() < lines_max {
            match self.waiting.front_mut() {
                None => break,
                Some(Piece::Line(line)) => {
                    lines.push(std::mem::take(line));
                    self.waiting.pop_front();
                }
                Some(Piece::Text(draft)) => {
                    draft.draw(width);
                    lines.extend(draft.overflow(0, lines_max - lines.len()));
                    if draft.lines().next().is_some() {
                        break;
                    }
                    if !draft.is_drawn() {
                        // The rest of it costs another frame.
                        break;
                    }
                    self.waiting.pop_front();
                }
            }
        }
        lines
    }
}
