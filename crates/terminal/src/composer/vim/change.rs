//! What changes the text: operators, single keys, and what is needed to undo and to repeat them.

use std::ops::Range;

use super::motion::{Motion, before, behind, line};
use super::{Composer, Pending, Vim};

/// What was changed, to be undone or done again.
#[derive(Clone, Debug, Default)]
pub(super) struct Changes {
    /// Keys of the change under way.
    keys: String,
    /// The text and the place before it.
    was: Option<(String, usize)>,
    /// Where typing began.
    from: usize,
    /// The keys of the last change and what was typed in it.
    last: Option<(String, String)>,
    undo: Vec<(String, usize)>,
    redo: Vec<(String, usize)>,
}

impl Changes {
    /// A key of a change that may come.
    pub(super) fn key(&mut self, key: char, composer: &Composer) {
        self.keys.push(key);
        self.was.get_or_insert_with(|| (composer.text().to_owned(), composer.place()));
    }

    /// The keys are at an end; was something changed?
    pub(super) fn done(&mut self, typed: &str, composer: &Composer) {
        let keys = std::mem::take(&mut self.keys);
        let was = self.was.take().unwrap_or_default();
        if was.0 == composer.text() {
            return;
        }
        if !keys.is_empty() {
            self.last = Some((keys, typed.to_owned()));
        }
        self.redo.clear();
        self.undo.push(was);
        let over = self.undo.len().saturating_sub(UNDO_MAX);
        self.undo.drain(..over);
    }

    /// From here on letters are typed.
    pub(super) fn inserts(&mut self, composer: &Composer) {
        self.from = composer.place();
    }

    /// They were typed.
    pub(super) fn inserted(&mut self, composer: &Composer) {
        let typed = composer.text().get(self.from..composer.place()).unwrap_or_default().to_owned();
        self.done(&typed, composer);
    }

    pub(super) fn last(&self) -> Option<(String, String)> {
        self.last.clone()
    }

    pub(super) fn undo(&mut self, composer: &mut Composer) {
        if let Some((text, at)) = self.undo.pop() {
            self.redo.push((composer.text().to_owned(), composer.place()));
            composer.restore(text, at);
        }
    }

    pub(super) fn redo(&mut self, composer: &mut Composer) {
        if let Some((text, at)) = self.redo.pop() {
            self.undo.push((composer.text().to_owned(), composer.place()));
            composer.restore(text, at);
        }
    }

    /// What was sent is not undone.
    pub(super) fn forget(&mut self) {
        *self = Self { last: self.last.take(), ..Self::default() };
    }
}

impl Vim {
    /// A key that is no motion.
    pub(super) fn act(&mut self, letter: char, composer: &mut Composer) {
        let (count, at) = (self.pending.count, composer.place());
        let here = line(composer.text(), at);
        match letter {
            'd' | 'c' | 'y' => return self.operator(letter, composer),
            'x' | 's' | '~' | 'J' if self.selected.is_some() => {
                return self.on_selection(letter, composer);
            }
            'v' | 'V' => {
                let is_lines = letter == 'V';
                self.selected = match self.selected {
                    Some((_, before)) if before == is_lines => None,
                    Some((from, _)) => Some((from, is_lines)),
                    None => Some((at, is_lines)),
                };
            }
            'x' | 's' | 'X' | 'D' | 'C' => {
                let (operator, motion) = match letter {
                    'x' => ('d', Motion::Right),
                    's' => ('c', Motion::Right),
                    'X' => ('d', Motion::Left),
                    'D' => ('d', Motion::LineEnd),
                    _ => ('c', Motion::LineEnd),
                };
                self.pending.operator = Some(operator);
                return self.moved(motion, composer);
            }
            'S' | 'Y' => {
                let operator = if letter == 'S' { 'c' } else { 'y' };
                self.pending.operator = Some(operator);
                return self.operator(operator, composer);
            }
            'i' | 'a' | 'I' | 'A' | 'o' | 'O' => return self.begins(letter, composer),
            '~' => {
                let end = (0..count.unwrap_or(1))
                    .fold(at, |end, _| behind(composer.text(), end).min(here.end));
                swap_case(composer, at..end);
                composer.put_at(self.on_letter(composer.text(), end));
            }
            'J' => {
                for _ in 0..count.unwrap_or(2).max(2) - 1 {
                    join(composer);
                }
            }
            'p' | 'P' => self.put(letter == 'p', count.unwrap_or(1), composer),
            _ => {}
        }
        self.pending = Pending::default();
    }

    fn operator(&mut self, letter: char, composer: &mut Composer) {
        if self.selected.is_some() {
            return self.on_selection(letter, composer);
        }
        match self.pending.operator {
            None => {
                self.pending.operator = Some(letter);
                self.pending.before = self.pending.count.take();
            }
            Some(same) if same == letter => {
                let count = self.pending.before.or(self.pending.count).unwrap_or(1);
                let (text, at) = (composer.text(), composer.place());
                let down = Motion::Down.target(text, at, Some(count.saturating_sub(1)));
                let last = if count > 1 { down.unwrap_or(at) } else { at };
                let lines = line(text, at).start..line(text, last).end;
                self.operate(lines, true, composer);
            }
            Some(_) => self.pending = Pending::default(),
        }
    }

