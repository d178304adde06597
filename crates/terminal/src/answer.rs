//! An answer under way, block by block: thoughts folded into a line, text as it comes. What no longer
//! fits the screen is handed over in order; what the answer becomes in the end is compared with that,
//! so that nothing is shown twice and nothing is left out. Pure.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};

use windlass_vocabulary::{Block, Delta};

use crate::draft::Draft;
use crate::line::{Line, Role};
use crate::text;

/// The blocks so far.
#[derive(Debug, Default)]
pub struct Answer {
    parts: VecDeque<Part>,
    /// What the blocks say that were handed over whole, in short.
    over: VecDeque<u64>,
}

#[derive(Debug)]
enum Part {
    /// A thought in one line, and what it says in short.
    Thought(Line, u64),
    /// A text.
    Text(Draft),
}

impl Answer {
    /// A piece of it, on a screen of this width.
    pub fn push(&mut self, delta: &Delta, width: usize) {
        match delta {
            Delta::Text(text) => self.open(|draft| draft.push(text)),
            Delta::Block(Block::Text(text)) if !text.trim().is_empty() => {
                self.open(|draft| complete(draft, text));
            }
            Delta::Block(Block::Thinking(thinking)) if !thinking.text.trim().is_empty() => {
                let line = folded(&thinking.text, width);
                self.parts.push_back(Part::Thought(line, sum(&thinking.text)));
            }
            _ => {}
        }
    }

    /// Does something with the text that goes on.
    fn open(&mut self, change: impl FnOnce(&mut Draft)) {
        if let Some(Part::Text(draft)) = self.parts.back_mut()
            && !draft.is_whole()
        {
            return change(draft);
        }
        let mut draft = Draft::default();
        change(&mut draft);
        self.parts.push_back(Part::Text(draft));
    }

    /// Is there no text yet?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        !self.parts.iter().any(|part| matches!(part, Part::Text(_)))
    }

    /// Draws what is new.
    pub fn draw(&mut self, width: usize) {
        for part in &mut self.parts {
            if let Part::Text(draft) = part {
                draft.draw(width);
            }
        }
    }

    /// Was everything drawn that is there?
    #[must_use]
    pub fn is_drawn(&self) -> bool {
        self.parts.iter().all(|part| match part {
            Part::Text(draft) => draft.is_drawn(),
            Part::Thought(..) => true,
        })
    }

    /// Its lines, as drawn.
    pub fn lines(&self) -> impl DoubleEndedIterator<Item = &Line> {
        static GAP: Line = Line { spans: Vec::new() };
        let last = self.parts.len().saturating_sub(1);
        self.parts.iter().enumerate().flat_map(move |(number, part)| {
            let (thought, draft) = match part {
                Part::Thought(line, _) => (Some(line), None),
                Part::Text(draft) => (None, Some(draft)),
            };
            let text = draft.into_iter().flat_map(Draft::lines);
            thought.into_iter().chain(text).chain((number < last).then_some(&GAP))
        })
    }

    /// Hands over the first lines, so that so many are left.
    pub fn overflow(&mut self, keep: usize) -> Vec<Line> {
        let mut over = self.lines().count().saturating_sub(keep);
        let mut lines = Vec::new();
        while over > 0 {
            let is_last = self.parts.len() == 1;
            let before = lines.len();
            let said = match self.parts.front_mut() {
                None => break,
                Some(Part::Thought(line, said)) => {
                    lines.push(std::mem::take(line));
                    *said
                }
                Some(Part::Text(draft)) => {
                    lines.extend(draft.overflow(0, over));
                    if is_last || draft.lines().next().is_some() || !draft.is_drawn() {
                        break;
                    }
                    sum(draft.text())
                }
            };
            self.over.push_back(said);
            self.parts.pop_front();
            lines.push(Line::new());
            over = over.saturating_sub(lines.len() - before);
        }
        lines
    }

    /// A text of the finished answer: what is left to show of it, if anything.
    pub fn finish_text(&mut self, text: &str) -> Option<Draft> {
        if self.is_over(text) {
            return None;
        }
        let mut draft = match self.parts.front() {
            Some(Part::Text(_)) => match self.parts.pop_front() {
                Some(Part::Text(draft)) => draft,
                _ => Draft::default(),
            },
            _ => Draft::default(),
        };
        complete(&mut draft, text);
        Some(draft)
    }

    /// A thought of the finished answer: its line, if it is not shown yet.
    pub fn finish_thought(&mut self, text: &str, width: usize) -> Option<Line> {
        if self.is_over(text) {
            return None;
        }
        if matches!(self.parts.front(), Some(Part::Thought(..))) {
            self.parts.pop_front();
        }
        Some(folded(text, width))
    }

    fn is_over(&mut self, text: &str) -> bool {
        let is_over = self.over.front().is_some_and(|over| *over == sum(text));
        if is_over {
            self.over.pop_front();
        }
        is_over
    }
}

