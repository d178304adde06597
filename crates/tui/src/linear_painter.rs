//! Writes lines one after the other and never redraws, for terminals that cannot move the cursor and for
//! screen readers. Writes no escape sequence.

use unicode_width::UnicodeWidthStr;
use windlass_vocabulary::Ticket;

use crate::styled_line::StyledLine;

#[derive(Debug, Default)]
pub(crate) struct LinearPainter {
    /// The text of the last line.
    prompt: String,
    /// Lines of the open dialog that were written.
    shown_lines: Vec<String>,
    /// The question that the open dialog asks.
    question: Option<Ticket>,
    has_begun: bool,
}

impl LinearPainter {
    /// Another question is said whole, however much of it stood in the one before.
    pub(crate) fn open_question(&mut self, question: Option<Ticket>) {
        if self.question != question {
            self.question = question;
            self.shown_lines.clear();
        }
    }

    /// Returns the bytes for finished lines, new lines of the open dialog, and what is being typed.
    pub(crate) fn paint(
        &mut self,
        finished: &[StyledLine],
        dialog: &[StyledLine],
        prompt: &str,
    ) -> String {
        let dialog: Vec<String> = dialog.iter().map(StyledLine::plain_text).collect();
        let new = dialog.iter().filter(|line| !self.shown_lines.contains(line));
        let lines: Vec<String> =
            finished.iter().map(StyledLine::plain_text).chain(new.cloned()).collect();
        self.shown_lines = dialog;
        let mut out = String::new();
        if !lines.is_empty() {
            if self.prompt.ends_with(' ') && self.prompt.width() == EMPTY_PROMPT_WIDTH {
                out.push_str(&erase(&self.prompt));
            } else if !self.prompt.is_empty() {
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
            out.push_str(&erase(less));
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

    /// Returns the bytes that end the prompt's line, if there is one.
    pub(crate) fn finish_line(&mut self) -> String {
        match std::mem::take(&mut self.prompt).is_empty() {
            true => String::new(),
            false => "\r\n".to_owned(),
        }
    }
}

/// Removes what was typed last.
fn erase(text: &str) -> String {
    "\u{8} \u{8}".repeat(text.width())
}

/// A sign and a blank: nothing is typed, so nothing is lost.
const EMPTY_PROMPT_WIDTH: usize = 2;

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
        // A sign without text is not worth a line.
        let erased = "\u{8} \u{8}".repeat(2);
        let more = [line("May it?"), line("2. Yes")];
        assert_eq!(linear.paint(&[], &more, "? "), format!("{erased}2. Yes\r\n? "));
        linear.open_question(Some(Ticket(2)));
        assert_eq!(linear.paint(&[], &[line("May it?")], "? "), format!("{erased}May it?\r\n? "));
        linear.open_question(Some(Ticket(2)));
        assert_eq!(linear.paint(&[], &[line("May it?")], "? "), "");
        assert_eq!(linear.finish_line(), "\r\n");
    }
}
