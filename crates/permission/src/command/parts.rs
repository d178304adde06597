//! The wide view of a shell line: every command it could run, and some it would not.
//!
//! Cuts at operators, follows substitutions, here-documents for shells, and wrappers. Errs on the
//! side of finding a command, because only denials and questions rest on it. What cannot be known
//! before the line runs is reported as hidden.

use super::quote::Letters;
use super::wrapper;

/// Nested deeper than this, a line counts as hidden.
const DEPTH_MAX: u8 = 16;

/// Everything found in a line.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    pub(crate) commands: Vec<Part>,
    /// A command whose name or text only exists at run time.
    pub(crate) has_hidden: bool,
}

/// One simple command.
#[derive(Debug, Default)]
pub(crate) struct Part {
    pub(crate) words: Vec<Word>,
    /// Where output is redirected to.
    pub(crate) writes: Vec<Word>,
    /// Where input is redirected from.
    pub(crate) reads: Vec<Word>,
    /// It runs another command found somewhere among its words.
    pub(crate) is_wrapper: bool,
}

/// One word, without its quotes; expansions are left as they are written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Word {
    pub(crate) text: String,
    /// The shell would change it.
    pub(crate) is_expanded: bool,
}

/// Cuts a line.
pub(crate) fn parts(command: &str) -> Parts {
    let mut found = Parts::default();
    scan(command, 0, &mut found);
    found
}

