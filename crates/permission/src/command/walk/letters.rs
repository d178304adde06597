//! Words of the tree, letter by letter.
//!
//! The grammar says where a word begins and ends; what its letters mean is decided here again, by
//! bash's own rules of quoting. A letter that bash would treat specially and the grammar did not is
//! a doubt.

use tree_sitter::Node;

use super::{Walk, children, named};
use crate::command::quote::Letters;
use crate::command::word::{Unit, Word, words};

/// Nodes that stand for text of their own inside of a word.
const EXPANSIONS: &[&str] =
    &["simple_expansion", "expansion", "command_substitution", "arithmetic_expansion"];

impl<'t> Walk<'t, '_> {
    /// The words that a node becomes.
    pub(super) fn words(&mut self, node: Node<'t>) -> Vec<Word> {
        let mut units = Vec::new();
        self.units(node, false, &mut units);
        if let Some(chosen) = self.chosen(node) {
            return chosen;
        }
        self.home(&mut units);
        match words(&units) {
            Some(mut words) => {
                let source = self.source(node).trim_start_matches('"');
                let is_home = source.starts_with('~')
                    || ["$HOME", "${HOME}", "$PWD", "${PWD}"].iter().any(|h| source.starts_with(h));
                words.iter_mut().for_each(|word| word.is_home = is_home);
                words
            }
            None => {
                self.doubt("more braces than are followed", node);
                vec![Word { text: self.source(node).to_owned(), is_split: true, ..Word::default() }]
            }
        }
    }

    /// The one word that a node becomes where the shell makes only one of it.
    pub(super) fn word(&mut self, node: Node<'t>) -> Word {
        let mut words = self.words(node);
        if words.len() > 1 {
            let text = self.source(node).to_owned();
            return Word { text, is_split: true, ..Word::default() };
        }
        words.pop().unwrap_or_default()
    }

    pub(super) fn units(&mut self, node: Node<'t>, is_quoted: bool, units: &mut Vec<Unit>) {
        let text = self.source(node);
        match node.kind() {
            "word" | "number" | "variable_name" if node.child_count() == 0 => {
                self.plain(node, text, units);
            }
            "raw_string" => {
                if is_quoted {
                    self.doubt("single quotes inside of double ones", node);
                }
                let inner = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\''));
                quote(inner.unwrap_or_default(), units);
            }
            "ansi_c_string" => {
                let inner = text.strip_prefix("$'").unwrap_or_default();
                let (inner, understood) = Letters::new(inner).ansi_quoted();
                if understood.is_none() || is_quoted || inner.contains('\0') {
                    self.doubt("an escape that is not known", node);
                }
                quote(&inner, units);
                if understood.is_none() {
                    units.push(Unit::Hole { is_quoted: true });
                }
            }
            "string" => self.string(node, units),
            "concatenation" => {
                let mut last_end = node.start_byte();
                for child in children(node) {
                    if child.start_byte() != last_end {
                        self.doubt("a word with a gap in it", node);
                    }
                    last_end = child.end_byte();
                    self.units(child, is_quoted, units);
                }
            }
            "process_substitution" => {
                self.substitution(node);
                quote("/dev/fd/", units);
                units.push(Unit::Hole { is_quoted: true });
            }
            "brace_expression" => units.push(Unit::Hole { is_quoted: false }),
            kind if EXPANSIONS.contains(&kind) => self.expand(node, is_quoted, units),
            "==" | "=~" => self.plain(node, text, units),
            "$" if !self.rest(node.end_byte()).starts_with(['"', '\'']) => {
                units.push(Unit::Letter { letter: '$', is_quoted: true });
            }
            _ => {
                self.doubt("a kind of word that is not known", node);
                units.push(Unit::Hole { is_quoted: false });
                for child in named(node) {
                    self.deeper(child, |walk| walk.units(child, is_quoted, &mut Vec::new()));
                }
            }
        }
    }

    /// An expansion in a word: what it runs is walked, what it becomes is a hole.
    pub(super) fn expand(&mut self, node: Node<'t>, is_quoted: bool, units: &mut Vec<Unit>) {
        if let Some(place) = self.well_known(self.source(node).trim_start()) {
            return quote(&place, units);
        }
        let hole = match node.kind() {
            "simple_expansion" => {
                if self.source(node).trim_start().contains(char::is_whitespace) {
                    self.doubt("a variable with a gap in it", node);
                }
                is_quoted
            }
            "arithmetic_expansion" => {
                self.deeper(node, |walk| walk.arithmetic(node));
                true
            }
            "command_substitution" => {
                self.substitution(node);
                // Prints a number, and people use it for that.
                if self.source(node) == "$(nproc)" {
                    return quote("1", units);
                }
                is_quoted
            }
            _ => {
                self.deeper(node, |walk| walk.expansion(node, is_quoted));
                is_quoted
            }
        };
        units.push(Unit::Hole { is_quoted: hole });
    }

    fn rest(&self, at: usize) -> &'t str {
        self.text.get(at..).unwrap_or_default()
    }

    /// Unquoted letters.
    fn plain(&mut self, node: Node<'t>, text: &str, units: &mut Vec<Unit>) {
        let mut letters = text.chars();
        while let Some(letter) = letters.next() {
            match letter {
                '\\' => match letters.next() {
                    Some('\n') => {}
                    Some(letter) => units.push(Unit::Letter { letter, is_quoted: true }),
                    None => self.doubt("a backslash with nothing behind it", node),
                },
                c if is_special(c) => self.doubt("a letter that means something to bash", node),
                letter => units.push(Unit::Letter { letter, is_quoted: false }),
            }
        }
    }

    /// Double quotes: text with expansions in it.
    fn string(&mut self, node: Node<'t>, units: &mut Vec<Unit>) {
        let (start, end) = (node.start_byte() + 1, node.end_byte().saturating_sub(1));
        self.quoted_text(node, start, end, "\"", units);
    }

    /// Text between `start` and `end` in which only expansions and backslashes mean anything.
    pub(super) fn quoted_text(
        &mut self,
        node: Node<'t>,
        start: usize,
        end: usize,
        closing: &str,
        units: &mut Vec<Unit>,
    ) {
        let mut at = start;
        for child in named(node) {
            if matches!(child.kind(), "string_content" | "heredoc_content") {
                continue;
            }
            if !EXPANSIONS.contains(&child.kind()) {
                self.doubt("a kind of text that is not known", child);
            }
            // The grammar counts blanks in front of an expansion to the expansion.
            let source = self.source(child);
            let blanks = source.len() - source.trim_start().len();
            let from = child.start_byte() + blanks;
            self.literal(node, at, from, closing, units);
            self.expand(child, true, units);
            at = child.end_byte();
        }
        self.literal(node, at, end, closing, units);
    }

    fn literal(
        &mut self,
        node: Node<'t>,
        from: usize,
        to: usize,
        closing: &str,
        units: &mut Vec<Unit>,
    ) {
        let Some(text) = self.text.get(from..to) else {
            return self.doubt("text that is not where it should be", node);
        };
        let mut letters = text.chars().peekable();
        while let Some(letter) = letters.next() {
            match letter {
                '\\' => match letters.next() {
                    Some('\n') => {}
                    Some(c) if "$`\\".contains(c) || closing.contains(c) => quote_one(c, units),
                    Some(c) => {
                        quote_one('\\', units);
                        quote_one(c, units);
                    }
                    None => self.doubt("a backslash with nothing behind it", node),
                },
                '`' => self.doubt("a substitution the grammar did not see", node),
                c if closing.contains(c) => self.doubt("a quote the grammar did not see", node),
                '$' => {
                    let next = letters.peek().copied();
                    if next.is_some_and(|c| c.is_alphanumeric() || "_@*#?$!-({[".contains(c)) {
                        self.doubt("an expansion the grammar did not see", node);
                    }
                    quote_one('$', units);
                }
                c => quote_one(c, units),
            }
        }
    }
}

fn quote(text: &str, units: &mut Vec<Unit>) {
    text.chars().for_each(|letter| quote_one(letter, units));
}

fn quote_one(letter: char, units: &mut Vec<Unit>) {
    units.push(Unit::Letter { letter, is_quoted: true });
}

/// Letters that unquoted words of the grammar must not hold, and letters that people cannot see.
fn is_special(c: char) -> bool {
    "$`\"'();&|<>".contains(c)
        || c.is_whitespace()
        || c.is_control()
        || crate::display::is_hidden(c)
}
