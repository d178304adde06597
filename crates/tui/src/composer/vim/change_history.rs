//! Commands that change the text, and the history that undoes and repeats them.

use std::ops::Range;

use super::motion::{VimMotion, line_range_at, next_boundary, previous_boundary};
use super::{Composer, Vim, VimMode, VimOperator, VimPendingKeys, VimRegister};

#[derive(Clone, Debug, Default)]
pub(super) struct VimChangeHistory {
    /// Keys of the change under way.
    keys: String,
    before_change: Option<TextSnapshot>,
    /// Where insert mode began, in bytes.
    insert_start: usize,
    last_change: Option<VimChange>,
    undo: Vec<TextSnapshot>,
    redo: Vec<TextSnapshot>,
}

/// A change as `.` repeats it.
#[derive(Clone, Debug)]
pub(super) struct VimChange {
    pub(super) keys: String,
    /// What was typed in insert mode.
    pub(super) typed: String,
}

#[derive(Clone, Debug, Default)]
struct TextSnapshot {
    text: String,
    cursor: usize,
}

impl TextSnapshot {
    fn take(composer: &Composer) -> Self {
        Self { text: composer.text().to_owned(), cursor: composer.cursor_offset() }
    }
}

impl VimChangeHistory {
    /// Records a key that may become part of a change.
    pub(super) fn record_key(&mut self, key: char, composer: &Composer) {
        self.keys.push(key);
        self.before_change.get_or_insert_with(|| TextSnapshot::take(composer));
    }

    /// Ends a command; it becomes a change if the text differs.
    pub(super) fn finish_change(&mut self, typed: &str, composer: &Composer) {
        let keys = std::mem::take(&mut self.keys);
        let before = self.before_change.take().unwrap_or_default();
        if before.text == composer.text() {
            return;
        }
        if !keys.is_empty() {
            self.last_change = Some(VimChange { keys, typed: typed.to_owned() });
        }
        self.redo.clear();
        self.undo.push(before);
        let over = self.undo.len().saturating_sub(UNDO_MAX);
        self.undo.drain(..over);
    }

    pub(super) fn begin_insert(&mut self, composer: &Composer) {
        self.insert_start = composer.cursor_offset();
    }

    pub(super) fn end_insert(&mut self, composer: &Composer) {
        let typed = composer
            .text()
            .get(self.insert_start..composer.cursor_offset())
            .unwrap_or_default()
            .to_owned();
        self.finish_change(&typed, composer);
    }

    pub(super) fn last_change(&self) -> Option<VimChange> {
        self.last_change.clone()
    }

    pub(super) fn undo(&mut self, composer: &mut Composer) {
        if let Some(before) = self.undo.pop() {
            self.redo.push(TextSnapshot::take(composer));
            composer.restore(before.text, before.cursor);
        }
    }

    pub(super) fn redo(&mut self, composer: &mut Composer) {
        if let Some(after) = self.redo.pop() {
            self.undo.push(TextSnapshot::take(composer));
            composer.restore(after.text, after.cursor);
        }
    }

    /// A prompt that was sent cannot be undone; its last change can be repeated.
    pub(super) fn clear(&mut self) {
        *self = Self { last_change: self.last_change.take(), ..Self::default() };
    }
}

