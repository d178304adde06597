//! A streaming answer, block by block: thoughts folded into a line, text as it comes. Lines that no
//! longer fit the screen are taken in order; the finished message is compared with them, so that
//! everything is shown exactly once. Pure.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};

use windlass_vocabulary::{ContentBlock, Delta};

use crate::markdown_stream::MarkdownStream;
use crate::styled_line::{StyledLine, TextStyle};
use crate::text;

#[derive(Debug, Default)]
pub struct StreamingAnswer {
    blocks: VecDeque<StreamingBlock>,
    /// Hashes of the texts of blocks that were taken completely.
    shown_hashes: VecDeque<u64>,
    /// Reasoning that streams; some wires finish it only at the end of the answer.
    open_thought: String,
}

#[derive(Debug)]
enum StreamingBlock {
    /// A thought folded into one line, and the hash of its text.
    Thought(StyledLine, u64),
    Text(MarkdownStream),
    /// The place of a call, which is shown once the answer is a message: later text waits for that.
    Call,
}

impl StreamingAnswer {
    pub fn push_delta(&mut self, delta: &Delta, width: usize) {
        match delta {
            Delta::Thinking(text) => self.open_thought.push_str(text),
            Delta::Text(text) => {
                let thought = std::mem::take(&mut self.open_thought);
                self.add_thought(&thought, width);
                self.with_open_text(|draft| draft.push(text));
            }
            Delta::Block(ContentBlock::Text(text)) if !text.trim().is_empty() => {
                self.complete_text(text);
            }
            Delta::Block(ContentBlock::Thinking(thinking)) => {
                self.open_thought.clear();
                self.add_thought(&thinking.text, width);
            }
            Delta::Block(_) => self.open_thought.clear(),
            Delta::Call { .. } => self.blocks.push_back(StreamingBlock::Call),
            Delta::CallStarted { .. }
            | Delta::CallInput(_)
            | Delta::Usage(_)
            | Delta::Cleared { .. }
            | Delta::Raw(_) => {}
        }
    }

    /// Adds the line of a thought, unless there is nothing to show or it is there already.
    fn add_thought(&mut self, text: &str, width: usize) {
        let hash = hash_text(text);
        let is_same = |block: &StreamingBlock| matches!(block, StreamingBlock::Thought(_, shown) if *shown == hash);
        if text.trim().is_empty()
            || self.shown_hashes.contains(&hash)
            || self.blocks.iter().any(is_same)
        {
            return;
        }
        let line = render_folded_thought(text, width);
        self.blocks.push_back(StreamingBlock::Thought(line, hash));
    }

    /// Changes the last text block, or a new one if that is complete.
    fn with_open_text(&mut self, change: impl FnOnce(&mut MarkdownStream)) {
        if let Some(StreamingBlock::Text(draft)) = self.blocks.back_mut()
            && !draft.is_complete()
        {
            return change(draft);
        }
        let mut draft = MarkdownStream::default();
        change(&mut draft);
        self.blocks.push_back(StreamingBlock::Text(draft));
    }

    /// Some wires complete a text only after the calls behind it.
    fn complete_text(&mut self, text: &str) {
        let open = self.blocks.iter_mut().find_map(|block| match block {
            StreamingBlock::Text(draft) => Some(draft).filter(|draft| !draft.is_complete()),
            StreamingBlock::Thought(..) | StreamingBlock::Call => None,
        });
        match open {
            Some(draft) => complete_stream(draft, text),
            None if self.shown_hashes.contains(&hash_text(text)) => {}
            None => self.with_open_text(|draft| complete_stream(draft, text)),
        }
    }

    /// Has no text come yet?
    pub fn is_empty(&self) -> bool {
        !self.blocks.iter().any(|part| matches!(part, StreamingBlock::Text(_)))
    }

    pub fn draw(&mut self, width: usize) {
        for part in &mut self.blocks {
            if let StreamingBlock::Text(draft) = part {
                draft.draw(width);
            }
        }
    }

    pub fn is_fully_drawn(&self) -> bool {
        self.blocks.iter().all(|part| match part {
            StreamingBlock::Text(draft) => draft.is_fully_drawn(),
            StreamingBlock::Thought(..) | StreamingBlock::Call => true,
        })
    }

