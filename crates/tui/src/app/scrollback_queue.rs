//! Lines on their way into the terminal's scrollback, a bounded number per frame, so that keys do not
//! wait. Markdown that arrived as a whole is rendered when it is taken, not before.

use std::collections::VecDeque;

use crate::markdown_stream::MarkdownStream;
use crate::styled_line::StyledLine;

#[derive(Debug, Default)]
pub struct ScrollbackQueue {
    items: VecDeque<ScrollbackItem>,
    last_block: LastBlock,
    /// Lines that were pushed so far, blank ones left out.
    pushed: usize,
}

/// What the lines pushed last are: decides whether a blank line must follow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum LastBlock {
    /// They end with a blank line, or there are none.
    #[default]
    Blank,
    Call,
    /// One with a diff, a plan or a list below it: the next one would stick to it.
    LongCall,
    Remark,
    Text,
    /// An answer of which more lines come: they follow without a gap.
    OpenAnswer,
}

#[derive(Debug)]
enum ScrollbackItem {
    Line(StyledLine),
    Markdown(Box<MarkdownStream>),
}

impl ScrollbackQueue {
    pub fn push(&mut self, lines: impl IntoIterator<Item = StyledLine>) {
        for line in lines {
            self.last_block = if line.is_blank() { LastBlock::Blank } else { LastBlock::Text };
            self.pushed += usize::from(!line.is_blank());
            self.items.push_back(ScrollbackItem::Line(line));
        }
    }

    pub fn pushed_lines(&self) -> usize {
        self.pushed
    }

    /// The first lines of an answer that does not fit the screen.
    pub fn push_answer_lines(&mut self, lines: impl IntoIterator<Item = StyledLine>) {
        self.start_text();
        self.push(lines);
        if self.last_block == LastBlock::Text {
            self.last_block = LastBlock::OpenAnswer;
        }
    }

    /// No more lines of an answer come.
    pub fn close_answer(&mut self) {
        if self.last_block == LastBlock::OpenAnswer {
            self.last_block = LastBlock::Text;
        }
    }

    /// Consecutive calls are not separated by a blank line, unless they are long.
    pub fn push_call(&mut self, lines: Vec<StyledLine>) {
        let is_long = lines.len() > SHORT_CALL_LINES_MAX;
        self.push_joined(lines, if is_long { LastBlock::LongCall } else { LastBlock::Call });
    }

    /// Consecutive remarks, and a remark after a call, are not separated by a blank line.
    pub fn push_remark(&mut self, lines: impl IntoIterator<Item = StyledLine>) {
        self.push_joined(lines, LastBlock::Remark);
    }

    fn push_joined(&mut self, lines: impl IntoIterator<Item = StyledLine>, block: LastBlock) {
        let stands_together = match (self.last_block, block) {
            (LastBlock::Call | LastBlock::Remark, LastBlock::Remark)
            | (LastBlock::Call, LastBlock::Call) => true,
            (
                LastBlock::Blank
                | LastBlock::Call
                | LastBlock::LongCall
                | LastBlock::Remark
                | LastBlock::Text
                | LastBlock::OpenAnswer,
                _,
            ) => false,
        };
        if !stands_together {
            self.start_text();
        }
        self.push(lines);
        self.last_block = block;
    }

    /// Does what follows need a blank line first?
    pub fn needs_blank_line(&self) -> bool {
        match self.last_block {
            LastBlock::Blank | LastBlock::OpenAnswer => false,
            LastBlock::Call | LastBlock::LongCall | LastBlock::Remark | LastBlock::Text => true,
        }
    }

    pub fn needs_blank_line_before_call(&self) -> bool {
        match self.last_block {
            LastBlock::LongCall | LastBlock::Text => true,
            LastBlock::Blank | LastBlock::OpenAnswer | LastBlock::Call | LastBlock::Remark => false,
        }
    }

    /// Separates what follows from the block before it.
    pub fn start_text(&mut self) {
        if self.needs_blank_line() {
            self.push([StyledLine::new()]);
        }
    }

    /// Adds a blank line after the text.
    pub fn push_markdown(&mut self, mut draft: MarkdownStream) {
        draft.finish();
        self.start_text();
        self.pushed += 1;
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

/// A call, and a few lines of its output.
const SHORT_CALL_LINES_MAX: usize = 3;
