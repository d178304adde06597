//! Lines one after the other, and nothing ever drawn again: for terminals that cannot move a cursor
//! and for people who have a terminal read to them. Not one escape sequence is written.

use unicode_width::UnicodeWidthStr;

use crate::styled_line::StyledLine;

/// What stands at the end.
#[derive(Debug, Default)]
pub struct LinearPainter {
    /// What stands in the last line.
    prompt: String,
    /// Lines of a question or a list that were read out.
    shown_lines: Vec<String>,
    has_begun: bool,
}

impl LinearPainter {
    /// The bytes that show finished lines, the lines of a question as far as they are new, and what
    /// is being typed.
    pub fn paint(&mut self, finished: &[StyledLine], asked: &[StyledLine], prompt: &str) -> String {
        let asked: Vec<String> = asked.iter().map(StyledLine::plain_text).collect();
        let new = asked.iter().filter(|line| !self.shown_lines.contains(line));
        let lines: Vec<String> =
            finished.iter().map(StyledLine::plain_text).chain(new.cloned()).collect();
        self.shown_lines = asked;
        let mut out = String::new();
        if !lines.is_empty() {
            if !self.prompt.is_empty() {
                out.push_str("\r\n");
            }
            for line in lines {
                out.push_str(line.trim_end());
                out.push_str("\r\n");
            }
            out.push_str(prompt);
        } else if let Some(more) = prompt.strip_prefix(self.prompt.as_str()) {
            out.push_str(more);
        } else if let Some(less) = self.prompt.strip_prefix(prompt) {
            out.push_str(&"\u{8} \u{8}".repeat(less.width()));
        } else {
            if self.has_begun {
                out.push_str("\r\n");
            }
            out.push_str(prompt);
        }
        self.has_begun = true;
        self.prompt = prompt.to_owned();
        out
    }

    /// The bytes that leave a line of its own for whoever comes next.
    pub fn finish_line(&mut self) -> String {
        match std::mem::take(&mut self.prompt).is_empty() {
            true => String::new(),
            false => "\r\n".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::styled_line::TextStyle;

    #[test]
    fn what_is_typed_is_echoed_and_what_is_new_is_said_once() {
        let mut linear = LinearPainter::default();
        let line = |words: &str| StyledLine::from_text(words, TextStyle::Failure);
        assert_eq!(linear.paint(&[], &[], "> "), "> ");
        assert_eq!(linear.paint(&[], &[], "> a"), "a");
        assert_eq!(linear.paint(&[], &[], "> ab"), "b");
        assert_eq!(linear.paint(&[], &[], "> a"), "\u{8} \u{8}");
        assert_eq!(linear.paint(&[line("done")], &[], "> a"), "\r\ndone\r\n> a");
        let asked = [line("May it?"), line("1. No")];
        assert_eq!(linear.paint(&[], &asked, "? "), "\r\nMay it?\r\n1. No\r\n? ");
        assert_eq!(linear.paint(&[], &asked, "? "), "");
        assert_eq!(linear.paint(&[], &[line("May it?"), line("2. Yes")], "? "), "\r\n2. Yes\r\n? ");
        assert_eq!(linear.finish_line(), "\r\n");
    }
}
