//! Lines of styled text, and how they are cut to a width. Pure: which colour a role has is the
//! painter's to say.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// What a piece of text is, which decides how it looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Role {
    /// Words.
    #[default]
    Plain,
    /// Words of less weight.
    Quiet,
    /// Words of more weight.
    Strong,
    /// Words spoken with a slant.
    Slanted,
    /// A heading.
    Heading,
    /// Code, a command, a name.
    Code,
    /// Where a link leads.
    Link,
    /// What the user said.
    User,
    /// The sign of something under way.
    Busy,
    /// It went well; lines that were added.
    Good,
    /// It went wrong; lines that were taken away.
    Bad,
    /// A word that was added.
    GoodWord,
    /// A word that was taken away.
    BadWord,
    /// Something needs attention.
    Warning,
    /// The part of a command that is asked about.
    Asked,
    /// What is chosen.
    Chosen,
}

/// A piece of a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// What it says, without anything that steers a terminal.
    pub text: String,
    /// What it is.
    pub role: Role,
}

/// A line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// Its pieces, from left to right.
    pub spans: Vec<Span>,
}

impl Line {
    /// An empty one.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// One piece.
    #[must_use]
    pub fn of(text: impl Into<String>, role: Role) -> Self {
        Self::new().and(text, role)
    }

    /// With one more piece.
    #[must_use]
    pub fn and(mut self, text: impl Into<String>, role: Role) -> Self {
        self.push(text, role);
        self
    }

    /// Adds a piece.
    pub fn push(&mut self, text: impl Into<String>, role: Role) {
        let text = text.into();
        match self.spans.last_mut() {
            Some(last) if last.role == role => last.text.push_str(&text),
            _ if text.is_empty() => {}
            _ => self.spans.push(Span { text, role }),
        }
    }

    /// Cells it takes.
    #[must_use]
    pub fn width(&self) -> usize {
        self.spans.iter().map(|span| span.text.width()).sum()
    }

    /// Its words alone.
    #[must_use]
    pub fn words(&self) -> String {
        self.spans.iter().map(|span| span.text.as_str()).collect()
    }

    /// Cut to a width, with a sign where something is missing.
    #[must_use]
    pub fn cut(&self, width: usize) -> Self {
        if self.width() <= width {
            return self.clone();
        }
        let (mut cut, mut left) = (Self::new(), width.saturating_sub(1));
        'spans: for span in &self.spans {
            for cell in span.text.graphemes(true) {
                let Some(rest) = left.checked_sub(cell.width()) else { break 'spans };
                left = rest;
                cut.push(cell, span.role);
            }
        }
        if width > 0 {
            cut.push("…", Role::Quiet);
        }
        cut
    }

    /// Broken at blanks into lines of at most this width; all but the first begin with so many
    /// blanks. A word that is wider than a line is broken where the line ends.
    #[must_use]
    pub fn wrapped(&self, width: usize, indent: usize) -> Vec<Self> {
        let width = width.max(1);
        let indent = if indent + 8 > width { 0 } else { indent };
        let mut wrapping = Wrapping { lines: Vec::new(), line: Self::new(), at: 0, width, indent };
        for span in &self.spans {
            for word in span.text.split_word_bounds() {
                wrapping.word(word, span.role);
            }
        }
        wrapping.lines.push(wrapping.line);
        wrapping.lines
    }
}

struct Wrapping {
    lines: Vec<Line>,
    line: Line,
    at: usize,
    width: usize,
    indent: usize,
}

impl Wrapping {
    fn word(&mut self, word: &str, role: Role) {
        let cells = word.width();
        let is_blank = word.chars().all(char::is_whitespace);
        if self.at + cells > self.width && !self.is_fresh() {
            self.next_line();
            if is_blank {
                return;
            }
        }
        if self.at + cells <= self.width {
            self.line.push(word, role);
            self.at += cells;
            return;
        }
        for cell in word.graphemes(true) {
            if self.at + cell.width() > self.width && !self.is_fresh() {
                self.next_line();
            }
            self.line.push(cell, role);
            self.at += cell.width();
        }
    }

    /// Does nothing stand on the line yet but its indent?
    fn is_fresh(&self) -> bool {
        self.at == 0 || (!self.lines.is_empty() && self.at == self.indent)
    }

    fn next_line(&mut self) {
        let next = Line::of(" ".repeat(self.indent), Role::Plain);
        self.lines.push(std::mem::replace(&mut self.line, next));
        self.at = self.indent;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(lines: &[Line]) -> Vec<String> {
        lines.iter().map(Line::words).collect()
    }

    #[test]
    fn lines_are_broken_at_blanks_and_never_wider_than_told() {
        let line = Line::of("the quick ", Role::Plain).and("brown fox", Role::Strong);
        assert_eq!(words(&line.wrapped(10, 0)), ["the quick ", "brown fox"]);
        assert_eq!(words(&line.wrapped(15, 2)), ["the quick brown", "  fox"]);
        assert_eq!(words(&Line::of("abcdefgh", Role::Code).wrapped(3, 0)), ["abc", "def", "gh"]);
        assert_eq!(
            words(&Line::of("日本語です", Role::Plain).wrapped(4, 0)),
            ["日本", "語で", "す"]
        );
        for width in 1..30 {
            let text = "wide 日本語 and e\u{301}acute words, a-very-long-one/with/slashes and more";
            for line in Line::of(text, Role::Plain).wrapped(width, 2) {
                assert!(line.width() <= width.max(2), "{width}: {line:?}");
            }
            assert!(Line::of(text, Role::Plain).cut(width).width() <= width);
        }
        assert_eq!(Line::new().wrapped(5, 0), [Line::new()]);
        assert_eq!(Line::of("abc", Role::Plain).cut(3).words(), "abc");
        assert_eq!(Line::of("abcd", Role::Plain).cut(3).words(), "ab…");
    }
}
