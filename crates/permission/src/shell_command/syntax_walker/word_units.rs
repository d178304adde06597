//! Words of the tree, character by character.
//!
//! The grammar determines where a word starts and ends; the meaning of its characters is determined
//! here again, by bash's rules of quoting. A character that is special in bash but not in the
//! grammar is a doubt.

use tree_sitter::Node;

use super::{SyntaxWalker, children, named_children};
use crate::shell_command::char_cursor::ShellCharCursor;
use crate::shell_command::shell_word::{ShellWord, WordUnit, expand_words};

/// Nodes of expansions inside of a word.
const EXPANSIONS: &[&str] =
    &["simple_expansion", "expansion", "command_substitution", "arithmetic_expansion"];

impl<'t> SyntaxWalker<'t, '_> {
    pub(super) fn parse_words(&mut self, node: Node<'t>) -> Vec<ShellWord> {
        let mut units = Vec::new();
        self.collect_units(node, false, &mut units);
        if let Some(chosen) = self.listed_values(node) {
            return chosen;
        }
        self.expand_home(&mut units);
        match expand_words(&units) {
            Some(mut words) => {
                let source = self.source(node).trim_start_matches('"');
                let is_home = source.starts_with('~')
                    || ["$HOME", "${HOME}", "$PWD", "${PWD}"].iter().any(|h| source.starts_with(h));
                words.iter_mut().for_each(|word| word.is_home = is_home);
                words
            }
            None => {
                self.add_doubt("more braces than are followed", node);
                vec![ShellWord {
                    text: self.source(node).to_owned(),
                    is_split: true,
                    ..ShellWord::default()
                }]
            }
        }
    }

    /// The word of a node, where the shell produces exactly one.
    pub(super) fn parse_word(&mut self, node: Node<'t>) -> ShellWord {
        let mut words = self.parse_words(node);
        if words.len() > 1 {
            let text = self.source(node).to_owned();
            return ShellWord { text, is_split: true, ..ShellWord::default() };
        }
        words.pop().unwrap_or_default()
    }

    pub(super) fn collect_units(
        &mut self,
        node: Node<'t>,
        is_quoted: bool,
        units: &mut Vec<WordUnit>,
    ) {
        let text = self.source(node);
        match node.kind() {
            "word" | "number" | "variable_name" if node.child_count() == 0 => {
                self.collect_plain(node, text, units);
            }
            "raw_string" => {
                if is_quoted {
                    self.add_doubt("single quotes inside of double ones", node);
                }
                let inner = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\''));
                push_quoted(inner.unwrap_or_default(), units);
            }
            "ansi_c_string" => {
                let inner = text.strip_prefix("$'").unwrap_or_default();
                let (inner, understood) = ShellCharCursor::new(inner).take_ansi_quoted();
                if understood.is_none() || is_quoted || inner.contains('\0') {
                    self.add_doubt("an escape that is not known", node);
                }
                push_quoted(&inner, units);
                if understood.is_none() {
                    units.push(WordUnit::RuntimeText { is_quoted: true });
                }
            }
            "string" => self.collect_double_quoted(node, units),
            "concatenation" => {
                let mut last_end = node.start_byte();
                for child in children(node) {
                    if child.start_byte() != last_end {
                        self.add_doubt("a word with a gap in it", node);
                    }
                    last_end = child.end_byte();
                    self.collect_units(child, is_quoted, units);
                }
            }
            "process_substitution" => {
                self.walk_substitution(node);
                push_quoted("/dev/fd/", units);
                units.push(WordUnit::RuntimeText { is_quoted: true });
            }
            "brace_expression" => units.push(WordUnit::RuntimeText { is_quoted: false }),
            kind if EXPANSIONS.contains(&kind) => self.collect_expansion(node, is_quoted, units),
            "==" | "=~" => self.collect_plain(node, text, units),
            // The grammar's token for a lone dollar may begin with a dash and letters.
            "$" if !self.text_from(node.end_byte()).starts_with(['"', '\'']) => {
                self.collect_plain(node, text.strip_suffix('$').unwrap_or(text), units);
                units.push(WordUnit::Letter { letter: '$', is_quoted: true });
            }
            _ => {
                self.add_doubt("a kind of word that is not known", node);
                units.push(WordUnit::RuntimeText { is_quoted: false });
                for child in named_children(node) {
                    self.descend(child, |walk| {
                        walk.collect_units(child, is_quoted, &mut Vec::new());
                    });
                }
            }
        }
    }

    /// An expansion in a word: its commands are walked, its value is a placeholder.
    pub(super) fn collect_expansion(
        &mut self,
        node: Node<'t>,
        is_quoted: bool,
        units: &mut Vec<WordUnit>,
    ) {
        if let Some(place) = self.known_directory(self.source(node).trim_start()) {
            return push_quoted(&place, units);
        }
        let hole = match node.kind() {
            "simple_expansion" => {
                if self.source(node).trim_start().contains(char::is_whitespace) {
                    self.add_doubt("a variable with a gap in it", node);
                }
                let name = self.source(node).trim_start().trim_start_matches('$');
                // A number is one word, unless its digits are in `IFS`.
                let is_one = name != "!" && self.variables.is_number(name);
                is_quoted || is_one && !self.variables.is_set("IFS")
            }
            "arithmetic_expansion" => {
                self.descend(node, |walk| walk.check_arithmetic(node));
                true
            }
            "command_substitution" => {
                self.walk_substitution(node);
                // Prints a number, and is commonly used.
                if self.source(node) == "$(nproc)" {
                    return push_quoted("1", units);
                }
                is_quoted
            }
            _ => {
                self.descend(node, |walk| walk.walk_expansion(node, is_quoted));
                is_quoted
            }
        };
        units.push(WordUnit::RuntimeText { is_quoted: hole });
    }

    fn text_from(&self, at: usize) -> &'t str {
        self.text.get(at..).unwrap_or_default()
    }

    /// Unquoted characters.
    fn collect_plain(&mut self, node: Node<'t>, text: &str, units: &mut Vec<WordUnit>) {
        let mut letters = text.chars();
        while let Some(letter) = letters.next() {
            match letter {
                '\\' => match letters.next() {
                    Some('\n') => {}
                    Some(letter) => units.push(WordUnit::Letter { letter, is_quoted: true }),
                    None => self.add_doubt("a backslash with nothing behind it", node),
                },
                c if is_special(c) => self.add_doubt("a letter that means something to bash", node),
                letter => units.push(WordUnit::Letter { letter, is_quoted: false }),
            }
        }
    }

    /// Double quotes: text with expansions.
    fn collect_double_quoted(&mut self, node: Node<'t>, units: &mut Vec<WordUnit>) {
        let start = node.start_byte() + 1;
        let end = node.end_byte().saturating_sub(1);
        self.collect_quoted_text(node, start, end, "\"", units);
    }

    /// Text between `start` and `end` in which only expansions and backslashes are special.
    pub(super) fn collect_quoted_text(
        &mut self,
        node: Node<'t>,
        start: usize,
        end: usize,
        closing: &str,
        units: &mut Vec<WordUnit>,
    ) {
        let mut at = start;
        for child in named_children(node) {
            if matches!(child.kind(), "string_content" | "heredoc_content") {
                continue;
            }
            if !EXPANSIONS.contains(&child.kind()) {
                self.add_doubt("a kind of text that is not known", child);
            }
            // The grammar includes blanks before an expansion in the expansion.
            let source = self.source(child);
            let blanks = source.len() - source.trim_start().len();
            let from = child.start_byte() + blanks;
            self.collect_literal(node, at, from, closing, units);
            self.collect_expansion(child, true, units);
            at = child.end_byte();
        }
        self.collect_literal(node, at, end, closing, units);
    }

    fn collect_literal(
        &mut self,
        node: Node<'t>,
        from: usize,
        to: usize,
        closing: &str,
        units: &mut Vec<WordUnit>,
    ) {
        let Some(text) = self.text.get(from..to) else {
            return self.add_doubt("text that is not where it should be", node);
        };
        let mut letters = text.chars().peekable();
        while let Some(letter) = letters.next() {
            match letter {
                '\\' => match letters.next() {
                    Some('\n') => {}
                    Some(c) if "$`\\".contains(c) || closing.contains(c) => {
                        push_quoted_char(c, units);
                    }
                    Some(c) => {
                        push_quoted_char('\\', units);
                        push_quoted_char(c, units);
                    }
                    None => self.add_doubt("a backslash with nothing behind it", node),
                },
                '`' => self.add_doubt("a substitution the grammar did not see", node),
                c if closing.contains(c) => self.add_doubt("a quote the grammar did not see", node),
                '$' => {
                    let next = letters.peek().copied();
                    if next.is_some_and(|c| c.is_alphanumeric() || "_@*#?$!-({[".contains(c)) {
                        self.add_doubt("an expansion the grammar did not see", node);
                    }
                    push_quoted_char('$', units);
                }
                c => push_quoted_char(c, units),
            }
        }
    }
}

fn push_quoted(text: &str, units: &mut Vec<WordUnit>) {
    text.chars().for_each(|letter| push_quoted_char(letter, units));
}

fn push_quoted_char(letter: char, units: &mut Vec<WordUnit>) {
    units.push(WordUnit::Letter { letter, is_quoted: true });
}

/// Characters that unquoted words of the grammar must not contain, and invisible ones.
fn is_special(c: char) -> bool {
    "$`\"'();&|<>".contains(c)
        || c.is_whitespace()
        || c.is_control()
        || crate::sanitize::is_invisible_char(c)
}
