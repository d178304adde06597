//! Keys as in vim, for those who want them: a state machine over what is typed. Motions, operators,
//! counts, text objects, a register, undo, repeat and a selection; no commands after a colon, no
//! macros, no marks: a prompt is not a file.

mod change;
mod motion;

use super::Composer;
use crate::input::Key;
use change::Changes;
use motion::{Find, Motion, before, behind, line, object};

/// Where we are.
#[derive(Clone, Debug, Default)]
pub struct Vim {
    /// Do letters move?
    pub is_normal: bool,
    /// Where a selection began, and whether it takes whole lines.
    selected: Option<(usize, bool)>,
    pending: Pending,
    /// What was taken away or copied last, and whether it was whole lines.
    register: (String, bool),
    found: Option<Find>,
    changes: Changes,
}

/// Keys that wait for the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Pending {
    count: Option<usize>,
    operator: Option<char>,
    /// The count that stood before the operator.
    before: Option<usize>,
    /// A letter that needs another: `g`, `f`, `i`, `r` and so on.
    first: Option<char>,
}

/// What a key comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meant {
    /// It is done.
    Done,
    /// It means what this key means.
    Key(Key),
}

impl Vim {
    /// A key was pressed.
    pub fn key(&mut self, key: Key, composer: &mut Composer) -> Meant {
        if !self.is_normal {
            return self.inserted(key, composer);
        }
        match key {
            Key::Letter(letter) => {
                self.letter(letter, composer);
                Meant::Done
            }
            Key::Escape if self.is_busy() => {
                (self.pending, self.selected) = (Pending::default(), None);
                Meant::Done
            }
            Key::Search => {
                self.changes.redo(composer);
                Meant::Done
            }
            Key::Backspace => {
                self.letter('h', composer);
                Meant::Done
            }
            key => {
                let sends = key == Key::Enter;
                (self.pending, self.selected) = (Pending::default(), None);
                if sends {
                    self.is_normal = false;
                    self.changes.forget();
                }
                Meant::Key(key)
            }
        }
    }

    fn is_busy(&self) -> bool {
        self.pending != Pending::default() || self.selected.is_some()
    }

    /// Letters are letters; what is typed is remembered to be typed again.
    fn inserted(&mut self, key: Key, composer: &mut Composer) -> Meant {
        match &key {
            Key::Escape if !composer.is_empty() => {
                self.escape(composer);
                return Meant::Done;
            }
            Key::Enter => self.changes.forget(),
            _ => {}
        }
        Meant::Key(key)
    }

    fn letter(&mut self, letter: char, composer: &mut Composer) {
        match letter {
            '.' if !self.is_busy() => return self.repeat(composer),
            'u' if !self.is_busy() => return self.changes.undo(composer),
            _ => {}
        }
        self.changes.key(letter, composer);
        self.step(letter, composer);
        if self.is_normal && !self.is_busy() {
            self.changes.done("", composer);
        }
    }

    /// The last change again, here.
    fn repeat(&mut self, composer: &mut Composer) {
        let Some((keys, typed)) = self.changes.last() else { return };
        for key in keys.chars() {
            self.changes.key(key, composer);
            self.step(key, composer);
        }
        if !self.is_normal {
            composer.insert(&typed);
            self.escape(composer);
        } else {
            self.changes.done("", composer);
        }
    }

    /// Letters move again.
    fn escape(&mut self, composer: &mut Composer) {
        self.is_normal = true;
        self.changes.inserted(composer);
        let at = composer.place();
        composer.put_at(before(composer.text(), at).max(line(composer.text(), at).start));
    }

    fn step(&mut self, letter: char, composer: &mut Composer) {
        if let Some(first) = self.pending.first.take() {
            return self.second(first, letter, composer);
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
            'g' | 'f' | 'F' | 't' | 'T' | 'r' => self.pending.first = Some(letter),
            'i' | 'a' if self.pending.operator.is_some() || self.selected.is_some() => {
                self.pending.first = Some(letter);
            }
            ';' | ',' => {
                let find = self.found.map(|find| match letter {
                    ';' => find,
                    _ => find.reversed(),
                });
                match find {
                    Some(find) => self.moved(Motion::Find(find), composer),
                    None => self.pending = Pending::default(),
                }
            }
            letter => match motion(letter) {
                Some(motion) => self.moved(motion, composer),
                None => self.act(letter, composer),
            },
        }
    }

