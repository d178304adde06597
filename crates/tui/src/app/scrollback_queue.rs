//! Lines on their way into the terminal's scrollback, a bounded number per frame, so that keys do not
//! wait. Markdown that arrived as a whole is rendered when it is taken, not before.

use std::collections::VecDeque;

use crate::markdown_stream::MarkdownStream;
use crate::styled_line::StyledLine;

#[derive(Debug, Default)]
pub struct ScrollbackQueue {
    items: VecDeque<ScrollbackItem>,
    /// The last lines were those of a call: text that follows needs a blank line.
    ends_with_call: bool,
}

#[derive(Debug)]
enum ScrollbackItem {
    Line(StyledLine),
    Markdown(Box<MarkdownStream>),
}

impl ScrollbackQueue {
    pub fn push(&mut self, lines: impl IntoIterator<Item = StyledLine>) {
        self.ends_with_call = false;
        self.items.extend(lines.into_iter().map(ScrollbackItem::Line));
    }

    /// The lines pushed last were those of a call.
    pub fn end_call(&mut self) {
        self.ends_with_call = true;
    }

    pub fn ends_with_call(&self) -> bool {
        self.ends_with_call
    }

    /// Separates text from the call before it.
    pub fn start_text(&mut self) {
        if std::mem::take(&mut self.ends_with_call) {
            self.push([StyledLine::new()]);
        }
    }

    /// Adds a blank line after the text.
    pub fn push_markdown(&mut self, mut draft: MarkdownStream) {
        draft.finish();
        self.start_text();
        self.items.push_back(ScrollbackItem::Markdown(Box::new(draft)));
        self.push([StyledLine::new()]);
    }

    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

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
                        // The rest is rendered with the next frame.
                        break;
                    }
                    self.items.pop_front();
                }
            }
        }
        lines
    }
}
