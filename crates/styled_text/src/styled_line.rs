//! Lines of styled text, and how they are cut to a width. Pure: the theme decides the colours.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TextStyle {
    #[default]
    Plain,
    Dim,
    Bold,
    Italic,
    Heading,
    /// Code, a command, a name.
    Code,
    Link,
    /// What the user wrote.
    User,
    /// Something under way.
    Busy,
    /// Also added lines of a diff.
    Success,
    /// Also removed lines of a diff.
    Failure,
    AddedWord,
    RemovedWord,
    Warning,
    /// The part of a command that needs permission.
    NeedsPermission,
    Selected,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StyledSpan {
    /// Must not hold control characters.
    pub text: String,
    pub style: TextStyle,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StyledLine {
    pub spans: Vec<StyledSpan>,
}

impl StyledLine {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn from_text(text: impl Into<String>, style: TextStyle) -> Self {
        Self::new().with_span(text, style)
    }

    pub fn with_span(mut self, text: impl Into<String>, style: TextStyle) -> Self {
        self.push(text, style);
        self
    }

    /// Joins the text to the last span if that has the same style.
    pub fn push(&mut self, text: impl Into<String>, style: TextStyle) {
        let text = text.into();
        match self.spans.last_mut() {
            Some(last) if last.style == style => last.text.push_str(&text),
            _ if text.is_empty() => {}
            _ => self.spans.push(StyledSpan { text, style }),
        }
    }

    /// Puts blanks before it.
    pub fn indent(self, cells: usize) -> Self {
        let whole = Self::from_text(" ".repeat(cells), TextStyle::Plain);
        self.spans.into_iter().fold(whole, |whole, span| whole.with_span(span.text, span.style))
    }

    pub fn trim_end(mut self) -> Self {
        while let Some(last) = self.spans.last_mut() {
            last.text.truncate(last.text.trim_end().len());
            if !last.text.is_empty() {
                break;
            }
            self.spans.pop();
        }
        self
    }

    /// In cells.
    pub fn width(&self) -> usize {
        self.spans.iter().map(|span| span.text.width()).sum()
    }

    pub fn is_blank(&self) -> bool {
        self.spans.iter().all(|span| span.text.trim().is_empty())
    }

    pub fn plain_text(&self) -> String {
        self.spans.iter().map(|span| span.text.as_str()).collect()
    }

    /// Ends in `…` if something is cut off.
    pub fn truncate_to_width(&self, width: usize) -> Self {
        if self.width() <= width {
            return self.clone();
        }
        let mut cut = Self::new();
        let mut left = width.saturating_sub(1);
        'spans: for span in &self.spans {
            for cell in span.text.graphemes(true) {
                let Some(rest) = left.checked_sub(cell.width()) else { break 'spans };
                left = rest;
                cut.push(cell, span.style);
            }
        }
        if width > 0 {
            cut.push("…", TextStyle::Dim);
        }
        cut
    }

    /// Wraps, and ends in `…` if there would be more lines than this.
    pub fn wrap_to(&self, width: usize, indent: usize, lines_max: usize) -> Vec<Self> {
        let mut lines = self.wrap(width, indent);
        if lines.len() > lines_max {
            lines.truncate(lines_max);
            if let Some(last) = lines.last_mut() {
                last.push("…", TextStyle::Dim);
                *last = last.truncate_to_width(width);
            }
        }
        lines
    }

    /// Wraps at blanks, and between wide characters; all lines but the first are indented. A word that is
    /// wider than a line is broken. Punctuation stays with its word, whatever its style.
    pub fn wrap(&self, width: usize, indent: usize) -> Vec<Self> {
        let width = width.max(1);
        let indent = if indent + 8 > width { 0 } else { indent };
        let mut wrapper = LineWrapper {
            lines: Vec::new(),
            line: Self::new(),
            word: Self::new(),
            at: 0,
            width,
            indent,
        };
        for span in &self.spans {
            for piece in span.text.split_word_bounds() {
                wrapper.push_piece(piece, span.style);
            }
        }
        wrapper.flush_word();
        wrapper.lines.push(wrapper.line);
        wrapper.lines
    }
}

struct LineWrapper {
    lines: Vec<StyledLine>,
    line: StyledLine,
    /// The text that must not be separated, as far as it is known.
    word: StyledLine,
    at: usize,
    width: usize,
    indent: usize,
}

impl LineWrapper {
    fn push_piece(&mut self, piece: &str, style: TextStyle) {
        if piece.chars().all(char::is_whitespace) {
            self.flush_word();
            return self.push_blank(piece, style);
        }
        let before = self.word.spans.last().and_then(|span| span.text.chars().next_back());
        if before.is_some_and(|before| may_break_between(before, piece)) {
            self.flush_word();
        }
        self.word.push(piece, style);
    }

    fn push_blank(&mut self, blank: &str, style: TextStyle) {
        let cells = blank.width();
        if self.at + cells > self.width {
            if !self.is_at_line_start() {
                self.start_next_line();
            }
            return;
        }
        self.line.push(blank, style);
        self.at += cells;
    }

    fn flush_word(&mut self) {
        let word = std::mem::take(&mut self.word);
        let cells = word.width();
        // A word that is wider than a line is broken in place, so that no mark is left alone above it.
        let fits_no_line = cells + self.indent > self.width && self.at * 2 <= self.width;
        if self.at + cells > self.width && !fits_no_line && !self.is_at_line_start() {
            self.start_next_line();
        }
        if self.at + cells <= self.width {
            for span in word.spans {
                self.line.push(span.text, span.style);
            }
            self.at += cells;
            return;
        }
        for span in &word.spans {
            for cell in span.text.graphemes(true) {
                if self.at + cell.width() > self.width && !self.is_at_line_start() {
                    self.start_next_line();
                }
                self.line.push(cell, span.style);
                self.at += cell.width();
            }
        }
    }

    fn is_at_line_start(&self) -> bool {
        self.at == 0 || (!self.lines.is_empty() && self.at == self.indent)
    }

    fn start_next_line(&mut self) {
        let next = StyledLine::from_text(" ".repeat(self.indent), TextStyle::Plain);
        self.lines.push(std::mem::replace(&mut self.line, next));
        self.at = self.indent;
    }
}

/// Chinese and Japanese have no blanks: a line may end between two of their characters, though not
/// before punctuation.
fn may_break_between(before: char, piece: &str) -> bool {
    let is_wide = |letter: char| letter.is_alphanumeric() && letter.width() == Some(2);
    let Some(next) = piece.chars().next() else { return false };
    next.is_alphanumeric() && (is_wide(before) || is_wide(next)) && !OPENING.contains(before)
}

/// Belongs to what follows.
const OPENING: &str = "([{「『（【《“‘";

#[cfg(test)]
mod tests {
    use super::*;

    fn plain_texts(lines: &[StyledLine]) -> Vec<String> {
        lines.iter().map(StyledLine::plain_text).collect()
    }

    #[test]
    fn lines_are_broken_at_blanks_and_never_wider_than_told() {
        let line = StyledLine::from_text("the quick ", TextStyle::Plain)
            .with_span("brown fox", TextStyle::Bold);
        assert_eq!(plain_texts(&line.wrap(10, 0)), ["the quick ", "brown fox"]);
        assert_eq!(plain_texts(&line.wrap(15, 2)), ["the quick brown", "  fox"]);
        assert_eq!(
            plain_texts(&StyledLine::from_text("abcdefgh", TextStyle::Code).wrap(3, 0)),
            ["abc", "def", "gh"]
        );
        let marked = StyledLine::from_text("✗ https://example.com/long", TextStyle::Plain);
        assert_eq!(plain_texts(&marked.wrap(16, 2)), ["✗ https://exampl", "  e.com/long"]);
        assert_eq!(
            plain_texts(&StyledLine::from_text("日本語です", TextStyle::Plain).wrap(4, 0)),
            ["日本", "語で", "す"]
        );
        let quoted = StyledLine::from_text("he said ", TextStyle::Plain)
            .with_span("hello", TextStyle::Bold)
            .with_span(", world", TextStyle::Plain);
        assert_eq!(plain_texts(&quoted.wrap(13, 0)), ["he said ", "hello, world"]);
        assert_eq!(
            plain_texts(&StyledLine::from_text("日本語。です", TextStyle::Plain).wrap(6, 0)),
            ["日本", "語。で", "す"]
        );
        for width in 1..30 {
            let text = "wide 日本語 and e\u{301}acute words, a-very-long-one/with/slashes and more";
            for line in StyledLine::from_text(text, TextStyle::Plain).wrap(width, 2) {
                assert!(line.width() <= width.max(2), "{width}: {line:?}");
            }
            assert!(
                StyledLine::from_text(text, TextStyle::Plain).truncate_to_width(width).width()
                    <= width
            );
        }
        assert_eq!(StyledLine::new().wrap(5, 0), [StyledLine::new()]);
        assert_eq!(
            StyledLine::from_text("abc", TextStyle::Plain).truncate_to_width(3).plain_text(),
            "abc"
        );
        assert_eq!(
            StyledLine::from_text("abcd", TextStyle::Plain).truncate_to_width(3).plain_text(),
            "ab…"
        );
    }
}
