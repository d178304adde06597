//! Keys as in vim, for those who want them: a state machine over what is typed. Motions, operators,
//! counts, text objects, a register, undo, repeat and a selection; no commands after a colon, no
//! macros, no marks: a prompt is not a file.

mod change_history;
mod motion;

use super::Composer;
use crate::input::InputKey;
use change_history::VimChangeHistory;
use motion::{
    LetterFind, VimMotion, find_text_object, line_range_at, next_boundary, previous_boundary,
};

/// Where we are.
#[derive(Clone, Debug, Default)]
pub struct Vim {
    /// Do letters move?
    pub is_normal: bool,
    /// Where a selection began, and whether it takes whole lines.
    selection_start: Option<(usize, bool)>,
    pending: VimPendingKeys,
    /// What was taken away or copied last, and whether it was whole lines.
    register: (String, bool),
    last_find: Option<LetterFind>,
    changes: VimChangeHistory,
}

/// Keys that wait for the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct VimPendingKeys {
    count: Option<usize>,
    operator: Option<char>,
    /// The count that stood before the operator.
    count_before_operator: Option<usize>,
    /// A letter that needs another: `g`, `f`, `i`, `r` and so on.
    first_letter: Option<char>,
}

/// What a key comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VimKeyOutcome {
    /// It is done.
    Handled,
    /// It means what this key means.
    Key(InputKey),
}

impl Vim {
    /// A key was pressed.
    pub fn handle_key(&mut self, key: InputKey, composer: &mut Composer) -> VimKeyOutcome {
        if !self.is_normal {
            return self.handle_insert_key(key, composer);
        }
        match key {
            InputKey::Char(letter) => {
                self.handle_normal_letter(letter, composer);
                VimKeyOutcome::Handled
            }
            InputKey::Escape if self.has_pending_keys() => {
                (self.pending, self.selection_start) = (VimPendingKeys::default(), None);
                VimKeyOutcome::Handled
            }
            InputKey::SearchHistory => {
                self.changes.redo(composer);
                VimKeyOutcome::Handled
            }
            InputKey::Backspace => {
                self.handle_normal_letter('h', composer);
                VimKeyOutcome::Handled
            }
            key => {
                let sends = key == InputKey::Enter;
                (self.pending, self.selection_start) = (VimPendingKeys::default(), None);
                if sends {
                    self.is_normal = false;
                    self.changes.clear();
                }
                VimKeyOutcome::Key(key)
            }
        }
    }

    fn has_pending_keys(&self) -> bool {
        self.pending != VimPendingKeys::default() || self.selection_start.is_some()
    }

    /// Letters are letters; what is typed is remembered to be typed again.
    fn handle_insert_key(&mut self, key: InputKey, composer: &mut Composer) -> VimKeyOutcome {
        match &key {
            InputKey::Escape if !composer.is_empty() => {
                self.leave_insert_mode(composer);
                return VimKeyOutcome::Handled;
            }
            InputKey::Enter => self.changes.clear(),
            _ => {}
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
        if self.is_normal && !self.has_pending_keys() {
            self.changes.finish_change("", composer);
        }
    }

    /// The last change again, here.
    fn repeat_last_change(&mut self, composer: &mut Composer) {
        let Some((keys, typed)) = self.changes.last_change() else { return };
        for key in keys.chars() {
            self.changes.record_key(key, composer);
            self.handle_command_letter(key, composer);
        }
        if !self.is_normal {
            composer.insert(&typed);
            self.leave_insert_mode(composer);
        } else {
            self.changes.finish_change("", composer);
        }
    }

    /// Letters move again.
    fn leave_insert_mode(&mut self, composer: &mut Composer) {
        self.is_normal = true;
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
            'i' | 'a' if self.pending.operator.is_some() || self.selection_start.is_some() => {
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
                let (is_back, is_till) = (matches!(first, 'F' | 'T'), matches!(first, 't' | 'T'));
                let find = LetterFind { letter, is_back, is_till };
                self.last_find = Some(find);
                self.apply_motion(VimMotion::Find(find), composer);
            }
            'r' => self.replace_letter(letter, composer),
            _ => {
                let at = composer.cursor_offset();
                let range = find_text_object(composer.text(), at, first == 'a', letter);
                match (range, self.selection_start) {
                    (Some(range), Some(_)) => {
                        self.selection_start = Some((range.start, false));
                        composer.set_cursor(
                            previous_boundary(composer.text(), range.end).max(range.start),
                        );
                        self.pending = VimPendingKeys::default();
                    }
                    (Some(range), None) => self.apply_operator(range, false, composer),
                    (None, _) => self.pending = VimPendingKeys::default(),
                }
            }
        }
    }

    /// Goes somewhere, or does something with everything up to there.
    fn apply_motion(&mut self, motion: VimMotion, composer: &mut Composer) {
        let pending = self.pending;
        let count = match (pending.count_before_operator, pending.count) {
            (Some(one), Some(other)) => Some(one * other),
            (one, other) => one.or(other),
        };
        let (text, at) = (composer.text(), composer.cursor_offset());
        let motion = match (pending.operator, motion) {
            // What vim does too: a word that is changed keeps the blank behind it.
            (Some('c'), VimMotion::Word { is_big }) if !is_blank_at(text, at) => {
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
            // Above the first line is what was said before.
            match motion {
                VimMotion::Up if to == at && self.selection_start.is_none() => {
                    composer.move_cursor(super::CursorMove::Up);
                }
                VimMotion::Down if to == at && self.selection_start.is_none() => {
                    composer.move_cursor(super::CursorMove::Down);
                }
                _ => composer.set_cursor(self.clamp_to_letter(composer.text(), to)),
            }
            return;
        }
        if motion.is_linewise() {
            let lines = line_range_at(text, at.min(to)).start..line_range_at(text, at.max(to)).end;
            return self.apply_operator(lines, true, composer);
        }
        // The end of a word is nothing when there is no further word.
        let mut end = at.max(to);
        if motion.is_inclusive() && to >= at {
            end = next_boundary(text, end);
        }
        // A word that is taken at the end of a line leaves the line's end.
        let here = line_range_at(text, at);
        if matches!(motion, VimMotion::Word { .. }) && end > here.end && at <= here.end {
            end = here.end;
        }
        self.apply_operator(at.min(to)..end, false, composer);
    }

    /// On a letter of its line, unless there is none; a selection may stand behind it.
    fn clamp_to_letter(&self, text: &str, at: usize) -> usize {
        let here = line_range_at(text, at.min(text.len()));
        match at >= here.end && here.end > here.start {
            true => previous_boundary(text, here.end),
            false => at,
        }
    }

    fn start_insert(&mut self, composer: &Composer) {
        self.is_normal = false;
        self.selection_start = None;
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

#[cfg(test)]
mod tests;
