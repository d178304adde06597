//! A wide guess at a line the grammar could not make sense of: every command it could run, and some
//! it would not.
//!
//! Cuts at operators, follows substitutions and documents, and errs on the side of finding a
//! command. Only denials and questions rest on it; nothing is ever allowed because of what is found
//! here.

use super::quote::Letters;
use super::script::{Does, Part, Places, Redirect, Script};
use super::walk::{NESTED_MAX, Scene};
use super::word::{Unit, Word, words};
use super::wrapper;

/// Adds what may be commands in this text. What is found is never taken for the whole.
pub(crate) fn scan(text: &str, scene: Scene<'_>, nested: u8, script: &mut Script) {
    if nested > NESTED_MAX {
        script.has_hidden = true;
        return;
    }
    let mut guess = Guess {
        letters: Letters::new(text),
        scene,
        nested,
        script,
        part: Part { is_inner: true, ..Part::default() },
        word: None,
        redirect: None,
    };
    guess.run();
}

struct Guess<'a, 's> {
    letters: Letters<'a>,
    scene: Scene<'a>,
    nested: u8,
    script: &'s mut Script,
    part: Part,
    word: Option<Word>,
    redirect: Option<Does>,
}

impl Guess<'_, '_> {
    fn run(&mut self) {
        while let Some(c) = self.letters.next() {
            match c {
                ' ' | '\t' | '\r' => self.end_word(),
                '\n' | ';' | '|' | '(' | ')' | '&' => self.end_part(),
                '<' | '>' => {
                    self.end_word();
                    if self.letters.skip("(") {
                        self.end_part();
                        continue;
                    }
                    self.redirect = Some(if c == '>' { Does::Write } else { Does::Read });
                    while self.letters.skip(">") || self.letters.skip("&") || self.letters.skip("|")
                    {
                    }
                }
                '\'' => {
                    let inner = self.letters.until('\'').to_owned();
                    self.push(&inner);
                }
                '"' => self.double_quoted(),
                '\\' => match self.letters.next() {
                    None | Some('\n') => {}
                    Some(c) => self.push(c.encode_utf8(&mut [0; 4])),
                },
                '`' => {
                    let inner = self.letters.back_quoted();
                    self.inner(&inner);
                }
                '$' => self.dollar(),
                '*' | '?' | '[' | '~' => {
                    self.push(c.encode_utf8(&mut [0; 4]));
                    self.uncertain();
                }
                c => self.push(c.encode_utf8(&mut [0; 4])),
            }
        }
        self.end_part();
    }

    fn push(&mut self, text: &str) {
        let word = self.word.get_or_insert_with(|| Word::literal(""));
        word.text.push_str(text);
        if let Some(known) = &mut word.known {
            known.push_str(text);
        }
    }

    fn uncertain(&mut self) {
        self.word.get_or_insert_with(|| Word::literal("")).known = None;
    }

    fn inner(&mut self, text: &str) {
        scan(text, self.scene, self.nested + 1, self.script);
        self.push("…");
        self.uncertain();
    }

    fn double_quoted(&mut self) {
        self.push("");
        while let Some(c) = self.letters.next() {
            match c {
                '"' => return,
                '`' => {
                    let inner = self.letters.back_quoted();
                    self.inner(&inner);
                }
                '$' => self.dollar(),
                '\\' => {
                    if let Some(c) = self.letters.next() {
                        self.push(c.encode_utf8(&mut [0; 4]));
                    }
                }
                c => self.push(c.encode_utf8(&mut [0; 4])),
            }
        }
    }

    fn dollar(&mut self) {
        if self.letters.skip("'") {
            let (inner, understood) = self.letters.ansi_quoted();
            self.push(&inner);
            if understood.is_none() {
                self.uncertain();
            }
        } else if self.letters.skip("(") {
            let inner = self.letters.until_closing('(', ')').to_owned();
            self.inner(&inner);
        } else if self.letters.skip("{") {
            let inner = self.letters.until_closing('{', '}').to_owned();
            self.inner(&inner);
        } else {
            self.push("$");
            self.uncertain();
        }
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        match self.redirect.take() {
            None if word.text.contains('{') => {
                let letter = |letter| Unit::Letter { letter, is_quoted: false };
                let units: Vec<Unit> = word.text.chars().map(letter).collect();
                self.part.words.extend(words(&units).unwrap_or_else(|| vec![word]));
            }
            None => self.part.words.push(word),
            Some(does) => self.part.redirects.push(Redirect { does, target: word }),
        }
    }

    fn end_part(&mut self) {
        self.end_word();
        let fresh = Part { is_inner: true, places: Places::Unknown, ..Part::default() };
        let mut part = std::mem::replace(&mut self.part, fresh);
        if part.words.is_empty() && part.redirects.is_empty() {
            return;
        }
        let texts: Vec<&str> = part.words.iter().map(|word| word.text.as_str()).collect();
        part.text = texts.join(" ");
        self.script.has_hidden |= part.words.first().is_some_and(Word::is_expanded);
        // Words of the grammar may stand in front of a command, so it may begin anywhere.
        wrapper::add(part, self.scene, self.nested, self.script);
    }
}
