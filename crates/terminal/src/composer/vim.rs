//! Keys as in vim, for those who want them: letters move and take away until one of them begins to
//! insert. A small part of it: what fingers do without asking.

use super::{Composer, Move};
use crate::input::Key;

/// Where we are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Vim {
    /// Do letters move?
    pub is_normal: bool,
    /// A key that waits for the next: `d`, `c`, `g`.
    waits: Option<char>,
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
            return match key {
                Key::Escape if !composer.is_empty() => {
                    self.is_normal = true;
                    composer.go(Move::Left);
                    Meant::Done
                }
                key => Meant::Key(key),
            };
        }
        let Key::Letter(letter) = key else {
            self.waits = None;
            return match key {
                Key::Enter => {
                    self.is_normal = false;
                    Meant::Key(Key::Enter)
                }
                key => Meant::Key(key),
            };
        };
        match self.waits.take() {
            Some(first) => self.second(first, letter, composer),
            None => self.first(letter, composer),
        }
        Meant::Done
    }

    fn first(&mut self, letter: char, composer: &mut Composer) {
        match letter {
            'i' => self.is_normal = false,
            'a' => self.insert_after(Move::Right, composer),
            'A' => self.insert_after(Move::End, composer),
            'I' => self.insert_after(Move::Home, composer),
            'o' => {
                self.insert_after(Move::End, composer);
                composer.insert("\n");
            }
            'x' => composer.delete(),
            'D' => composer.delete_to_end(),
            'C' => {
                composer.delete_to_end();
                self.is_normal = false;
            }
            'd' | 'c' | 'g' => self.waits = Some(letter),
            'G' => {
                for _ in composer.text().to_owned().lines() {
                    composer.go(Move::Down);
                }
            }
            letter => {
                if let Some(to) = moved(letter) {
                    composer.go(to);
                }
            }
        }
    }

    fn second(&mut self, first: char, letter: char, composer: &mut Composer) {
        match (first, letter) {
            ('g', 'g') => composer.to_start(),
            ('d' | 'c', 'd' | 'c') if first == letter => {
                composer.go(Move::Home);
                composer.delete_to_end();
            }
            ('d' | 'c', 'b') => composer.delete_word(),
            ('d' | 'c', 'w' | 'e') => composer.delete_next_word(),
            ('d' | 'c', '$') => composer.delete_to_end(),
            ('d' | 'c', '0' | '^') => composer.delete_to_home(),
            _ => return,
        }
        self.is_normal = first != 'c';
    }

    fn insert_after(&mut self, to: Move, composer: &mut Composer) {
        composer.go(to);
        self.is_normal = false;
    }
}

fn moved(letter: char) -> Option<Move> {
    Some(match letter {
        'h' => Move::Left,
        'l' | ' ' => Move::Right,
        'j' => Move::Down,
        'k' => Move::Up,
        'w' | 'e' => Move::WordRight,
        'b' => Move::WordLeft,
        '0' | '^' => Move::Home,
        '$' => Move::End,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingers_find_what_they_know() {
        let cases = [
            ("one two three", "\u{1b}bdw", "one two "),
            ("one two", "\u{1b}0cwsix", "six two"),
            ("one", "\u{1b}ddinew", "new"),
            ("one\ntwo", "\u{1b}ggx", "ne\ntwo"),
            ("one two", "\u{1b}0wD", "one"),
            ("ab", "\u{1b}hA!", "ab!"),
            ("ab", "\u{1b}ox", "ab\nx"),
        ];
        for (typed, keys, text) in cases {
            let (mut vim, mut composer) = (Vim::default(), Composer::default());
            composer.insert(typed);
            for key in keys.chars() {
                let key = if key == '\u{1b}' { Key::Escape } else { Key::Letter(key) };
                if let Meant::Key(Key::Letter(letter)) = vim.key(key, &mut composer) {
                    composer.insert(letter.encode_utf8(&mut [0; 4]));
                }
            }
            assert_eq!(
                composer.text().trim_end_matches(' '),
                text.trim_end_matches(' '),
                "{keys:?}"
            );
        }
    }
}