pub(super) fn scan(text: &str, depth: u8, found: &mut Parts) {
    if depth > DEPTH_MAX {
        found.has_hidden = true;
        return;
    }
    let mut scanner = Scanner {
        letters: Letters::new(text),
        found,
        depth,
        part: Part::default(),
        word: None,
        redirect: None,
        documents: Vec::new(),
    };
    scanner.run();
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Redirect {
    Write,
    Read,
    /// Text, not a file.
    Text,
    Document,
}

struct Scanner<'a, 'f> {
    letters: Letters<'a>,
    found: &'f mut Parts,
    depth: u8,
    part: Part,
    word: Option<Word>,
    redirect: Option<Redirect>,
    /// Ends of here-documents whose bodies come after this line.
    documents: Vec<String>,
}

impl Scanner<'_, '_> {
    fn run(&mut self) {
        while let Some(c) = self.letters.next() {
            match c {
                ' ' | '\t' | '\r' => self.end_word(),
                '\n' => {
                    self.end_part();
                    self.skip_documents();
                }
                ';' | '|' | '(' | ')' => self.end_part(),
                '&' if self.letters.skip(">") => self.begin_redirect(Redirect::Write),
                '&' => self.end_part(),
                '<' | '>' => self.redirect(c),
                '#' if self.word.is_none() => {
                    // The end of the line belongs to the part, not to the comment.
                    let comment = self.letters.rest().split('\n').next().unwrap_or_default();
                    self.letters.skip(comment);
                }
                _ => self.letter(c),
            }
        }
        self.end_part();
    }

    fn letter(&mut self, c: char) {
        match c {
            '\'' => {
                let inner = self.letters.until('\'').to_owned();
                self.word().text.push_str(&inner);
            }
            '"' => self.double_quoted(),
            '\\' => match self.letters.next() {
                None | Some('\n') => {}
                Some(c) => self.word().text.push(c),
            },
            '`' => self.back_quoted(),
            '$' => self.dollar(),
            '*' | '?' | '[' | '{' | '}' | ',' | '!' => {
                // A lone brace or comma changes nothing, but then nothing is lost either.
                let word = self.word();
                word.text.push(c);
                word.is_expanded |= matches!(c, '*' | '?' | '[' | '{');
            }
            '~' => {
                let starts = self.word.is_none();
                let word = self.word();
                word.text.push(c);
                word.is_expanded |= starts;
            }
            c => self.word().text.push(c),
        }
    }

    fn word(&mut self) -> &mut Word {
        self.word.get_or_insert_default()
    }

    fn double_quoted(&mut self) {
        self.word();
        while let Some(c) = self.letters.next() {
            match c {
                '"' => return,
                '`' => self.back_quoted(),
                '$' => self.dollar(),
                '\\' => match self.letters.next() {
                    None | Some('\n') => {}
                    Some(c @ ('"' | '\\' | '$' | '`')) => self.word().text.push(c),
                    Some(c) => self.word().text.extend(['\\', c]),
                },
                c => self.word().text.push(c),
            }
        }
    }

    fn back_quoted(&mut self) {
        let inner = self.letters.back_quoted();
        scan(&inner, self.depth + 1, self.found);
        self.expanded("`…`");
    }

    fn dollar(&mut self) {
        if self.letters.skip("'") {
            let (inner, understood) = self.letters.ansi_quoted();
            let word = self.word();
            word.text.push_str(&inner);
            word.is_expanded |= understood.is_none();
        } else if self.letters.skip("\"") {
            self.double_quoted();
        } else if self.letters.skip("(") {
            let inner = self.letters.until_closing('(', ')').to_owned();
            scan(&inner, self.depth + 1, self.found);
            self.expanded("$(…)");
        } else if self.letters.skip("{") {
            let inner = self.letters.until_closing('{', '}').to_owned();
            // A default value may hold another substitution.
            self.substitutions(&inner);
            self.expanded(&format!("${{{inner}}}"));
        } else {
            self.expanded("$");
        }
    }

    fn expanded(&mut self, shown: &str) {
        let word = self.word();
        word.text.push_str(shown);
        word.is_expanded = true;
    }

    /// The commands inside text that is otherwise data.
    fn substitutions(&mut self, text: &str) {
        let mut letters = Letters::new(text);
        while let Some(c) = letters.next() {
            match c {
                '\\' => {
                    letters.next();
                }
                '`' => scan(&letters.back_quoted(), self.depth + 1, self.found),
                '$' if letters.skip("(") => {
                    scan(letters.until_closing('(', ')'), self.depth + 1, self.found);
                }
                _ => {}
            }
        }
    }

    fn redirect(&mut self, c: char) {
        // A number right in front says which stream is meant, not what the command is given.
        let is_number = |word: &Word| word.text.bytes().all(|byte| byte.is_ascii_digit());
        if self.word.as_ref().is_some_and(is_number) {
            self.word = None;
        }
        if self.letters.skip("(") {
            let inner = self.letters.until_closing('(', ')').to_owned();
            scan(&inner, self.depth + 1, self.found);
            return self.expanded("<(…)");
        }
        let kind = match c {
            '>' => Redirect::Write,
            _ if self.letters.skip("<<") => Redirect::Text,
            _ if self.letters.skip("<-") || self.letters.skip("<") => Redirect::Document,
            _ if self.letters.skip(">") => Redirect::Write,
            _ => Redirect::Read,
        };
        if kind == Redirect::Write {
            let _ = self.letters.skip(">") || self.letters.skip("|");
        }
        let _ = self.letters.skip("&");
        self.begin_redirect(kind);
    }

    fn begin_redirect(&mut self, kind: Redirect) {
        self.end_word();
        self.letters.skip(">");
        self.redirect = Some(kind);
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        match self.redirect.take() {
            None if word.text == "{" || word.text == "}" => self.end_part(),
            None => self.part.words.push(word),
            Some(Redirect::Text) => {}
            Some(Redirect::Document) => self.documents.push(word.text),
            Some(_) if is_stream(&word.text) => {}
            Some(Redirect::Write) => self.part.writes.push(word),
            Some(Redirect::Read) => self.part.reads.push(word),
        }
    }

    fn end_part(&mut self) {
        self.end_word();
        self.redirect = None;
        let part = std::mem::take(&mut self.part);
        if !part.words.is_empty() || !part.writes.is_empty() || !part.reads.is_empty() {
            wrapper::add(part, self.depth, self.found);
        }
    }

    /// Steps over the bodies of here-documents. What a body substitutes runs; and for a shell the
    /// whole body is commands, so it is scanned as such whenever a shell was seen.
    fn skip_documents(&mut self) {
        for end in std::mem::take(&mut self.documents) {
            let mut body = String::new();
            while !self.letters.rest().is_empty() {
                let line = self.letters.until('\n');
                if line.trim_start_matches('\t') == end {
                    break;
                }
                body.push_str(line);
                body.push('\n');
            }
            self.substitutions(&body);
            if self.found.commands.iter().any(|part| wrapper::is_shell(&part.words)) {
                scan(&body, self.depth + 1, self.found);
            }
        }
    }
}

/// `2>&1`, `>&-`: another stream and not a file.
fn is_stream(target: &str) -> bool {
    target == "-" || target.trim_end_matches('-').bytes().all(|byte| byte.is_ascii_digit())
}