    /// Does with a selection what a key says.
    fn on_selection(&mut self, letter: char, composer: &mut Composer) {
        let is_lines = self.selected.is_some_and(|(_, is_lines)| is_lines);
        let Some(range) = self.selection(composer) else { return };
        self.selected = None;
        match letter {
            '~' => {
                swap_case(composer, range.clone());
                composer.put_at(range.start);
                self.pending = Pending::default();
            }
            'J' => {
                let lines = composer.text().get(range.clone()).unwrap_or_default();
                let ends = lines.matches('\n').count().max(1);
                composer.put_at(range.start);
                (0..ends).for_each(|_| join(composer));
                self.pending = Pending::default();
            }
            letter => {
                let operator = match letter {
                    'x' => 'd',
                    's' => 'c',
                    letter => letter,
                };
                self.pending.operator = Some(operator);
                self.operate(range, is_lines, composer);
            }
        }
    }

    /// What is selected.
    #[must_use]
    pub fn selection(&self, composer: &Composer) -> Option<Range<usize>> {
        let (from, is_lines) = self.selected?;
        let (text, at) = (composer.text(), composer.place());
        let (first, last) = (from.min(at), from.max(at).min(text.len()));
        Some(match is_lines {
            true => line(text, first).start..line(text, last).end,
            false => first..behind(text, last),
        })
    }

    /// Does with a part of the text what the operator says.
    pub(super) fn operate(&mut self, range: Range<usize>, is_lines: bool, composer: &mut Composer) {
        let operator = self.pending.operator;
        self.pending = Pending::default();
        let taken = composer.text().get(range.clone()).unwrap_or_default().to_owned();
        self.register = (taken, is_lines);
        match operator {
            Some('c') => {
                composer.change(range, "");
                self.starts_insert(composer);
            }
            Some('d') if is_lines => {
                let is_last = range.end >= composer.text().len();
                let whole = match is_last {
                    true => range.start.saturating_sub(1)..range.end,
                    false => range.start..range.end + 1,
                };
                composer.change(whole.clone(), "");
                let at =
                    if is_last { line(composer.text(), whole.start).start } else { whole.start };
                composer.put_at(at);
            }
            Some('d') => {
                composer.change(range.clone(), "");
                composer.put_at(self.on_letter(composer.text(), range.start));
            }
            _ if is_lines => {}
            _ => composer.put_at(range.start),
        }
    }

    /// Another letter in the place of one.
    pub(super) fn replace(&mut self, letter: char, composer: &mut Composer) {
        let (count, at) = (self.pending.count.unwrap_or(1), composer.place());
        self.pending = Pending::default();
        let here = line(composer.text(), at);
        let end = (0..count).fold(at, |end, _| behind(composer.text(), end));
        if end <= here.end && end > at {
            composer.change(at..end, &letter.to_string().repeat(count));
            composer.put_at(before(composer.text(), composer.place()));
        }
    }

    fn begins(&mut self, letter: char, composer: &mut Composer) {
        let (text, at) = (composer.text(), composer.place());
        let here = line(text, at);
        let to = match letter {
            'a' => behind(text, at).min(here.end),
            'A' | 'o' => here.end,
            'I' => Motion::FirstWord.target(text, at, None).unwrap_or(here.start),
            'O' => here.start,
            _ => at,
        };
        composer.put_at(to);
        match letter {
            'o' => composer.insert("\n"),
            'O' => {
                composer.insert("\n");
                composer.put_at(to);
            }
            _ => {}
        }
        self.starts_insert(composer);
    }

    fn put(&self, is_behind: bool, count: usize, composer: &mut Composer) {
        let (kept, is_lines) = &self.register;
        if kept.is_empty() && !is_lines {
            return;
        }
        let many = count.min(BYTES_MAX / kept.len().max(1) + 1);
        let here = line(composer.text(), composer.place());
        match (is_lines, is_behind) {
            (true, true) => {
                composer.change(here.end..here.end, &format!("\n{kept}").repeat(many));
                composer.put_at(here.end + 1);
            }
            (true, false) => {
                composer.change(here.start..here.start, &format!("{kept}\n").repeat(many));
                composer.put_at(here.start);
            }
            (false, is_behind) => {
                let at = composer.place();
                let at = if is_behind { behind(composer.text(), at).min(here.end) } else { at };
                composer.change(at..at, &kept.repeat(many));
                composer.put_at(before(composer.text(), composer.place()));
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
    composer.change(range, &swapped);
}

/// Joins the line with the next, with one blank between them.
fn join(composer: &mut Composer) {
    let end = line(composer.text(), composer.place()).end;
    let Some(rest) = composer.text().get(end..).filter(|rest| !rest.is_empty()) else { return };
    let words = rest.trim_start_matches(['\n', ' ', '\t']);
    let next = end + rest.len() - words.len();
    let blank = if words.is_empty() { "" } else { " " };
    composer.change(end..next, blank);
    composer.put_at(end);
}

const UNDO_MAX: usize = 100;
/// Bytes that are put in at once, however often.
const BYTES_MAX: usize = 64 * 1024;
