//! The prompt that is being typed: several lines, a history, and long pastes shown as one word. Pure.

pub(crate) mod dragged_images;
pub mod vim;

use std::collections::VecDeque;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use crate::input::{CursorMove, Deletion, InputKey};
use crate::typed_prompt::TypedPrompt;
use crate::{text, words};

#[derive(Clone, Debug, Default)]
pub struct Composer {
    text: String,
    /// In bytes, always between two graphemes.
    cursor_offset: usize,
    history: Vec<String>,
    /// The entry of the history that is shown, counted from the newest.
    history_index: Option<usize>,
    /// What was typed before the history was opened.
    unsent_text: String,
    unsent_pastes: Vec<FoldedPaste>,
    folded_pastes: Vec<FoldedPaste>,
    /// Prompts of this session that had pastes, the oldest first.
    folded_prompts: VecDeque<FoldedPrompt>,
    /// Images in this prompt.
    image_count: usize,
    /// What Ctrl-K, Ctrl-U or Ctrl-W deleted last.
    deleted_text: String,
}

#[derive(Clone, Debug)]
struct FoldedPaste {
    /// Its placeholder in the text, for example `[Pasted 20 lines]`.
    label: String,
    /// What is sent instead of it.
    text: String,
}

/// A prompt as it was shown, so that it looks the same when it comes back.
#[derive(Clone, Debug)]
struct FoldedPrompt {
    /// Its entry in the history.
    entry: String,
    shown: String,
    pastes: Vec<FoldedPaste>,
}

impl FoldedPrompt {
    fn size_bytes(&self) -> usize {
        let pastes = self.pastes.iter().map(|paste| paste.text.len()).sum::<usize>();
        self.entry.len() + self.shown.len() + pastes
    }
}

impl Composer {
    /// The text as it is shown, with folded pastes.
    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// In bytes.
    pub fn cursor_offset(&self) -> usize {
        self.cursor_offset
    }

    /// The row and the column, in cells, of the cursor.
    pub fn cursor(&self) -> (usize, usize) {
        let before = self.text.get(..self.cursor_offset).unwrap_or_default();
        let row = before.matches('\n').count();
        let line = before.rsplit('\n').next().unwrap_or_default();
        (row, line.width())
    }

    pub fn insert(&mut self, text: &str) {
        self.text.insert_str(self.cursor_offset, text);
        self.cursor_offset += text.len();
        self.history_index = None;
    }

    /// Inserts a text, or its label if it is long.
    pub fn paste(&mut self, text: &str) {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        if text.lines().count() <= PASTE_LINES_MAX && text.len() <= PASTE_BYTES_MAX {
            return self.insert(&text);
        }
        let label = self.fold_paste(text);
        self.insert(&label);
    }

    /// Stores a long text; returns its label.
    fn fold_paste(&mut self, text: String) -> String {
        let label = self.make_label(&words::label_paste(text.lines().count()));
        self.folded_pastes.push(FoldedPaste { label: label.clone(), text });
        label
    }

    /// Mentions an imported image by its number.
    pub fn mention_image(&mut self, path: &str) {
        self.image_count += 1;
        let label = self.make_label(&words::label_image(self.image_count));
        let text = format!("@\"{path}\"");
        self.folded_pastes.push(FoldedPaste { label: label.clone(), text });
        let blank = self.separator_before_cursor();
        self.insert(&format!("{blank}{label} "));
    }

    /// Two pastes of the same length need different labels.
    fn make_label(&self, words: &str) -> String {
        let is_taken = |label: &str| self.folded_pastes.iter().any(|paste| paste.label == label);
        let labels = (1_usize..).map(|number| match number {
            1 => format!("[{words}]"),
            number => format!("[{words}, {number}]"),
        });
        let mut free = labels.skip_while(|label| is_taken(label));
        free.next().unwrap_or_default()
    }

