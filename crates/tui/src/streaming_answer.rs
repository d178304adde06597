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
                self.with_open_text(|draft| complete_stream(draft, text));
            }
            Delta::Block(ContentBlock::Thinking(thinking)) => {
                self.open_thought.clear();
                self.add_thought(&thinking.text, width);
            }
            Delta::Block(_) => self.open_thought.clear(),
            Delta::CallStarted { .. }
            | Delta::CallInput(_)
            | Delta::Call { .. }
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
            StreamingBlock::Thought(..) => true,
        })
    }

    pub fn lines(&self) -> impl DoubleEndedIterator<Item = &StyledLine> {
        static EMPTY_LINE: StyledLine = StyledLine { spans: Vec::new() };
        let last = self.blocks.len().saturating_sub(1);
        self.blocks.iter().enumerate().flat_map(move |(number, part)| {
            let (thought, draft) = match part {
                StreamingBlock::Thought(line, _) => (Some(line), None),
                StreamingBlock::Text(draft) => (None, Some(draft)),
            };
            let text = draft.into_iter().flat_map(MarkdownStream::lines);
            thought.into_iter().chain(text).chain((number < last).then_some(&EMPTY_LINE))
        })
    }

    /// Takes the first lines, so that about `keep` are left.
    pub fn take_overflow(&mut self, keep: usize) -> Vec<StyledLine> {
        let mut over = self.lines().count().saturating_sub(keep);
        let mut lines = Vec::new();
        while over > 0 {
            let is_last = self.blocks.len() == 1;
            let before = lines.len();
            let hash = match self.blocks.front_mut() {
                None => break,
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
            Some(StreamingBlock::Thought(..)) | None => MarkdownStream::default(),
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

#[cfg(test)]
mod tests {
    use windlass_vocabulary::ThinkingBlock;

    use super::*;

    fn thought(text: &str) -> ContentBlock {
        ContentBlock::Thinking(ThinkingBlock { text: text.to_owned(), signature: None })
    }

    /// For any screen size and any chunks: everything is shown once and in order.
    #[test]
    fn everything_is_shown_once_and_in_order() {
        let first: String = (0..40).map(|number| format!("first {number}\n\n")).collect();
        let second: String = (0..40).map(|number| format!("second {number}\n\n")).collect();
        let blocks =
            [thought("hm"), ContentBlock::Text(first), thought("so"), ContentBlock::Text(second)];
        let mark = |number: usize| if number == 0 { "● " } else { "  " };
        let whole: Vec<String> = std::iter::once("∴ hm  Ctrl-O".to_owned())
            .chain((0..40).map(|number| format!("{}first {number}", mark(number))))
            .chain(["∴ so  Ctrl-O".to_owned()])
            .chain((0..40).map(|number| format!("{}second {number}", mark(number))))
            .collect();
        for (rows, cut, tells_ends) in
            [(5, 10, true), (30, 7, true), (500, 10, true), (5, 10, false), (20, 999_999, true)]
        {
            let mut answer = StreamingAnswer::default();
            let mut shown = Vec::new();
            for block in &blocks {
                if let ContentBlock::Text(text) = block {
                    for piece in text.as_bytes().chunks(cut) {
                        let piece = String::from_utf8_lossy(piece).into_owned();
                        answer.push_delta(&Delta::Text(piece), 40);
                        answer.draw(40);
                        shown.extend(answer.take_overflow(rows));
                    }
                }
                if tells_ends {
                    answer.push_delta(&Delta::Block(block.clone()), 40);
                }
            }
            let most = rows.max(3);
            assert!(answer.lines().count() <= most || rows > 400, "{rows} {cut}");
            for block in &blocks {
                match block {
                    ContentBlock::Text(text) => {
                        let Some(mut draft) = answer.finish_text(text) else { continue };
                        while !draft.is_fully_drawn() || draft.lines().next().is_some() {
                            draft.draw(40);
                            shown.extend(draft.take_overflow(0, usize::MAX));
                        }
                    }
                    ContentBlock::Thinking(thinking) => {
                        shown.extend(answer.finish_thought(&thinking.text, 40));
                    }
                    ContentBlock::ToolUse(_)
                    | ContentBlock::ToolResult(_)
                    | ContentBlock::Media(_)
                    | ContentBlock::Provider(_) => {}
                }
            }
            let words: Vec<String> = shown
                .iter()
                .map(StyledLine::plain_text)
                .filter(|words| !words.is_empty())
                .collect();
            if tells_ends {
                assert_eq!(words, whole, "{rows} {cut}");
            } else {
                // Without the ends of blocks the two texts are one, and pieces may be shown again.
                assert!(words.iter().any(|words| words == "  second 39"), "{words:?}");
            }
        }
    }
    /// Some wires finish all blocks together when the answer is over.
    #[test]
    fn blocks_that_are_finished_last_are_shown_once_and_in_order() {
        let text: String = (0..40).map(|number| format!("line {number}\n\n")).collect();
        let mut answer = StreamingAnswer::default();
        answer.push_delta(&Delta::Thinking("hm".to_owned()), 40);
        let mut shown = Vec::new();
        for piece in text.split_inclusive('\n') {
            answer.push_delta(&Delta::Text(piece.to_owned()), 40);
            answer.draw(40);
            shown.extend(answer.take_overflow(5));
        }
        for block in [thought("hm"), ContentBlock::Text(text.clone())] {
            answer.push_delta(&Delta::Block(block), 40);
        }
        answer.draw(40);
        shown.extend(answer.take_overflow(0));
        assert!(answer.finish_thought("hm", 40).is_none());
        assert!(answer.finish_text(&text).is_none_or(|rest| rest.lines().next().is_none()));
        let mut words: Vec<String> = shown.iter().map(StyledLine::plain_text).collect();
        words.retain(|words| !words.is_empty());
        assert_eq!(words.len(), 41, "{words:#?}");
        assert_eq!(words[0], "∴ hm  Ctrl-O");
        assert_eq!(words[40], "  line 39");
    }
}