impl Vim {
    /// Applies a letter that is not a motion.
    pub(super) fn apply_command_letter(&mut self, letter: char, composer: &mut Composer) {
        let count = self.pending.count;
        let at = composer.cursor_offset();
        let here = line_range_at(composer.text(), at);
        match letter {
            'd' => return self.handle_operator(VimOperator::Delete, composer),
            'c' => return self.handle_operator(VimOperator::Change, composer),
            'y' => return self.handle_operator(VimOperator::Yank, composer),
            'x' | 's' | '~' | 'J' if self.is_visual() => {
                return self.operate_on_selection(letter, composer);
            }
            'v' | 'V' => {
                let is_linewise = letter == 'V';
                self.mode = match self.mode {
                    VimMode::Visual { is_linewise: before, .. } if before == is_linewise => {
                        VimMode::Normal
                    }
                    VimMode::Visual { start, .. } => VimMode::Visual { start, is_linewise },
                    VimMode::Normal | VimMode::Insert => VimMode::Visual { start: at, is_linewise },
                };
            }
            'x' | 's' | 'X' | 'D' | 'C' => {
                let (operator, motion) = match letter {
                    'x' => (VimOperator::Delete, VimMotion::Right),
                    's' => (VimOperator::Change, VimMotion::Right),
                    'X' => (VimOperator::Delete, VimMotion::Left),
                    'D' => (VimOperator::Delete, VimMotion::LineEnd),
                    _ => (VimOperator::Change, VimMotion::LineEnd),
                };
                self.pending.operator = Some(operator);
                return self.apply_motion(motion, composer);
            }
            'S' | 'Y' => {
                let operator = if letter == 'S' { VimOperator::Change } else { VimOperator::Yank };
                self.pending.operator = Some(operator);
                return self.handle_operator(operator, composer);
            }
            'i' | 'a' | 'I' | 'A' | 'o' | 'O' => return self.enter_insert_mode(letter, composer),
            '~' => {
                let end = (0..count.unwrap_or(1))
                    .fold(at, |end, _| next_boundary(composer.text(), end).min(here.end));
                swap_case(composer, at..end);
                composer.set_cursor(self.clamp_to_letter(composer.text(), end));
            }
            'J' => {
                for _ in 0..count.unwrap_or(2).max(2) - 1 {
                    join_lines(composer);
                }
            }
            'p' | 'P' => self.put_register(letter == 'p', count.unwrap_or(1), composer),
            _ => {}
        }
        self.pending = VimPendingKeys::default();
    }

    fn handle_operator(&mut self, operator: VimOperator, composer: &mut Composer) {
        if self.is_visual() {
            return self.apply_operator_to_selection(operator, composer);
        }
        match self.pending.operator {
            None => {
                self.pending.operator = Some(operator);
                self.pending.count_before_operator = self.pending.count.take();
            }
            Some(same) if same == operator => {
                let count = self.pending.count_before_operator.or(self.pending.count).unwrap_or(1);
                let text = composer.text();
                let at = composer.cursor_offset();
                let down = VimMotion::Down.find_target(text, at, Some(count.saturating_sub(1)));
                let last = if count > 1 { down.unwrap_or(at) } else { at };
                let lines = line_range_at(text, at).start..line_range_at(text, last).end;
                self.apply_operator(lines, true, composer);
            }
            Some(_) => self.pending = VimPendingKeys::default(),
        }
    }

    /// Applies `x`, `s`, `~` or `J` in visual mode.
    fn operate_on_selection(&mut self, letter: char, composer: &mut Composer) {
        match letter {
            'x' => return self.apply_operator_to_selection(VimOperator::Delete, composer),
            's' => return self.apply_operator_to_selection(VimOperator::Change, composer),
            _ => {}
        }
        let Some(range) = self.selected_range(composer) else { return };
        self.mode = VimMode::Normal;
        self.pending = VimPendingKeys::default();
        if letter == '~' {
            swap_case(composer, range.clone());
            composer.set_cursor(range.start);
            return;
        }
        let lines = composer.text().get(range.clone()).unwrap_or_default();
        let ends = lines.matches('\n').count().max(1);
        composer.set_cursor(range.start);
        (0..ends).for_each(|_| join_lines(composer));
    }

    fn apply_operator_to_selection(&mut self, operator: VimOperator, composer: &mut Composer) {
        let is_linewise = matches!(self.mode, VimMode::Visual { is_linewise: true, .. });
        let Some(range) = self.selected_range(composer) else { return };
        self.mode = VimMode::Normal;
        self.pending.operator = Some(operator);
        self.apply_operator(range, is_linewise, composer);
    }

    pub fn selected_range(&self, composer: &Composer) -> Option<Range<usize>> {
        let VimMode::Visual { start, is_linewise } = self.mode else { return None };
        let text = composer.text();
        let at = composer.cursor_offset();
        let first = start.min(at);
        let last = start.max(at).min(text.len());
        Some(match is_linewise {
            true => line_range_at(text, first).start..line_range_at(text, last).end,
            false => first..next_boundary(text, last),
        })
    }