    fn separator_before_cursor(&self) -> &'static str {
        let before = self.text.get(..self.cursor_offset).unwrap_or_default();
        match before.chars().next_back() {
            Some(last) if !last.is_whitespace() => " ",
            _ => "",
        }
    }

    pub fn mention(&mut self, path: &str) {
        let blank = self.separator_before_cursor();
        match path.contains(char::is_whitespace) {
            true => self.insert(&format!("{blank}@\"{path}\" ")),
            false => self.insert(&format!("{blank}@{path} ")),
        }
    }

    pub fn backspace(&mut self) {
        let from = self.find_move_target(CursorMove::Left);
        self.delete_back_to(from);
    }

    /// Deletes the word before the cursor.
    pub fn delete_word(&mut self) {
        let from = self.find_move_target(CursorMove::WordLeft);
        self.keep_deleted(from..self.cursor_offset);
        self.delete_back_to(from);
    }

    /// Rounds down to a character boundary; past the end means the end.
    pub fn set_cursor(&mut self, at: usize) {
        self.cursor_offset = self.text.floor_char_boundary(at);
    }

    /// Puts the cursor after the new text. An invalid range changes nothing.
    pub fn replace_range(&mut self, range: std::ops::Range<usize>, text: &str) {
        if self.text.get(range.clone()).is_some() {
            self.cursor_offset = range.start + text.len();
            self.text.replace_range(range, text);
            self.history_index = None;
        }
    }

    /// Restores an earlier text and cursor.
    pub fn restore(&mut self, text: String, at: usize) {
        self.text = text;
        self.set_cursor(at);
        self.history_index = None;
    }

    pub fn delete_to_home(&mut self) {
        let from = self.find_move_target(CursorMove::Home);
        self.keep_deleted(from..self.cursor_offset);
        self.delete_back_to(from);
    }

    pub fn delete_to_end(&mut self) {
        let to = self.find_move_target(CursorMove::End);
        self.keep_deleted(self.cursor_offset..to);
        self.text.replace_range(self.cursor_offset..to, "");
    }

    fn keep_deleted(&mut self, range: std::ops::Range<usize>) {
        if let Some(deleted) = self.text.get(range).filter(|deleted| !deleted.is_empty()) {
            self.deleted_text = deleted.to_owned();
        }
    }

    /// Inserts what was deleted last, as Ctrl-Y does in a shell.
    pub fn insert_deleted(&mut self) {
        let deleted = self.deleted_text.clone();
        self.insert(&deleted);
    }

    /// Empties the composer. The history keeps the text, so that a stray key loses nothing.
    pub fn clear(&mut self) {
        let _ = self.submit();
    }

    /// Deletes the character under the cursor.
    pub fn delete(&mut self) {
        let to = self.find_move_target(CursorMove::Right);
        self.text.replace_range(self.cursor_offset..to, "");
    }

    fn delete_back_to(&mut self, from: usize) {
        self.text.replace_range(from..self.cursor_offset, "");
        self.cursor_offset = from;
    }

    /// Handles a key of a one-line entry: line breaks are removed from pasted text, and there is no
    /// history.
    pub fn handle_line_key(&mut self, key: &InputKey) {
        match key {
            InputKey::Char(letter) => self.insert(letter.encode_utf8(&mut [0; 4])),
            InputKey::Paste(text) => self.insert(&text::to_one_line(text)),
            InputKey::Delete(Deletion::CharBefore) => self.backspace(),
            InputKey::Delete(Deletion::CharUnder) => self.delete(),
            InputKey::Delete(Deletion::WordBefore) => self.delete_word(),
            InputKey::Delete(Deletion::ToHome) => self.delete_to_home(),
            InputKey::Delete(Deletion::ToEnd) => self.delete_to_end(),
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
            | InputKey::Shortcut(_) => {}
        }
    }

    pub fn move_cursor(&mut self, to: CursorMove) {
        match to {
            CursorMove::Up if self.cursor().0 == 0 => self.show_older(),
            CursorMove::Down if !self.text_after_cursor().contains('\n') => self.show_newer(),
            CursorMove::Left
            | CursorMove::Right
            | CursorMove::WordLeft
            | CursorMove::WordRight
            | CursorMove::Home
            | CursorMove::End
            | CursorMove::Up
            | CursorMove::Down => self.cursor_offset = self.find_move_target(to),
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

    /// The offset in the line above or below that has the same column.
    fn offset_in_adjacent_line(&self, is_below: bool) -> usize {
        let (row, column) = self.cursor();
        let row = if is_below { row + 1 } else { row.saturating_sub(1) };
        let mut start = 0;
        for (number, line) in self.text.split('\n').enumerate() {
            if number == row {
                let mut at = 0;
                let mut cells = 0;
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
                self.unsent_pastes = std::mem::take(&mut self.folded_pastes);
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
        match which {
            Some(number) => {
                let entry = self.history.iter().rev().nth(number).cloned().unwrap_or_default();
                self.text = self.fold_again(entry);
            }
            None => {
                self.text = std::mem::take(&mut self.unsent_text);
                self.folded_pastes = std::mem::take(&mut self.unsent_pastes);
            }
        }
        self.cursor_offset = self.text.len();
    }

    /// A prompt that comes back is shown as it was typed, with its pastes folded.
    fn fold_again(&mut self, entry: String) -> String {
        let is_known = |prompt: &&FoldedPrompt| {
            prompt.entry == entry || expand_pastes(&prompt.shown, &prompt.pastes) == entry
        };
        let known = self.folded_prompts.iter().rev().find(is_known);
        let Some(FoldedPrompt { shown, pastes, .. }) = known.cloned() else {
            return entry;
        };
        self.folded_pastes = pastes;
        shown
    }

    /// Keeps the pastes of a prompt for as long as there is room.
    fn keep_folded_prompt(&mut self, prompt: FoldedPrompt) {
        if prompt.pastes.is_empty() {
            return;
        }
        self.folded_prompts.retain(|known| known.entry != prompt.entry);
        self.folded_prompts.push_back(prompt);
        let size = |prompts: &VecDeque<FoldedPrompt>| {
            prompts.iter().map(FoldedPrompt::size_bytes).sum::<usize>()
        };
        while size(&self.folded_prompts) > FOLDED_BYTES_MAX {
            self.folded_prompts.pop_front();
        }
    }

    /// The word before the cursor if it begins with `sign`: its offset, and the rest of it.
    pub fn word_before_cursor(&self, sign: char) -> Option<(usize, &str)> {
        let before = self.text.get(..self.cursor_offset)?;
        let from = before.rfind(char::is_whitespace).map_or(0, |at| {
            at + before.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8)
        });
        let word = before.get(from..)?.strip_prefix(sign)?;
        Some((from, word))
    }

    /// Replaces everything between `from` and the cursor.
    pub fn complete_word(&mut self, from: usize, text: &str) {
        if from <= self.cursor_offset && self.text.is_char_boundary(from) {
            self.text.replace_range(from..self.cursor_offset, text);
            self.cursor_offset = from + text.len();
        }
    }

    /// The oldest first.
    pub fn set_history(&mut self, history: Vec<String>) {
        self.history = history;
    }

    /// The oldest first.
    pub fn history(&self) -> &[String] {
        &self.history
    }

    /// The text as it would be sent, with pastes in place of their labels.
    pub fn full_text(&self) -> String {
        expand_pastes(&self.text, &self.folded_pastes)
    }

    /// Replaces the whole text. A long one is folded like a paste.
    pub fn set_text(&mut self, text: impl Into<String>) {
        let text = self.fold_again(text.into());
        self.text = match text.len() > SET_BYTES_MAX {
            true => self.fold_paste(text),
            false => text,
        };
        self.cursor_offset = self.text.len();
        self.history_index = None;
    }

    /// Takes the prompt, and adds it to the history.
    pub fn submit(&mut self) -> TypedPrompt {
        let shown = std::mem::take(&mut self.text);
        let full = expand_pastes(&shown, &self.folded_pastes);
        let pastes = std::mem::take(&mut self.folded_pastes);
        self.image_count = 0;
        self.cursor_offset = 0;
        self.history_index = None;
        // A long paste is not kept in the history; its label is.
        let is_long = full.len() > HISTORY_BYTES_MAX;
        let entry = if is_long { shown.clone() } else { full.clone() };
        self.keep_folded_prompt(FoldedPrompt {
            entry: entry.clone(),
            shown: shown.clone(),
            pastes,
        });
        if !shown.trim().is_empty() {
            // Once is enough; and an older one with the same label would come back with this paste.
            self.history.retain(|known| *known != entry);
            self.history.push(entry);
            let over = self.history.len().saturating_sub(HISTORY_MAX);
            self.history.drain(..over);
        }
        TypedPrompt { text: full, shown }
    }
}

/// In one pass: a paste that holds the label of another stays as it is.
fn expand_pastes(shown: &str, pastes: &[FoldedPaste]) -> String {
    let mut full = String::with_capacity(shown.len());
    let mut rest = shown;
    loop {
        let first =
            pastes.iter().filter_map(|paste| rest.find(paste.label.as_str()).map(|at| (at, paste)));
        let Some((at, paste)) = first.min_by_key(|(at, _)| *at) else {
            full.push_str(rest);
            return full;
        };
        full.push_str(rest.get(..at).unwrap_or_default());
        full.push_str(&paste.text);
        rest = rest.get(at + paste.label.len()..).unwrap_or_default();
    }
}

const PASTE_LINES_MAX: usize = 8;
const PASTE_BYTES_MAX: usize = 2_000;
/// A longer text from an editor or the history is folded: every key lays out the whole text again.
const SET_BYTES_MAX: usize = 16 * 1024;
/// Of all prompts whose pastes are kept.
const FOLDED_BYTES_MAX: usize = 4 * 1024 * 1024;
const HISTORY_MAX: usize = 500;
const HISTORY_BYTES_MAX: usize = 16 * 1024;
