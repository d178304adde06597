//! Vim keys for the composer: a state machine over its text. Motions, operators, counts, text objects,
//! one register, undo, repeat and visual mode; no `:` commands, macros or marks, because a prompt is
//! not a file. Why this is not a library: docs/decisions/0056.

mod change_history;
mod motion;

use super::Composer;
use crate::input::{CursorMove, Deletion, InputKey, Shortcut};
use change_history::{VimChange, VimChangeHistory};
use motion::{
    LetterFind, VimMotion, find_text_object, line_range_at, next_boundary, previous_boundary,
};

#[derive(Clone, Debug, Default)]
pub struct Vim {
    mode: VimMode,
    pending: VimPendingKeys,
    register: VimRegister,
    last_find: Option<LetterFind>,
    changes: VimChangeHistory,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum VimMode {
    #[default]
    Insert,
    Normal,
    Visual {
        /// In bytes; the cursor is the other end of the selection.
        start: usize,
        is_linewise: bool,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum VimOperator {
    Delete,
    Change,
    Yank,
}

/// What was deleted or yanked last.
#[derive(Clone, Debug, Default)]
struct VimRegister {
    text: String,
    is_linewise: bool,
}

/// Keys of a command that is not complete yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct VimPendingKeys {
    count: Option<usize>,
    operator: Option<VimOperator>,
    count_before_operator: Option<usize>,
    /// A letter that needs a second one: `g`, `f`, `i`, `r` and so on.
    first_letter: Option<char>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VimKeyOutcome {
    Handled,
    /// Not a vim key: the caller handles it as usual.
    Key(InputKey),
}

impl Vim {
    /// Normal or visual mode: letters are commands.
    pub fn is_normal(&self) -> bool {
        self.mode != VimMode::Insert
    }

    fn is_visual(&self) -> bool {
        matches!(self.mode, VimMode::Visual { .. })
    }

    fn leave_visual_mode(&mut self) {
        if self.is_visual() {
            self.mode = VimMode::Normal;
        }
    }

    pub fn handle_key(&mut self, key: InputKey, composer: &mut Composer) -> VimKeyOutcome {
        if !self.is_normal() {
            return self.handle_insert_key(key, composer);
        }
        match key {
            InputKey::Char(letter) => {
                self.handle_normal_letter(letter, composer);
                VimKeyOutcome::Handled
            }
            InputKey::Escape if self.has_pending_keys() => {
                self.pending = VimPendingKeys::default();
                self.leave_visual_mode();
                VimKeyOutcome::Handled
            }
            InputKey::Shortcut(Shortcut::SearchHistory) => {
                self.changes.redo(composer);
                VimKeyOutcome::Handled
            }
            InputKey::Delete(Deletion::CharBefore) => {
                self.handle_normal_letter('h', composer);
                VimKeyOutcome::Handled
            }
            InputKey::Enter
            | InputKey::NewLine
            | InputKey::Escape
            | InputKey::Cancel
            | InputKey::EndOfInput
            | InputKey::Tab
            | InputKey::BackTab
            | InputKey::Paste(_)
            | InputKey::Delete(_)
            | InputKey::Move(_)
            | InputKey::PageUp
            | InputKey::PageDown
            | InputKey::Shortcut(_) => {
                self.pending = VimPendingKeys::default();
                self.leave_visual_mode();
                if key == InputKey::Enter {
                    self.mode = VimMode::Insert;
                    self.changes.clear();
                }
                VimKeyOutcome::Key(key)
            }
        }
    }

    fn has_pending_keys(&self) -> bool {
        self.pending != VimPendingKeys::default() || self.is_visual()
    }

    fn handle_insert_key(&mut self, key: InputKey, composer: &mut Composer) -> VimKeyOutcome {
        if key == InputKey::Escape && !composer.is_empty() {
            self.leave_insert_mode(composer);
            return VimKeyOutcome::Handled;
        }
        if key == InputKey::Enter {
            self.changes.clear();
        }
        VimKeyOutcome::Key(key)
    }

    fn handle_normal_letter(&mut self, letter: char, composer: &mut Composer) {
        match letter {
            '.' if !self.has_pending_keys() => return self.repeat_last_change(composer),
            'u' if !self.has_pending_keys() => return self.changes.undo(composer),
            _ => {}
        }
        self.changes.record_key(letter, composer);
        self.handle_command_letter(letter, composer);
        if self.is_normal() && !self.has_pending_keys() {
            self.changes.finish_change("", composer);
        }
    }

    fn repeat_last_change(&mut self, composer: &mut Composer) {
        let Some(VimChange { keys, typed }) = self.changes.last_change() else { return };
        for key in keys.chars() {
            self.changes.record_key(key, composer);
            self.handle_command_letter(key, composer);
        }
        if !self.is_normal() {
            composer.insert(&typed);
            self.leave_insert_mode(composer);
        } else {
            self.changes.finish_change("", composer);
        }
    }

    fn leave_insert_mode(&mut self, composer: &mut Composer) {
        self.mode = VimMode::Normal;
        self.changes.end_insert(composer);
        let at = composer.cursor_offset();
        composer.set_cursor(
            previous_boundary(composer.text(), at).max(line_range_at(composer.text(), at).start),
        );
    }

    fn handle_command_letter(&mut self, letter: char, composer: &mut Composer) {
        if let Some(first) = self.pending.first_letter.take() {
            return self.handle_second_letter(first, letter, composer);
        }
        let has_count = self.pending.count.is_some();
        if let Some(digit) = letter.to_digit(10)
            && (digit > 0 || has_count)
        {
            let count = self.pending.count.unwrap_or(0) * 10 + digit as usize;
            self.pending.count = Some(count.min(COUNT_MAX));
            return;
        }
        match letter {
            'g' | 'f' | 'F' | 't' | 'T' | 'r' => self.pending.first_letter = Some(letter),
            'i' | 'a' if self.pending.operator.is_some() || self.is_visual() => {
                self.pending.first_letter = Some(letter);
            }
            ';' | ',' => {
                let find = self.last_find.map(|find| match letter {
                    ';' => find,
                    _ => find.reverse(),
                });
                match find {
                    Some(find) => self.apply_motion(VimMotion::Find(find), composer),
                    None => self.pending = VimPendingKeys::default(),
                }
            }
            letter => match parse_motion(letter) {
                Some(motion) => self.apply_motion(motion, composer),
                None => self.apply_command_letter(letter, composer),
            },
        }
    }

    fn handle_second_letter(&mut self, first: char, letter: char, composer: &mut Composer) {
        match first {
            'g' => match letter {
                'g' => self.apply_motion(VimMotion::Top, composer),
                _ => self.pending = VimPendingKeys::default(),
            },
            'f' | 'F' | 't' | 'T' => {
                let find = LetterFind {
                    letter,
                    is_back: matches!(first, 'F' | 'T'),
                    is_till: matches!(first, 't' | 'T'),
                };
                self.last_find = Some(find);
                self.apply_motion(VimMotion::Find(find), composer);
            }
            'r' => self.replace_letter(letter, composer),
            _ => {
                let at = composer.cursor_offset();
                let range = find_text_object(composer.text(), at, first == 'a', letter);
                match range {
                    Some(range) if self.is_visual() => {
                        self.mode = VimMode::Visual { start: range.start, is_linewise: false };
                        composer.set_cursor(
                            previous_boundary(composer.text(), range.end).max(range.start),
                        );
                        self.pending = VimPendingKeys::default();
                    }
                    Some(range) => self.apply_operator(range, false, composer),
                    None => self.pending = VimPendingKeys::default(),
                }
            }
        }
    }

    /// Moves the cursor, or applies the pending operator to everything up to the target.
    fn apply_motion(&mut self, motion: VimMotion, composer: &mut Composer) {
        let pending = self.pending;
        let count = match (pending.count_before_operator, pending.count) {
            (Some(one), Some(other)) => Some(one * other),
            (one, other) => one.or(other),
        };
        let text = composer.text();
        let at = composer.cursor_offset();
        let motion = match (pending.operator, motion) {
            // As in vim, `cw` keeps the blank behind the word.
            (Some(VimOperator::Change), VimMotion::Word { is_big }) if !is_blank_at(text, at) => {
                VimMotion::End { is_big }
            }
            (_, motion) => motion,
        };
        let Some(to) = motion.find_target(text, at, count) else {
            self.pending = VimPendingKeys::default();
            return;
        };
        if pending.operator.is_none() {
            self.pending = VimPendingKeys::default();
            // The history is above the first line and below the last one.
            let leaves_text = to == at && !self.is_visual();
            if motion == VimMotion::Up && leaves_text {
                composer.move_cursor(CursorMove::Up);
            } else if motion == VimMotion::Down && leaves_text {
                composer.move_cursor(CursorMove::Down);
            } else {
                composer.set_cursor(self.clamp_to_letter(composer.text(), to));
            }
            return;
        }
        if motion.is_linewise() {
            let lines = line_range_at(text, at.min(to)).start..line_range_at(text, at.max(to)).end;
            return self.apply_operator(lines, true, composer);
        }
        let mut end = at.max(to);
        if motion.is_inclusive() && to >= at {
            end = next_boundary(text, end);
        }
        // As in vim, `dw` on the last word of a line does not join the next line.
        let here = line_range_at(text, at);
        if matches!(motion, VimMotion::Word { .. }) && end > here.end && at <= here.end {
            end = here.end;
        }
        self.apply_operator(at.min(to)..end, false, composer);
    }

    /// Outside insert mode the cursor is on a character of its line, unless the line is empty.
    fn clamp_to_letter(&self, text: &str, at: usize) -> usize {
        let here = line_range_at(text, at.min(text.len()));
        match at >= here.end && here.end > here.start {
            true => previous_boundary(text, here.end),
            false => at,
        }
    }

    fn start_insert(&mut self, composer: &Composer) {
        self.mode = VimMode::Insert;
        self.pending = VimPendingKeys::default();
        self.changes.begin_insert(composer);
    }
}

fn is_blank_at(text: &str, at: usize) -> bool {
    text.get(at..).and_then(|rest| rest.chars().next()).is_none_or(char::is_whitespace)
}

fn parse_motion(letter: char) -> Option<VimMotion> {
    Some(match letter {
        'h' => VimMotion::Left,
        'l' | ' ' => VimMotion::Right,
        'j' => VimMotion::Down,
        'k' => VimMotion::Up,
        'w' | 'W' => VimMotion::Word { is_big: letter == 'W' },
        'b' | 'B' => VimMotion::Back { is_big: letter == 'B' },
        'e' | 'E' => VimMotion::End { is_big: letter == 'E' },
        '0' => VimMotion::Home,
        '^' | '_' => VimMotion::FirstNonBlank,
        '$' => VimMotion::LineEnd,
        'G' => VimMotion::Bottom,
        '%' => VimMotion::MatchingBracket,
        _ => return None,
    })
}

const COUNT_MAX: usize = 10_000;
