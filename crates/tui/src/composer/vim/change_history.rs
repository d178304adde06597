//! What changes the text: operators, single keys, and what is needed to undo and to repeat them.

use std::ops::Range;

use super::motion::{VimMotion, line_range_at, next_boundary, previous_boundary};
use super::{Composer, Vim, VimPendingKeys};

/// What was changed, to be undone or done again.
#[derive(Clone, Debug, Default)]
pub(super) struct VimChangeHistory {
    /// Keys of the change under way.
    keys: String,
    /// The text and the place before it.
    before_change: Option<(String, usize)>,
    /// Where typing began.
    insert_start: usize,
    /// The keys of the last change and what was typed in it.
    last_change: Option<(String, String)>,
    undo: Vec<(String, usize)>,
    redo: Vec<(String, usize)>,
}

impl VimChangeHistory {
    /// A key of a change that may come.
    pub(super) fn record_key(&mut self, key: char, composer: &Composer) {
        self.keys.push(key);
        self.before_change
            .get_or_insert_with(|| (composer.text().to_owned(), composer.cursor_offset()));
    }

    /// The keys are at an end; was something changed?
    pub(super) fn finish_change(&mut self, typed: &str, composer: &Composer) {
        let keys = std::mem::take(&mut self.keys);
        let was = self.before_change.take().unwrap_or_default();
        if was.0 == composer.text() {
            return;
        }
        if !keys.is_empty() {
            self.last_change = Some((keys, typed.to_owned()));
        }
        self.redo.clear();
        self.undo.push(was);
        let over = self.undo.len().saturating_sub(UNDO_MAX);
        self.undo.drain(..over);
    }

    /// From here on letters are typed.
    pub(super) fn begin_insert(&mut self, composer: &Composer) {
        self.insert_start = composer.cursor_offset();
    }

    /// They were typed.
    pub(super) fn end_insert(&mut self, composer: &Composer) {
        let typed = composer
            .text()
            .get(self.insert_start..composer.cursor_offset())
            .unwrap_or_default()
            .to_owned();
        self.finish_change(&typed, composer);
    }

    pub(super) fn last_change(&self) -> Option<(String, String)> {
        self.last_change.clone()
    }

    pub(super) fn undo(&mut self, composer: &mut Composer) {
        if let Some((text, at)) = self.undo.pop() {
            self.redo.push((composer.text().to_owned(), composer.cursor_offset()));
            composer.restore(text, at);
        }
    }

    pub(super) fn redo(&mut self, composer: &mut Composer) {
        if let Some((text, at)) = self.redo.pop() {
            self.undo.push((composer.text().to_owned(), composer.cursor_offset()));
            composer.restore(text, at);
        }
    }

    /// What was sent is not undone.
    pub(super) fn clear(&mut self) {
        *self = Self { last_change: self.last_change.take(), ..Self::default() };
    }
}