    pub fn lines(&self) -> impl DoubleEndedIterator<Item = &StyledLine> {
        static EMPTY_LINE: StyledLine = StyledLine { spans: Vec::new() };
        let is_shown = |part: &StreamingBlock| !matches!(part, StreamingBlock::Call);
        let last = self.blocks.iter().rposition(is_shown).unwrap_or(0);
        self.blocks.iter().enumerate().flat_map(move |(number, part)| {
            let (thought, draft) = match part {
                StreamingBlock::Thought(line, _) => (Some(line), None),
                StreamingBlock::Text(draft) => (None, Some(draft)),
                StreamingBlock::Call => (None, None),
            };
            let text = draft.into_iter().flat_map(MarkdownStream::lines);
            let has_gap = number < last && is_shown(part);
            thought.into_iter().chain(text).chain(has_gap.then_some(&EMPTY_LINE))
        })
    }

    /// Takes the first lines, so that about `keep` are left, but nothing behind a call.
    pub fn take_overflow(&mut self, keep: usize) -> Vec<StyledLine> {
        let mut over = self.lines().count().saturating_sub(keep);
        let mut lines = Vec::new();
        while over > 0 {
            let is_last = self.blocks.len() == 1;
            let before = lines.len();
            let hash = match self.blocks.front_mut() {
                None | Some(StreamingBlock::Call) => break,
                Some(StreamingBlock::Thought(line, hash)) => {
                    lines.push(std::mem::take(line));
                    *hash
                }
                Some(StreamingBlock::Text(draft)) => {
                    lines.extend(draft.take_overflow(0, over));
                    if is_last || draft.lines().next().is_some() || !draft.is_fully_drawn() {
                        break;
                    }
                    hash_text(draft.text())
                }
            };
            self.shown_hashes.push_back(hash);
            self.blocks.pop_front();
            lines.push(StyledLine::new());
            over = over.saturating_sub(lines.len() - before);
        }
        lines
    }

    /// What is left to show of a text of the finished message.
    pub fn finish_text(&mut self, text: &str) -> Option<MarkdownStream> {
        if self.take_if_shown(text) {
            return None;
        }
        let first = self.blocks.pop_front_if(|block| matches!(block, StreamingBlock::Text(_)));
        let mut draft = match first {
            Some(StreamingBlock::Text(draft)) => draft,
            Some(StreamingBlock::Thought(..) | StreamingBlock::Call) | None => {
                MarkdownStream::default()
            }
        };
        complete_stream(&mut draft, text);
        Some(draft)
    }

    /// The line of a thought of the finished message, if it is not shown yet.
    pub fn finish_thought(&mut self, text: &str, width: usize) -> Option<StyledLine> {
        if self.take_if_shown(text) {
            return None;
        }
        if matches!(self.blocks.front(), Some(StreamingBlock::Thought(..))) {
            self.blocks.pop_front();
        }
        Some(render_folded_thought(text, width))
    }

    fn take_if_shown(&mut self, text: &str) -> bool {
        while self.blocks.pop_front_if(|block| matches!(block, StreamingBlock::Call)).is_some() {}
        let is_shown = self.shown_hashes.front().is_some_and(|hash| *hash == hash_text(text));
        if is_shown {
            self.shown_hashes.pop_front();
        }
        is_shown
    }
}

/// Completes a stream to this text. If pieces of it never came, it starts again.
fn complete_stream(draft: &mut MarkdownStream, text: &str) {
    match text.strip_prefix(draft.text()) {
        Some(rest) => draft.push(rest),
        None => {
            draft.clear();
            draft.push(text);
        }
    }
    draft.finish();
}

fn render_folded_thought(thought: &str, width: usize) -> StyledLine {
    let begin = thought.get(..thought.floor_char_boundary(THOUGHT_BYTES_MAX)).unwrap_or(thought);
    let line = StyledLine::from_text(format!("∴ {}", text::to_one_line(begin)), TextStyle::Italic);
    line.truncate_to_width(width.saturating_sub(UNFOLD_HINT.len()))
        .with_span(UNFOLD_HINT, TextStyle::Dim)
}

fn hash_text(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

const THOUGHT_BYTES_MAX: usize = 4 * 1024;
const UNFOLD_HINT: &str = "  Ctrl-O";
