//! Guesses the commands of a line that the grammar cannot parse: every one it could run, and some
//! that it would not.
//!
//! Splits at operators, follows substitutions and here-documents, and finds too many commands
//! rather than too few. Used only for denials and questions; nothing is ever allowed because of it.

use super::char_cursor::ShellCharCursor;
use super::parsed_script::{ParsedShellScript, PossibleDirectories, ShellRedirect, SimpleCommand};
use super::shell_word::{ShellWord, WordUnit, expand_words};
use super::syntax_walker::{NESTED_MAX, ScriptContext};
use super::wrapper;
use crate::file_system_view::PathAccess;

/// Adds possible commands in this text. The result never counts as complete.
pub(crate) fn scan_loosely(
    text: &str,
    context: ScriptContext<'_>,
    nested: u8,
    script: &mut ParsedShellScript,
) {
    if nested > NESTED_MAX {
        script.has_hidden = true;
        return;
    }
    let mut guess = LooseScanner {
        letters: ShellCharCursor::new(text),
        context,
        nested,
        script,
        part: SimpleCommand { is_inner: true, ..SimpleCommand::default() },
        word: None,
        redirect: None,
    };
    guess.run();
}

struct LooseScanner<'a, 's> {
    letters: ShellCharCursor<'a>,
    context: ScriptContext<'a>,
    nested: u8,
    script: &'s mut ParsedShellScript,
    part: SimpleCommand,
    word: Option<ShellWord>,
    redirect: Option<PathAccess>,
}

impl LooseScanner<'_, '_> {
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
                    self.redirect =
                        Some(if c == '>' { PathAccess::Write } else { PathAccess::Read });
                    while self.letters.skip(">") || self.letters.skip("&") || self.letters.skip("|")
                    {
                    }
                }
                '\'' => {
                    let inner = self.letters.take_until('\'').to_owned();
                    self.push(&inner);
                }
                '"' => self.read_double_quoted(),
                '\\' => match self.letters.next() {
                    None | Some('\n') => {}
                    Some(c) => self.push(c.encode_utf8(&mut [0; 4])),
                },
                '`' => {
                    let inner = self.letters.take_back_quoted();
                    self.scan_nested(&inner);
                }
                '$' => self.read_dollar(),
                '*' | '?' | '[' | '~' => {
                    self.push(c.encode_utf8(&mut [0; 4]));
                    self.mark_uncertain();
                }
                c => self.push(c.encode_utf8(&mut [0; 4])),
            }
        }
        self.end_part();
    }

    fn push(&mut self, text: &str) {
        let word = self.word.get_or_insert_with(|| ShellWord::literal(""));
        word.text.push_str(text);
        if let Some(known) = &mut word.known {
            known.push_str(text);
        }
    }

    fn mark_uncertain(&mut self) {
        self.word.get_or_insert_with(|| ShellWord::literal("")).known = None;
    }

    fn scan_nested(&mut self, text: &str) {
        scan_loosely(text, self.context, self.nested + 1, self.script);
        self.push("…");
        self.mark_uncertain();
    }

    fn read_double_quoted(&mut self) {
        self.push("");
        while let Some(c) = self.letters.next() {
            match c {
                '"' => return,
                '`' => {
                    let inner = self.letters.take_back_quoted();
                    self.scan_nested(&inner);
                }
                '$' => self.read_dollar(),
                '\\' => {
                    if let Some(c) = self.letters.next() {
                        self.push(c.encode_utf8(&mut [0; 4]));
                    }
                }
                c => self.push(c.encode_utf8(&mut [0; 4])),
            }
        }
    }

    fn read_dollar(&mut self) {
        if self.letters.skip("'") {
            let (inner, understood) = self.letters.take_ansi_quoted();
            self.push(&inner);
            if understood.is_none() {
                self.mark_uncertain();
            }
        } else if self.letters.skip("(") {
            let inner = self.letters.take_until_closing('(', ')').to_owned();
            self.scan_nested(&inner);
        } else if self.letters.skip("{") {
            let inner = self.letters.take_until_closing('{', '}').to_owned();
            self.scan_nested(&inner);
        } else {
            self.push("$");
            self.mark_uncertain();
        }
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        match self.redirect.take() {
            None if word.text.contains('{') => {
                let letter = |letter| WordUnit::Letter { letter, is_quoted: false };
                let units: Vec<WordUnit> = word.text.chars().map(letter).collect();
                self.part.words.extend(expand_words(&units).unwrap_or_else(|| vec![word]));
            }
            None => self.part.words.push(word),
            Some(does) => self.part.redirects.push(ShellRedirect { access: does, target: word }),
        }
    }

    fn end_part(&mut self) {
        self.end_word();
        let fresh = SimpleCommand {
            is_inner: true,
            working_directories: PossibleDirectories::Unknown,
            ..SimpleCommand::default()
        };
        let mut part = std::mem::replace(&mut self.part, fresh);
        if part.words.is_empty() && part.redirects.is_empty() {
            return;
        }
        let texts: Vec<&str> = part.words.iter().map(|word| word.text.as_str()).collect();
        part.text = texts.join(" ");
        self.script.has_hidden |= part.words.first().is_some_and(ShellWord::is_expanded);
        // Keywords may come before a command, so it may start at any word.
        wrapper::add_with_nested(part, self.context, self.nested, self.script);
    }
}