    /// Applies the pending operator to a part of the text.
    pub(super) fn apply_operator(
        &mut self,
        range: Range<usize>,
        is_linewise: bool,
        composer: &mut Composer,
    ) {
        let operator = self.pending.operator;
        self.pending = VimPendingKeys::default();
        let text = composer.text().get(range.clone()).unwrap_or_default().to_owned();
        self.register = VimRegister { text, is_linewise };
        match operator {
            Some(VimOperator::Change) => {
                composer.replace_range(range, "");
                self.start_insert(composer);
            }
            Some(VimOperator::Delete) if is_linewise => {
                let is_last = range.end >= composer.text().len();
                let whole = match is_last {
                    true => range.start.saturating_sub(1)..range.end,
                    false => range.start..range.end + 1,
                };
                composer.replace_range(whole.clone(), "");
                let at = if is_last {
                    line_range_at(composer.text(), whole.start).start
                } else {
                    whole.start
                };
                composer.set_cursor(at);
            }
            Some(VimOperator::Delete) => {
                composer.replace_range(range.clone(), "");
                composer.set_cursor(self.clamp_to_letter(composer.text(), range.start));
            }
            Some(VimOperator::Yank) | None if is_linewise => {}
            Some(VimOperator::Yank) | None => composer.set_cursor(range.start),
        }
    }

    /// `r`: replaces letters under the cursor by one letter.
    pub(super) fn replace_letter(&mut self, letter: char, composer: &mut Composer) {
        let count = self.pending.count.unwrap_or(1);
        let at = composer.cursor_offset();
        self.pending = VimPendingKeys::default();
        let here = line_range_at(composer.text(), at);
        let end = (0..count).fold(at, |end, _| next_boundary(composer.text(), end));
        if end <= here.end && end > at {
            composer.replace_range(at..end, &letter.to_string().repeat(count));
            composer.set_cursor(previous_boundary(composer.text(), composer.cursor_offset()));
        }
    }

    fn enter_insert_mode(&mut self, letter: char, composer: &mut Composer) {
        let text = composer.text();
        let at = composer.cursor_offset();
        let here = line_range_at(text, at);
        let to = match letter {
            'a' => next_boundary(text, at).min(here.end),
            'A' | 'o' => here.end,
            'I' => VimMotion::FirstNonBlank.find_target(text, at, None).unwrap_or(here.start),
            'O' => here.start,
            _ => at,
        };
        composer.set_cursor(to);
        match letter {
            'o' => composer.insert("\n"),
            'O' => {
                composer.insert("\n");
                composer.set_cursor(to);
            }
            _ => {}
        }
        self.start_insert(composer);
    }

    fn put_register(&self, is_behind: bool, count: usize, composer: &mut Composer) {
        let VimRegister { text, is_linewise } = &self.register;
        if text.is_empty() && !is_linewise {
            return;
        }
        let many = count.min(PUT_BYTES_MAX / text.len().max(1) + 1);
        let here = line_range_at(composer.text(), composer.cursor_offset());
        match (is_linewise, is_behind) {
            (true, true) => {
                composer.replace_range(here.end..here.end, &format!("\n{text}").repeat(many));
                composer.set_cursor(here.end + 1);
            }
            (true, false) => {
                composer.replace_range(here.start..here.start, &format!("{text}\n").repeat(many));
                composer.set_cursor(here.start);
            }
            (false, is_behind) => {
                let at = composer.cursor_offset();
                let at =
                    if is_behind { next_boundary(composer.text(), at).min(here.end) } else { at };
                composer.replace_range(at..at, &text.repeat(many));
                composer.set_cursor(previous_boundary(composer.text(), composer.cursor_offset()));
            }
        }
    }
}

fn swap_case(composer: &mut Composer, range: Range<usize>) {
    let swapped: String = composer
        .text()
        .get(range.clone())
        .unwrap_or_default()
        .chars()
        .flat_map(|one| match one.is_lowercase() {
            true => one.to_uppercase().collect::<Vec<char>>(),
            false => one.to_lowercase().collect(),
        })
        .collect();
    composer.replace_range(range, &swapped);
}

/// Joins the line under the cursor with the next one, with one blank between them.
fn join_lines(composer: &mut Composer) {
    let end = line_range_at(composer.text(), composer.cursor_offset()).end;
    let Some(rest) = composer.text().get(end..).filter(|rest| !rest.is_empty()) else { return };
    let words = rest.trim_start_matches(['\n', ' ', '\t']);
    let next = end + rest.len() - words.len();
    let blank = if words.is_empty() { "" } else { " " };
    composer.replace_range(end..next, blank);
    composer.set_cursor(end);
}

const UNDO_MAX: usize = 100;
/// The most bytes that one put may insert, with any count.
const PUT_BYTES_MAX: usize = 64 * 1024;
