//! What is being typed: several lines, a history, and long pastes shown as one word. Pure.

pub(crate) mod dragged_images;
pub mod vim;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use crate::input::{CursorMove, InputKey};
use crate::text;

/// The text under the cursor.
#[derive(Clone, Debug, Default)]
pub struct Composer {
    text: String,
    /// In bytes, always between two graphemes.
    cursor_offset: usize,
    history: Vec<String>,
    /// Which of the history is shown, counted from the newest.
    history_index: Option<usize>,
    /// What was typed before the history was looked at.
    unsent_text: String,
    /// What is shown as a word, and what is said instead of it.
    folded_pastes: Vec<(String, String)>,
}

impl Composer {
    /// What is typed, as it is shown.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Is nothing typed?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Where the cursor is, in bytes.
    #[must_use]
    pub fn cursor_offset(&self) -> usize {
        self.cursor_offset
    }

    /// The row and the column, in cells, of the cursor.
    #[must_use]
    pub fn cursor(&self) -> (usize, usize) {
        let before = self.text.get(..self.cursor_offset).unwrap_or_default();
        let row = before.matches('\n').count();
        let line = before.rsplit('\n').next().unwrap_or_default();
        (row, line.width())
    }

    /// Types a character.
    pub fn insert(&mut self, text: &str) {
        self.text.insert_str(self.cursor_offset, text);
        self.cursor_offset += text.len();
        self.history_index = None;
    }

    /// Takes in a paste. A long one is kept aside and shown as a word.
    pub fn paste(&mut self, text: &str) {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        if text.lines().count() <= PASTE_LINES_MAX && text.len() <= PASTE_BYTES_MAX {
            return self.insert(&text);
        }
        let word = self.fold_paste(text);
        self.insert(&word);
    }

    /// Keeps a long text aside; gives the word it is shown as.
    fn fold_paste(&mut self, text: String) -> String {
        let word =
            format!("[paste {}: {} lines]", self.folded_pastes.len() + 1, text.lines().count());
        self.folded_pastes.push((word.clone(), text));
        word
    }

    /// Names a file that lies elsewhere; shows the name people know it by.
    pub fn mention_image(&mut self, name: &str, path: &str) {
        let word = format!("[image {}: {name}]", self.folded_pastes.len() + 1);
        self.folded_pastes.push((word.clone(), format!("@\"{path}\"")));
        let blank = self.separator_before_cursor();
        self.insert(&format!("{blank}{word} "));
    }

