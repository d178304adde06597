//! `${…}`, `$(…)` and `<(…)`: the commands they run.
//!
//! An expansion may transform a variable's text in many ways, and some evaluate it. Only those that
//! cut, replace or default are accepted.

use tree_sitter::Node;

use super::{SyntaxWalker, children, named_children};
use crate::shell_command::parsed_script::PossibleDirectories;

/// Transformations that only show a variable in another form.
const SHOWN: &[&str] = &["@Q}", "@U}", "@u}", "@L}", "@a}", "@E}", "@K}", "@k}"];

impl<'t> SyntaxWalker<'t, '_> {
    /// `${…}`.
    pub(super) fn walk_expansion(&mut self, node: Node<'t>, is_quoted: bool) {
        let source = self.source(node).trim_start();
        if source.get(2..).is_none_or(|inner| inner.starts_with([' ', '\t', '\n', '|', '!'])) {
            self.add_doubt("an expansion that evaluates something", node);
        }
        let mut operators = String::new();
        for child in children(node) {
            match child.kind() {
                "variable_name" if is_range(&operators) => self.check_number(child),
                "variable_name" | "special_variable_name" | "comment" => {}
                "subscript" => self.check_subscript(child),
                "regex" => self.check_inert(child),
                "word" if is_range(&operators) => self.check_number(child),
                "raw_string" | "ansi_c_string" if is_quoted => {
                    self.add_doubt("quotes that have no effect inside double quotes", child);
                }
                "word" => self.check_inert(child),
                "concatenation" => {
                    for piece in named_children(child) {
                        if piece.kind() == "word" {
                            self.check_inert(piece);
                        } else {
                            self.walk_expansion_operand(piece, is_quoted);
                        }
                    }
                }
                _ if child.is_named() && is_range(&operators) => self.check_number(child),
                _ if child.is_named() => self.walk_expansion_operand(child, is_quoted),
                operator => operators.push_str(operator),
            }
        }
        let operators = operators.trim_start_matches("${");
        if operators.contains('=') || operators.contains('!') {
            self.add_doubt("an expansion that sets or evaluates a variable", node);
        }
        let is_transformed = operators.contains('@') && !operators.starts_with('#');
        if is_transformed && !SHOWN.iter().any(|shown| source.ends_with(shown)) {
            self.add_doubt("an expansion that evaluates a variable's text", node);
        }
    }

    fn walk_expansion_operand(&mut self, node: Node<'t>, is_quoted: bool) {
        let is_raw = matches!(node.kind(), "raw_string" | "ansi_c_string");
        if is_raw && is_quoted {
            return self.add_doubt("quotes that have no effect inside double quotes", node);
        }
        self.descend(node, |walk| walk.collect_units(node, is_quoted, &mut Vec::new()));
    }

    /// Text that is matched but never evaluated.
    pub(super) fn check_inert(&mut self, node: Node<'t>) {
        let text = self.source(node);
        let is_anchor = |rest: &str| rest.is_empty() || rest.starts_with([')', '|']);
        let has_expansion =
            text.match_indices('$').any(|(at, _)| !is_anchor(text.get(at + 1..).unwrap_or("x")));
        let is_odd = |c: char| "`'\"\\<>".contains(c);
        if has_expansion || text.contains(is_odd) {
            self.add_doubt("a pattern that may hold more than a pattern", node);
        }
        for child in named_children(node) {
            self.descend(child, |walk| walk.collect_units(child, false, &mut Vec::new()));
        }
    }

    /// `$(…)`, backquotes and `<(…)`: a subshell.
    pub(super) fn walk_substitution(&mut self, node: Node<'t>) {
        let source = self.source(node);
        if source.trim_start().starts_with('`') && source.contains('\\') {
            self.add_doubt("a backslash within back-quotes", node);
        }
        let directories = self.directories.clone();
        self.substitutions += 1;
        self.descend(node, |walk| {
            walk.walk_sequence(node, directories);
        });
        self.substitutions -= 1;
    }

    pub(super) fn set_directories(&mut self, directories: &PossibleDirectories) {
        self.directories.clone_from(directories);
    }
}

/// `${x:1:2}`: what follows is arithmetic.
fn is_range(operators: &str) -> bool {
    let operators = operators.trim_start_matches("${");
    matches!(operators, ":" | "::")
}
