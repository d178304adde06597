//! An answer under way, drawn again and again while it grows. What is settled is drawn once: a frame
//! costs what is new, not what is there. What no longer fits the screen is handed over for good.

use std::collections::VecDeque;

use crate::line::Line;
use crate::text;

/// The answer so far.
#[derive(Debug, Default)]
pub struct Draft {
    text: String,
    /// Bytes whose lines are settled: whole blocks.
    settled: usize,
    /// Their last lines.
    lines: Vec<Line>,
    /// The lines of the rest.
    rest: Vec<Line>,
    /// Lines that were handed over.
    over: VecDeque<Line>,
    width: usize,
    /// Bytes and width the lines were drawn for.
    drawn: (usize, usize),
}

impl Draft {
    /// More of it.
    pub fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Nothing of it any more.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Is there nothing of it?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Draws what is new.
    pub fn draw(&mut self, width: usize) {
        if self.drawn == (self.text.len(), width) {
            return;
        }
        self.drawn = (self.text.len(), width);
        if self.width != width {
            self.width = width;
            self.settled = 0;
            self.lines.clear();
        }
        let open = self.text.get(self.settled..).unwrap_or_default();
        let (whole, fence) = blocks(open);
        if whole > 0 {
            let drawn = text::markdown(open.get(..whole).unwrap_or_default(), width);
            self.lines.extend(drawn);
            self.lines.push(Line::new());
            self.settled += whole;
        }
        let rest = self.text.get(self.settled..).unwrap_or_default();
        self.rest = match rest.len() > REST_MAX {
            false => text::markdown(rest, width),
            // One block that never ends: only its end is drawn.
            true => {
                let from = rest.ceil_char_boundary(rest.len() - REST_MAX);
                let end = rest.get(from..).unwrap_or_default();
                let end = end.split_once('\n').map_or(end, |(_, end)| end);
                match fence {
                    Some(fence) => text::markdown(&format!("{fence}\n{end}"), width),
                    None => text::markdown(end, width),
                }
            }
        };
    }

    /// Hands over settled lines, all but the last so many.
    pub fn overflow(&mut self, keep: usize) -> Vec<Line> {
        let over = self.lines.len().saturating_sub(keep);
        let lines: Vec<Line> = self.lines.drain(..over).collect();
        self.over.extend(lines.iter().cloned());
        lines
    }

    /// What was handed over, so that it is not shown twice.
    pub fn take_over(&mut self) -> VecDeque<Line> {
        std::mem::take(&mut self.over)
    }

    /// The last lines of it, as drawn.
    pub fn lines(&self) -> impl DoubleEndedIterator<Item = &Line> {
        self.lines.iter().chain(&self.rest)
    }
}

/// How many bytes are whole blocks, and the fence that is open behind them.
fn blocks(text: &str) -> (usize, Option<&str>) {
    let (mut whole, mut at) = (0, 0);
    let mut fence: Option<&str> = None;
    for line in text.split_inclusive('\n') {
        let words = line.trim();
        at += line.len();
        let is_fence = words.starts_with("```") || words.starts_with("~~~");
        match fence {
            Some(open)
                if is_fence && words.get(..3) == open.get(..3) && words.len() <= open.len() =>
            {
                fence = None;
            }
            None if is_fence => fence = Some(words),
            None if words.is_empty() && line.ends_with('\n') => whole = at,
            _ => {}
        }
    }
    (whole, fence)
}

const REST_MAX: usize = 16 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn shown<'a>(lines: impl Iterator<Item = &'a Line>) -> Vec<String> {
        lines.map(Line::words).filter(|words| !words.trim().is_empty()).collect()
    }

    #[test]
    fn a_growing_answer_looks_like_the_whole_one() {
        let text = "# Title\n\nSome *words* here.\n\n```rust\nfn a() {}\n\nfn b() {}\n```\n\n- one\n- two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nThe end";
        let mut draft = Draft::default();
        for at in 0..text.len() {
            draft.push(text.get(at..=at).unwrap_or_default());
            draft.draw(40);
            let whole = text::markdown(text.get(..=at).unwrap_or_default(), 40);
            assert_eq!(shown(draft.lines()), shown(whole.iter()), "{at}");
        }
    }

    #[test]
    fn what_is_settled_is_not_drawn_again() {
        let mut draft = Draft::default();
        for number in 0..20_000 {
            draft.push(&format!("paragraph {number}\n\n"));
        }
        draft.draw(80);
        draft.push("more");
        draft.draw(80);
        assert_eq!(draft.rest.len(), 1);
        assert_eq!(draft.overflow(50).len(), 39_950);
        draft.push(" words");
        draft.draw(80);
        assert_eq!((draft.lines.len(), draft.rest.len()), (50, 1));
        assert_eq!(draft.take_over().len(), 39_950);
        let mut endless = Draft::default();
        endless.push("```\n");
        for number in 0..20_000 {
            endless.push(&format!("line {number}\n"));
        }
        endless.draw(80);
        assert!(endless.rest.len() < 3_000);
        assert_eq!(
            endless.lines().next_back().map(|line| line.words().trim().to_owned()).as_deref(),
            Some("line 19999")
        );
    }
}