    /// What has to stand between what is typed and another word.
    fn separator_before_cursor(&self) -> &'static str {
        let before = self.text.get(..self.cursor_offset).unwrap_or_default();
        match before.chars().next_back() {
            Some(last) if !last.is_whitespace() => " ",
            _ => "",
        }
    }

    /// Names a file that is said with the words.
    pub fn mention(&mut self, path: &str) {
        let blank = self.separator_before_cursor();
        match path.contains(char::is_whitespace) {
            true => self.insert(&format!("{blank}@\"{path}\" ")),
            false => self.insert(&format!("{blank}@{path} ")),
        }
    }

    /// Takes away what is before the cursor: a character.
    pub fn backspace(&mut self) {
        let from = self.find_move_target(CursorMove::Left);
        self.delete_back_to(from);
    }

    /// Takes away what is before the cursor: a word.
    pub fn delete_word(&mut self) {
        let from = self.find_move_target(CursorMove::WordLeft);
        self.delete_back_to(from);
    }

    /// Puts the cursor there, or at the end.
    pub fn set_cursor(&mut self, at: usize) {
        self.cursor_offset = self.text.floor_char_boundary(at);
    }

    /// Puts a text in the place of a part, and the cursor behind it.
    pub fn replace_range(&mut self, range: std::ops::Range<usize>, text: &str) {
        if self.text.get(range.clone()).is_some() {
            self.cursor_offset = range.start + text.len();
            self.text.replace_range(range, text);
            self.history_index = None;
        }
    }

    /// Brings back a text as it was.
    pub fn restore(&mut self, text: String, at: usize) {
        self.text = text;
        self.set_cursor(at);
        self.history_index = None;
    }

    /// Takes away what is before the cursor in its line.
    pub fn delete_to_home(&mut self) {
        let from = self.find_move_target(CursorMove::Home);
        self.delete_back_to(from);
    }

    /// Takes away what is behind the cursor in its line.
    pub fn delete_to_end(&mut self) {
        let to = self.find_move_target(CursorMove::End);
        self.text.replace_range(self.cursor_offset..to, "");
    }

    /// Takes away the character under the cursor.
    pub fn delete(&mut self) {
        let to = self.find_move_target(CursorMove::Right);
        self.text.replace_range(self.cursor_offset..to, "");
    }

    fn delete_back_to(&mut self, from: usize) {
        self.text.replace_range(from..self.cursor_offset, "");
        self.cursor_offset = from;
    }

    /// Handles a key of a one-line entry: pastes lose their line breaks, and there is no history.
    pub fn handle_line_key(&mut self, key: &InputKey) {
        match key {
            InputKey::Char(letter) => self.insert(letter.encode_utf8(&mut [0; 4])),
            InputKey::Paste(text) => self.insert(&text::to_one_line(text)),
            InputKey::Backspace => self.backspace(),
            InputKey::Delete => self.delete(),
            InputKey::DeleteWord => self.delete_word(),
            InputKey::DeleteToHome => self.delete_to_home(),
            InputKey::DeleteToEnd => self.delete_to_end(),
            InputKey::Move(CursorMove::Up | CursorMove::Down) => {}
            InputKey::Move(to) => self.move_cursor(*to),
            InputKey::Enter
            | InputKey::NewLine
            | InputKey::Escape
            | InputKey::Cancel
            | InputKey::EndOfInput
            | InputKey::Tab
            | InputKey::BackTab
            | InputKey::PageUp
            | InputKey::PageDown
            | InputKey::SearchHistory
            | InputKey::OpenTranscript
            | InputKey::OpenEditor
            | InputKey::Redraw
            | InputKey::Suspend
            | InputKey::ToggleTasks
            | InputKey::PasteImage => {}
        }
    }

    pub fn move_cursor(&mut self, to: CursorMove) {
        match to {
            CursorMove::Up if self.cursor().0 == 0 => self.show_older(),
            CursorMove::Down if !self.text_after_cursor().contains('\n') => self.show_newer(),
            _ => self.cursor_offset = self.find_move_target(to),
        }
    }

    fn text_after_cursor(&self) -> &str {
        self.text.get(self.cursor_offset..).unwrap_or_default()
    }

    fn find_move_target(&self, to: CursorMove) -> usize {
        let before = self.text.get(..self.cursor_offset).unwrap_or_default();
        let behind = self.text_after_cursor();
        let line = before.rfind('\n').map_or(0, |at| at + 1);
        match to {
            CursorMove::Left => before.grapheme_indices(true).next_back().map_or(0, |(at, _)| at),
            CursorMove::Right => {
                self.cursor_offset + behind.graphemes(true).next().map_or(0, str::len)
            }
            CursorMove::WordLeft => {
                let mut words = before.split_word_bound_indices();
                let word = words.rfind(|(_, word)| word.chars().any(char::is_alphanumeric));
                word.map_or(0, |(at, _)| at)
            }
            CursorMove::WordRight => {
                let mut words = behind.split_word_bound_indices();
                let word = words.find(|(_, word)| word.chars().any(char::is_alphanumeric));
                word.map_or(self.text.len(), |(at, word)| self.cursor_offset + at + word.len())
            }
            CursorMove::Home => line,
            CursorMove::End => self.cursor_offset + behind.find('\n').unwrap_or(behind.len()),
            CursorMove::Up | CursorMove::Down => {
                self.offset_in_adjacent_line(to == CursorMove::Down)
            }
        }
    }

    /// The place in the next line that is as far from its beginning.
    fn offset_in_adjacent_line(&self, is_below: bool) -> usize {
        let (row, column) = self.cursor();
        let row = if is_below { row + 1 } else { row.saturating_sub(1) };
        let mut start = 0;
        for (number, line) in self.text.split('\n').enumerate() {
            if number == row {
                let (mut at, mut cells) = (0, 0);
                for grapheme in line.graphemes(true) {
                    if cells >= column {
                        break;
                    }
                    cells += grapheme.width();
                    at += grapheme.len();
                }
                return start + at;
            }
            start += line.len() + 1;
        }
        self.cursor_offset
    }

    fn show_older(&mut self) {
        let next = self.history_index.map_or(0, |shown| shown + 1);
        if next < self.history.len() {
            if self.history_index.is_none() {
                self.unsent_text = self.text.clone();
            }
            self.show_history_entry(Some(next));
        }
    }

    fn show_newer(&mut self) {
        if let Some(shown) = self.history_index {
            self.show_history_entry(shown.checked_sub(1));
        }
    }

    fn show_history_entry(&mut self, which: Option<usize>) {
        self.history_index = which;
        self.text = match which {
            Some(number) => self.history.iter().rev().nth(number).cloned().unwrap_or_default(),
            None => std::mem::take(&mut self.unsent_text),
        };
        self.cursor_offset = self.text.len();
    }

    /// The word before the cursor that begins with this sign: where it begins, and what is behind
    /// the sign. The sign stands at the beginning of a word, or it is no sign.
    #[must_use]
    pub fn word_before_cursor(&self, sign: char) -> Option<(usize, &str)> {
        let before = self.text.get(..self.cursor_offset)?;
        let from = before.rfind(char::is_whitespace).map_or(0, |at| {
            at + before.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8)
        });
        let word = before.get(from..)?.strip_prefix(sign)?;
        Some((from, word))
    }

    /// Puts a text in the place of everything from there to the cursor.
    pub fn complete_word(&mut self, from: usize, text: &str) {
        if from <= self.cursor_offset && self.text.is_char_boundary(from) {
            self.text.replace_range(from..self.cursor_offset, text);
            self.cursor_offset = from + text.len();
        }
    }

    /// Remembers what was said before, the oldest first.
    pub fn set_history(&mut self, said: Vec<String>) {
        self.history = said;
    }

    /// What was said before, the oldest first.
    #[must_use]
    pub fn history(&self) -> &[String] {
        &self.history
    }

    /// What would be handed over now, with pastes in the place of their words.
    #[must_use]
    pub fn full_text(&self) -> String {
        self.expand_pastes(&self.text)
    }

    fn expand_pastes(&self, shown: &str) -> String {
        let mut whole = shown.to_owned();
        for (word, text) in &self.folded_pastes {
            whole = whole.replacen(word, text, 1);
        }
        whole
    }

    /// Puts a text in the place of what is typed. A long one is shown as a word, like a paste.
    pub fn set_text(&mut self, text: impl Into<String>) {
        let text = text.into();
        self.text = match text.len() > SET_BYTES_MAX {
            true => self.fold_paste(text),
            false => text,
        };
        self.cursor_offset = self.text.len();
        self.history_index = None;
    }

    /// Hands over what was typed, with pastes in the place of their words, and remembers it.
    pub fn submit(&mut self) -> String {
        let shown = std::mem::take(&mut self.text);
        let whole = self.expand_pastes(&shown);
        self.folded_pastes.clear();
        self.cursor_offset = 0;
        self.history_index = None;
        // A paste that was shown as a word is too long to come back.
        let said = if whole.len() > HISTORY_BYTES_MAX { shown.clone() } else { whole.clone() };
        if !shown.trim().is_empty() && self.history.last() != Some(&said) {
            self.history.push(said);
            let over = self.history.len().saturating_sub(HISTORY_MAX);
            self.history.drain(..over);
        }
        whole
    }
}

