//! Conditions in single and double brackets: the files they test, and what in them may run.
//!
//! In double brackets numbers are evaluated as arithmetic; in single ones `<`, `>`, `&&` and `||`
//! are not part of the test, although the grammar thinks so.

use tree_sitter::Node;

use super::{SyntaxWalker, children, named_children};
use crate::shell_command::shell_builtin::is_plain_test;
use crate::shell_command::shell_word::ShellWord;

const COMPARES_NUMBERS: &[&str] = &["-eq", "-ne", "-lt", "-le", "-gt", "-ge"];

impl<'t> SyntaxWalker<'t, '_> {
    /// A test command, which only tests files.
    pub(super) fn walk_condition(&mut self, node: Node<'t>) {
        let opening = node.child(0).map_or("", |child| child.kind());
        match opening {
            "[" | "[[" => {
                for child in named_children(node) {
                    self.descend(child, |walk| walk.walk_test(child, opening == "[["));
                }
                if opening == "[" {
                    let mut words = Vec::new();
                    self.descend(node, |walk| walk.collect_test_words(node, &mut words));
                    if !is_plain_test(
                        words.get(1..words.len().saturating_sub(1)).unwrap_or_default(),
                    ) {
                        self.add_doubt("a test that may evaluate what it is given", node);
                    }
                }
            }
            "((" => {
                for child in named_children(node) {
                    self.descend(child, |walk| walk.check_arithmetic(child));
                }
            }
            _ => self.add_doubt("a test that is not known", node),
        }
    }

    fn walk_test(&mut self, node: Node<'t>, is_double: bool) {
        match node.kind() {
            "binary_expression" => {
                let operator = node.child_by_field_name("operator").map(|node| self.source(node));
                let operator = operator.unwrap_or_default();
                let joins = matches!(operator, "&&" | "||" | "<" | ">");
                if joins && !is_double {
                    self.add_doubt("an operator that ends the test", node);
                }
                let is_number = COMPARES_NUMBERS.contains(&operator) && is_double;
                for child in self.test_operands(node) {
                    if is_number {
                        self.descend(child, |walk| walk.check_arithmetic(child));
                    } else {
                        self.descend(child, |walk| walk.walk_test(child, is_double));
                    }
                }
            }
            "unary_expression" => {
                let operator = node.child(0).map(|node| self.source(node)).unwrap_or_default();
                let evaluates = matches!(operator, "-v" | "-R");
                for child in self.test_operands(node) {
                    let is_name = self.source(child).bytes().all(is_name_byte);
                    if evaluates && !is_name {
                        self.add_doubt("a test that evaluates a subscript", node);
                    }
                    self.descend(child, |walk| walk.walk_test(child, is_double));
                }
            }
            "parenthesized_expression" => {
                if !is_double {
                    self.add_doubt("a parenthesis that ends the test", node);
                }
                for child in self.test_operands(node) {
                    self.descend(child, |walk| walk.walk_test(child, is_double));
                }
            }
            "regex" | "extglob_pattern" => self.check_inert(node),
            "test_operator" if !is_double => {}
            _ => {
                self.parse_words(node);
            }
        }
    }

    /// The arguments of the builtin, brackets included, for any tree that the grammar builds.
    fn collect_test_words(&mut self, node: Node<'t>, words: &mut Vec<ShellWord>) {
        for child in children(node) {
            match child.kind() {
                "binary_expression"
                | "unary_expression"
                | "parenthesized_expression"
                | "postfix_expression"
                | "ternary_expression" => {
                    self.descend(child, |walk| walk.collect_test_words(child, words));
                }
                "test_operator" => words.push(ShellWord::literal(self.source(child))),
                _ if !child.is_named() => words.push(ShellWord::literal(self.source(child))),
                _ => words.extend(self.parse_words(child)),
            }
        }
    }

    fn test_operands(&self, node: Node<'t>) -> Vec<Node<'t>> {
        let is_operand = |child: &Node<'t>| child.is_named() && child.kind() != "test_operator";
        children(node).into_iter().filter(is_operand).collect()
    }
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}
