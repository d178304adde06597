//! Arithmetic: `$((…))`, `((…))`, subscripts, and other numbers that the shell evaluates.
//!
//! Bash evaluates the text of a variable here, and a subscript in that text may run a command. So
//! only numbers, and variables that contain only numbers, are accepted.

use tree_sitter::Node;

use super::line_variables::LineVariables;
use super::{SyntaxWalker, children, named_children};

/// Nodes that only combine others.
const JOINTS: &[&str] = &[
    "binary_expression",
    "unary_expression",
    "postfix_expression",
    "ternary_expression",
    "parenthesized_expression",
    "arithmetic_expansion",
    "compound_statement",
    "expansion",
    "simple_expansion",
    "variable_assignment",
];

impl<'t> SyntaxWalker<'t, '_> {
    /// Everything below this node is arithmetic.
    pub(super) fn check_arithmetic(&mut self, node: Node<'t>) {
        let source = self.source(node);
        match node.kind() {
            "number" if is_number(source) => {}
            _ if self.is_number_base(node) => {}
            "word" | "variable_name" | "special_variable_name" => {
                let is_digits =
                    source.starts_with(|c: char| c.is_ascii_digit()) && is_number(source);
                if !is_digits && !self.variables.is_number(source) {
                    self.add_doubt("arithmetic evaluates what a variable holds", node);
                } else if !is_digits && !LineVariables::may_be_set_by_arithmetic(source) {
                    self.add_doubt("arithmetic may set a variable that means something", node);
                }
            }
            "command_substitution" => {
                self.add_doubt("arithmetic evaluates what a command prints", node);
                self.walk_substitution(node);
            }
            "string" => {
                for child in named_children(node) {
                    self.descend(child, |walk| walk.check_arithmetic(child));
                }
            }
            "string_content" if source.bytes().all(|byte| byte.is_ascii_digit()) => {}
            kind if JOINTS.contains(&kind) => {
                if source.contains("$[") || source.trim_start().starts_with("${!") {
                    self.add_doubt("arithmetic of an older kind", node);
                }
                for child in named_children(node) {
                    self.descend(child, |walk| walk.check_arithmetic(child));
                }
            }
            _ => {
                self.add_doubt("arithmetic that is not known", node);
                for child in named_children(node) {
                    self.descend(child, |walk| walk.collect_units(child, false, &mut Vec::new()));
                }
            }
        }
    }

    /// `10#` before a variable, which the grammar does not support.
    pub(super) fn is_number_base(&self, node: Node<'_>) -> bool {
        let digits = self.source(node).trim_start().strip_suffix('#');
        let is_base = digits.is_some_and(|digits| {
            matches!(digits.len(), 1 | 2) && digits.bytes().all(|byte| byte.is_ascii_digit())
        });
        let behind = self.text.get(node.end_byte()..).unwrap_or_default();
        let above = node.parent().is_some_and(|parent| JOINTS.contains(&parent.kind()));
        node.is_error() && is_base && above && behind.starts_with('$')
    }

    /// `a[…]`.
    pub(super) fn check_subscript(&mut self, node: Node<'t>) {
        for child in children(node).into_iter().skip(1) {
            let source = self.source(child);
            match child.kind() {
                "[" | "]" => {}
                "word" if matches!(source, "@" | "*") => {}
                _ => self.check_number(child),
            }
        }
    }

    /// A place where the shell evaluates a number.
    pub(super) fn check_number(&mut self, node: Node<'t>) {
        self.descend(node, |walk| walk.check_arithmetic(node));
    }
}

/// A number, possibly with its base.
fn is_number(source: &str) -> bool {
    source.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'#'))
}