    fn second(&mut self, first: char, letter: char, composer: &mut Composer) {
        match first {
            'g' => match letter {
                'g' => self.moved(Motion::Top, composer),
                _ => self.pending = Pending::default(),
            },
            'f' | 'F' | 't' | 'T' => {
                let (is_back, is_till) = (matches!(first, 'F' | 'T'), matches!(first, 't' | 'T'));
                let find = Find { letter, is_back, is_till };
                self.found = Some(find);
                self.moved(Motion::Find(find), composer);
            }
            'r' => self.replace(letter, composer),
            _ => {
                let at = composer.place();
                let range = object(composer.text(), at, first == 'a', letter);
                match (range, self.selected) {
                    (Some(range), Some(_)) => {
                        self.selected = Some((range.start, false));
                        composer.put_at(before(composer.text(), range.end).max(range.start));
                        self.pending = Pending::default();
                    }
                    (Some(range), None) => self.operate(range, false, composer),
                    (None, _) => self.pending = Pending::default(),
                }
            }
        }
    }

    /// Goes somewhere, or does something with everything up to there.
    fn moved(&mut self, motion: Motion, composer: &mut Composer) {
        let pending = self.pending;
        let count = match (pending.before, pending.count) {
            (Some(one), Some(other)) => Some(one * other),
            (one, other) => one.or(other),
        };
        let (text, at) = (composer.text(), composer.place());
        let motion = match (pending.operator, motion) {
            // What vim does too: a word that is changed keeps the blank behind it.
            (Some('c'), Motion::Word { is_big }) if !is_blank(text, at) => Motion::End { is_big },
            (_, motion) => motion,
        };
        let Some(to) = motion.target(text, at, count) else {
            self.pending = Pending::default();
            return;
        };
        if pending.operator.is_none() {
            self.pending = Pending::default();
            // Above the first line is what was said before.
            match motion {
                Motion::Up if to == at && self.selected.is_none() => {
                    composer.go(super::Move::Up);
                }
                Motion::Down if to == at && self.selected.is_none() => {
                    composer.go(super::Move::Down);
                }
                _ => composer.put_at(self.on_letter(composer.text(), to)),
            }
            return;
        }
        if motion.is_linewise() {
            let lines = line(text, at.min(to)).start..line(text, at.max(to)).end;
            return self.operate(lines, true, composer);
        }
        // The end of a word is nothing when there is no further word.
        let mut end = at.max(to);
        if motion.is_inclusive() && to >= at {
            end = behind(text, end);
        }
        // A word that is taken at the end of a line leaves the line's end.
        let here = line(text, at);
        if matches!(motion, Motion::Word { .. }) && end > here.end && at <= here.end {
            end = here.end;
        }
        self.operate(at.min(to)..end, false, composer);
    }

    /// On a letter of its line, unless there is none; a selection may stand behind it.
    fn on_letter(&self, text: &str, at: usize) -> usize {
        let here = line(text, at.min(text.len()));
        match at >= here.end && here.end > here.start {
            true => before(text, here.end),
            false => at,
        }
    }

    fn starts_insert(&mut self, composer: &Composer) {
        self.is_normal = false;
        self.selected = None;
        self.pending = Pending::default();
        self.changes.inserts(composer);
    }
}

fn is_blank(text: &str, at: usize) -> bool {
    text.get(at..).and_then(|rest| rest.chars().next()).is_none_or(char::is_whitespace)
}

fn motion(letter: char) -> Option<Motion> {
    Some(match letter {
        'h' => Motion::Left,
        'l' | ' ' => Motion::Right,
        'j' => Motion::Down,
        'k' => Motion::Up,
        'w' | 'W' => Motion::Word { is_big: letter == 'W' },
        'b' | 'B' => Motion::Back { is_big: letter == 'B' },
        'e' | 'E' => Motion::End { is_big: letter == 'E' },
        '0' => Motion::Home,
        '^' | '_' => Motion::FirstWord,
        '$' => Motion::LineEnd,
        'G' => Motion::Bottom,
        '%' => Motion::Pair,
        _ => return None,
    })
}

const COUNT_MAX: usize = 10_000;

#[cfg(test)]
mod tests;