impl Vim {
    /// A key that is no motion.
    pub(super) fn apply_command_letter(&mut self, letter: char, composer: &mut Composer) {
        let (count, at) = (self.pending.count, composer.cursor_offset());
        let here = line_range_at(composer.text(), at);
        match letter {
            'd' | 'c' | 'y' => return self.handle_operator(letter, composer),
            'x' | 's' | '~' | 'J' if self.selection_start.is_some() => {
                return self.operate_on_selection(letter, composer);
            }
            'v' | 'V' => {
                let is_lines = letter == 'V';
                self.selection_start = match self.selection_start {
                    Some((_, before)) if before == is_lines => None,
                    Some((from, _)) => Some((from, is_lines)),
                    None => Some((at, is_lines)),
                };
            }
            'x' | 's' | 'X' | 'D' | 'C' => {
                let (operator, motion) = match letter {
                    'x' => ('d', VimMotion::Right),
                    's' => ('c', VimMotion::Right),
                    'X' => ('d', VimMotion::Left),
                    'D' => ('d', VimMotion::LineEnd),
                    _ => ('c', VimMotion::LineEnd),
                };
                self.pending.operator = Some(operator);
                return self.apply_motion(motion, composer);
            }
            'S' | 'Y' => {
                let operator = if letter == 'S' { 'c' } else { 'y' };
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

    fn handle_operator(&mut self, letter: char, composer: &mut Composer) {
        if self.selection_start.is_some() {
            return self.operate_on_selection(letter, composer);
        }
        match self.pending.operator {
            None => {
                self.pending.operator = Some(letter);
                self.pending.count_before_operator = self.pending.count.take();
            }
            Some(same) if same == letter => {
                let count = self.pending.count_before_operator.or(self.pending.count).unwrap_or(1);
                let (text, at) = (composer.text(), composer.cursor_offset());
                let down = VimMotion::Down.find_target(text, at, Some(count.saturating_sub(1)));
                let last = if count > 1 { down.unwrap_or(at) } else { at };
                let lines = line_range_at(text, at).start..line_range_at(text, last).end;
                self.apply_operator(lines, true, composer);
            }
            Some(_) => self.pending = VimPendingKeys::default(),
        }
    }

    /// Does with a selection what a key says.
    fn operate_on_selection(&mut self, letter: char, composer: &mut Composer) {
        let is_lines = self.selection_start.is_some_and(|(_, is_lines)| is_lines);
        let Some(range) = self.selected_range(composer) else { return };
        self.selection_start = None;
        match letter {
            '~' => {
                swap_case(composer, range.clone());
                composer.set_cursor(range.start);
                self.pending = VimPendingKeys::default();
            }
            'J' => {
                let lines = composer.text().get(range.clone()).unwrap_or_default();
                let ends = lines.matches('\n').count().max(1);
                composer.set_cursor(range.start);
                (0..ends).for_each(|_| join_lines(composer));
                self.pending = VimPendingKeys::default();
            }
            letter => {
                let operator = match letter {
                    'x' => 'd',
                    's' => 'c',
                    letter => letter,
                };
                self.pending.operator = Some(operator);
                self.apply_operator(range, is_lines, composer);
            }
        }
    }

    /// What is selected.
    #[must_use]
    pub fn selected_range(&self, composer: &Composer) -> Option<Range<usize>> {
        let (from, is_lines) = self.selection_start?;
        let (text, at) = (composer.text(), composer.cursor_offset());
        let (first, last) = (from.min(at), from.max(at).min(text.len()));
        Some(match is_lines {
            true => line_range_at(text, first).start..line_range_at(text, last).end,
            false => first..next_boundary(text, last),
        })
    }

    /// Does with a part of the text what the operator says.
    pub(super) fn apply_operator(
        &mut self,
        range: Range<usize>,
        is_lines: bool,
        composer: &mut Composer,
    ) {
        let operator = self.pending.operator;
        self.pending = VimPendingKeys::default();
        let taken = composer.text().get(range.clone()).unwrap_or_default().to_owned();
        self.register = (taken, is_lines);
        match operator {
            Some('c') => {
                composer.replace_range(range, "");
                self.start_insert(composer);
            }
            Some('d') if is_lines => {
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
            Some('d') => {
                composer.replace_range(range.clone(), "");
                composer.set_cursor(self.clamp_to_letter(composer.text(), range.start));
            }
            _ if is_lines => {}
            _ => composer.set_cursor(range.start),
        }
    }

    /// Another letter in the place of one.
    pub(super) fn replace_letter(&mut self, letter: char, composer: &mut Composer) {
        let (count, at) = (self.pending.count.unwrap_or(1), composer.cursor_offset());
        self.pending = VimPendingKeys::default();
        let here = line_range_at(composer.text(), at);
        let end = (0..count).fold(at, |end, _| next_boundary(composer.text(), end));
        if end <= here.end && end > at {
            composer.replace_range(at..end, &letter.to_string().repeat(count));
            composer.set_cursor(previous_boundary(composer.text(), composer.cursor_offset()));
        }
    }

    fn enter_insert_mode(&mut self, letter: char, composer: &mut Composer) {
        let (text, at) = (composer.text(), composer.cursor_offset());
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
        let (kept, is_lines) = &self.register;
        if kept.is_empty() && !is_lines {
            return;
        }
        let many = count.min(PUT_BYTES_MAX / kept.len().max(1) + 1);
        let here = line_range_at(composer.text(), composer.cursor_offset());
        match (is_lines, is_behind) {
            (true, true) => {
                composer.replace_range(here.end..here.end, &format!("\n{kept}").repeat(many));
                composer.set_cursor(here.end + 1);
            }
            (true, false) => {
                composer.replace_range(here.start..here.start, &format!("{kept}\n").repeat(many));
                composer.set_cursor(here.start);
            }
            (false, is_behind) => {
                let at = composer.cursor_offset();
                let at =
                    if is_behind { next_boundary(composer.text(), at).min(here.end) } else { at };
                composer.replace_range(at..at, &kept.repeat(many));
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

/// Joins the line with the next, with one blank between them.
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
/// Bytes that are put in at once, however often.
const PUT_BYTES_MAX: usize = 64 * 1024;
