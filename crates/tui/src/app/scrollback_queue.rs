//! What goes up into the terminal's history: in order, once, and so much in a frame that keys are not
//! kept waiting. A text that came at once is drawn as it is taken, not before.

use std::collections::VecDeque;

use crate::markdown_stream::MarkdownStream;
use crate::styled_line::StyledLine;

/// What waits to be shown for good.
#[derive(Debug, Default)]
pub struct ScrollbackQueue {
    items: VecDeque<ScrollbackItem>,
}

#[derive(Debug)]
enum ScrollbackItem {
    Line(StyledLine),
    /// A text that no more comes to.
    Markdown(Box<MarkdownStream>),
}

impl ScrollbackQueue {
    /// Lines as they are.
    pub fn push(&mut self, lines: impl IntoIterator<Item = StyledLine>) {
        self.items.extend(lines.into_iter().map(ScrollbackItem::Line));
    }

    /// A text, and an empty line behind it.
    pub fn push_markdown(&mut self, mut draft: MarkdownStream) {
        draft.finish();
        self.items.push_back(ScrollbackItem::Markdown(Box::new(draft)));
        self.push([StyledLine::new()]);
    }

    /// Does nothing wait?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The next lines, at most so many.
    pub fn take_lines(&mut self, width: usize, lines_max: usize) -> Vec<StyledLine> {
        let mut lines = Vec::new();
        while lines.len() < lines_max {
            match self.items.front_mut() {
                None => break,
                Some(ScrollbackItem::Line(line)) => {
                    lines.push(std::mem::take(line));
                    self.items.pop_front();
                }
                Some(ScrollbackItem::Markdown(draft)) => {
                    draft.draw(width);
                    lines.extend(draft.take_overflow(0, lines_max - lines.len()));
                    if draft.lines().next().is_some() {
                        break;
                    }
                    if !draft.is_fully_drawn() {
                        // The rest of it costs another frame.
                        break;
                    }
                    self.items.pop_front();
                }
            }
        }
        lines
    }
}
