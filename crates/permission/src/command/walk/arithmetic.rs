//! Arithmetic: `$((…))`, `((…))`, subscripts, and numbers that the shell works out.
//!
//! Bash evaluates a variable's text here, and a subscript in that text may run a command. So only
//! numbers and variables that hold nothing else may stand here.

use tree_sitter::Node;

use super::{Walk, children, named};

/// Nodes that only put others together.
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

impl<'t> Walk<'t, '_> {
    /// Everything below this node is arithmetic.
    pub(super) fn arithmetic(&mut self, node: Node<'t>) {
        let source = self.source(node);
        match node.kind() {
            "number" if source.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') => {
            }
            "word" | "variable_name" | "special_variable_name" => {
                let is_digits = source.bytes().all(|byte| byte.is_ascii_digit());
                if !is_digits && !self.names.is_number(source) {
                    self.doubt("arithmetic evaluates what a variable holds", node);
                }
            }
            "command_substitution" => {
                self.doubt("arithmetic evaluates what a command prints", node);
                self.substitution(node);
            }
            "string" => {
                for child in named(node) {
                    self.deeper(child, |walk| walk.arithmetic(child));
                }
            }
            "string_content" if source.bytes().all(|byte| byte.is_ascii_digit()) => {}
            kind if JOINTS.contains(&kind) => {
                if source.contains("$[") || source.trim_start().starts_with("${!") {
                    self.doubt("arithmetic of an older kind", node);
                }
                for child in named(node) {
                    self.deeper(child, |walk| walk.arithmetic(child));
                }
            }
            _ => {
                self.doubt("arithmetic that is not known", node);
                for child in named(node) {
                    self.deeper(child, |walk| walk.units(child, false, &mut Vec::new()));
                }
            }
        }
    }

    /// `a[…]`.
    pub(super) fn subscript(&mut self, node: Node<'t>) {
        for child in children(node).into_iter().skip(1) {
            let source = self.source(child);
            match child.kind() {
                "[" | "]" => {}
                "word" if matches!(source, "@" | "*") => {}
                _ => self.number_only(child),
            }
        }
    }

    /// A place where the shell works out a number.
    pub(super) fn number_only(&mut self, node: Node<'t>) {
        self.deeper(node, |walk| walk.arithmetic(node));
    }
}