/// Makes a draft the draft of this whole text. What came of it so far is drawn already, unless pieces
/// of it never came.
fn complete(draft: &mut Draft, text: &str) {
    match text.strip_prefix(draft.text()) {
        Some(rest) => draft.push(rest),
        None => {
            draft.clear();
            draft.push(text);
        }
    }
    draft.end();
}

/// A thought in one line.
fn folded(thought: &str, width: usize) -> Line {
    let begin = thought.get(..thought.floor_char_boundary(LINE_BYTES_MAX)).unwrap_or(thought);
    let line = Line::of(format!("∴ {}", text::one_line(begin)), Role::Slanted);
    line.cut(width.saturating_sub(FOLDED.len())).and(FOLDED, Role::Quiet)
}

fn sum(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

const LINE_BYTES_MAX: usize = 4 * 1024;
const FOLDED: &str = "  Ctrl-O";

#[cfg(test)]
mod tests {
    use windlass_vocabulary::Thinking;

    use super::*;

    fn thought(text: &str) -> Block {
        Block::Thinking(Thinking { text: text.to_owned(), signature: None })
    }

    /// Whatever the size of the screen and however the pieces come: everything once, in order.
    #[test]
    fn everything_is_shown_once_and_in_order() {
        let first: String = (0..40).map(|number| format!("first {number}\n\n")).collect();
        let second: String = (0..40).map(|number| format!("second {number}\n\n")).collect();
        let blocks = [thought("hm"), Block::Text(first), thought("so"), Block::Text(second)];
        let whole: Vec<String> = std::iter::once("∴ hm  Ctrl-O".to_owned())
            .chain((0..40).map(|number| format!("first {number}")))
            .chain(["∴ so  Ctrl-O".to_owned()])
            .chain((0..40).map(|number| format!("second {number}")))
            .collect();
        for (rows, cut, tells_ends) in
            [(5, 10, true), (30, 7, true), (500, 10, true), (5, 10, false), (20, 999_999, true)]
        {
            let (mut answer, mut shown) = (Answer::default(), Vec::new());
            for block in &blocks {
                if let Block::Text(text) = block {
                    for piece in text.as_bytes().chunks(cut) {
                        let piece = String::from_utf8_lossy(piece).into_owned();
                        answer.push(&Delta::Text(piece), 40);
                        answer.draw(40);
                        shown.extend(answer.overflow(rows));
                    }
                }
                if tells_ends {
                    answer.push(&Delta::Block(block.clone()), 40);
                }
            }
            let most = rows.max(3);
            assert!(answer.lines().count() <= most || rows > 400, "{rows} {cut}");
            for block in &blocks {
                match block {
                    Block::Text(text) => {
                        let Some(mut draft) = answer.finish_text(text) else { continue };
                        while !draft.is_drawn() || draft.lines().next().is_some() {
                            draft.draw(40);
                            shown.extend(draft.overflow(0, usize::MAX));
                        }
                    }
                    Block::Thinking(thinking) => {
                        shown.extend(answer.finish_thought(&thinking.text, 40));
                    }
                    _ => {}
                }
            }
            let words: Vec<String> =
                shown.iter().map(Line::words).filter(|words| !words.is_empty()).collect();
            if tells_ends {
                assert_eq!(words, whole, "{rows} {cut}");
            } else {
                // Without the ends of blocks the two texts are one, and pieces may be shown again.
                assert!(words.iter().any(|words| words == "second 39"), "{words:?}");
            }
        }
    }
}