const PASTE_LINES_MAX: usize = 8;
const PASTE_BYTES_MAX: usize = 2_000;
/// What an editor or an earlier prompt may bring and still be changed letter by letter.
const SET_BYTES_MAX: usize = 16 * 1024;
const HISTORY_MAX: usize = 500;
const HISTORY_BYTES_MAX: usize = 16 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typing_moving_and_taking_away() {
        let mut composer = Composer::default();
        composer.insert("héllo wörld\nsecond e\u{301}nd");
        for (to, cursor) in [
            (CursorMove::Left, (1, 9)),
            (CursorMove::WordLeft, (1, 7)),
            (CursorMove::Up, (0, 7)),
            (CursorMove::Home, (0, 0)),
            (CursorMove::WordRight, (0, 5)),
            (CursorMove::Down, (1, 5)),
            (CursorMove::End, (1, 10)),
        ] {
            composer.move_cursor(to);
            assert_eq!(composer.cursor(), cursor, "{to:?}");
        }
        composer.delete_word();
        composer.backspace();
        assert_eq!(composer.text(), "héllo wörld\nsecond");
        composer.delete_to_home();
        composer.backspace();
        composer.move_cursor(CursorMove::Home);
        composer.delete();
        composer.delete_to_end();
        assert_eq!(composer.text(), "");
    }

    #[test]
    fn what_was_said_comes_back_and_pastes_go_out_whole() {
        let mut composer = Composer::default();
        let long = "line\n".repeat(20);
        composer.insert("see ");
        composer.paste(&long);
        assert_eq!(composer.text(), "see [paste 1: 20 lines]");
        assert_eq!(composer.submit(), format!("see {long}"));
        composer.insert("two");
        assert_eq!(composer.submit(), "two");
        composer.insert("draft");
        composer.move_cursor(CursorMove::Up);
        assert_eq!(composer.text(), "two");
        composer.move_cursor(CursorMove::Down);
        assert_eq!(composer.text(), "draft");
    }

    /// What comes back from an editor or an earlier prompt is broken into lines with every key, so it
    /// must not be long.
    #[test]
    fn a_long_text_that_comes_back_is_a_word_and_goes_out_whole() {
        let mut composer = Composer::default();
        let long = "a line\n".repeat(100_000);
        composer.set_text(long.clone());
        assert_eq!(composer.text(), "[paste 1: 100000 lines]");
        composer.insert(" more");
        assert_eq!(composer.submit(), format!("{long} more"));
    }
}
