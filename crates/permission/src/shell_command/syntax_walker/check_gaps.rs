//! Checks the text between the leaves of the tree.
//!
//! The grammar skips more than bash does: it treats `\ ` and carriage returns as blanks, and splits
//! a line joined by a backslash into two words. Whatever it skips must be blank in bash too. This
//! pass also finds all error nodes.

use tree_sitter::{Node, TreeCursor};

use super::{SyntaxWalker, children};

impl SyntaxWalker<'_, '_> {
    /// Checks every leaf, in order.
    pub(super) fn check_gaps(&mut self, root: Node<'_>) {
        let mut cursor = root.walk();
        let mut last_end = 0;
        loop {
            let node = cursor.node();
            if (node.is_error() && !self.is_number_base(node)) || node.is_missing() {
                self.add_doubt("the grammar cannot make sense of this", node);
            }
            self.check_single_line(node);
            let is_opaque = matches!(node.kind(), "raw_string" | "ansi_c_string");
            if !is_opaque && cursor.goto_first_child() {
                continue;
            }
            self.check_leaf(&cursor, last_end);
            last_end = node.end_byte();
            if !move_to_next_leaf(&mut cursor) {
                break;
            }
        }
        let rest = self.text.get(last_end..).unwrap_or_default();
        if !is_blank(rest) {
            self.add_doubt("something is left over", root);
        }
    }

    /// In bash a line end ends a command, except after an operator; the grammar may continue.
    fn check_single_line(&mut self, node: Node<'_>) {
        let is_operator = |child: &Node<'_>| !child.is_named();
        let every = ONE_LINE.contains(&node.kind())
            || (node.kind() == "test_command" && self.source(node).starts_with("[ "));
        if !every && !matches!(node.kind(), "pipeline" | "list") {
            return;
        }
        let mut last_end = node.start_byte();
        for child in children(node) {
            let gap = self.text.get(last_end..child.start_byte()).unwrap_or_default();
            let is_broken = gap.replace("\\\n", "").contains('\n');
            if is_broken && (every || is_operator(&child)) && child.kind() != "heredoc_body" {
                self.add_doubt("a command that continues after the end of its line", child);
            }
            last_end = child.end_byte();
        }
    }

    fn check_leaf(&mut self, cursor: &TreeCursor<'_>, last_end: usize) {
        let node = cursor.node();
        let mut above = cursor.clone();
        let parent = if above.goto_parent() { Some(above.node()) } else { None };
        let parent_kind = parent.map_or("", |parent| parent.kind());
        let opens = parent.is_some_and(|parent| parent.start_byte() == node.start_byte());
        // Inside of quotes and here-documents everything is text, which is checked character by
        // character.
        let is_text = (parent_kind == "string" && !opens)
            || parent_kind == "heredoc_body"
            || matches!(node.kind(), "heredoc_body" | "heredoc_content" | "heredoc_end")
            || is_inside_quotes(&mut above);
        if node.kind() == "comment" && !self.begins_word(node.start_byte()) {
            self.add_doubt("a comment that is not one to bash", node);
        }
        let behind = self.text.get(node.end_byte()..).unwrap_or_default();
        if matches!(node.kind(), "<" | ">") && behind.starts_with('(') {
            self.add_doubt("a substitution the grammar took for an operator", node);
        }
        if node.kind() == "{"
            && parent_kind == "compound_statement"
            && !behind.starts_with([' ', '\t', '\n'])
        {
            self.add_doubt("a brace that opens nothing", node);
        }
        // A token that is written otherwise than it is named has swallowed something. Words are read
        // from their text, a lone dollar too.
        let is_named_so = node.is_named() || self.source(node).trim() == node.kind().trim();
        if !is_named_so && node.kind() != "$" {
            self.add_doubt("more than the grammar says", node);
        }
        let gap = self.text.get(last_end..node.start_byte()).unwrap_or_default();
        // The grammar drops a lone dash before a here-document; the walk adds it.
        let is_lone_dash =
            node.kind().starts_with("<<") && parent_kind == "heredoc_redirect" && is_lone_dash(gap);
        let begins = self.begins_word(last_end) && is_blank_or_joint(gap);
        if !is_text && !is_blank(gap) && !is_lone_dash && !begins {
            self.add_doubt("blank to the grammar but not to bash", node);
        }
    }

    /// Does a word start here?
    fn begins_word(&self, at: usize) -> bool {
        let before = self.text.get(..at).and_then(|before| before.chars().next_back());
        before.is_none_or(|c| " \t\n;&|()".contains(c))
    }
}

/// Nodes that bash expects on one line.
const ONE_LINE: &[&str] = &[
    "command",
    "redirected_statement",
    "file_redirect",
    "herestring_redirect",
    "declaration_command",
    "unset_command",
    "variable_assignment",
    "variable_assignments",
    "negated_command",
];

/// The first leaf of an expansion inside of quotes: what precedes it is text too.
fn is_inside_quotes(above: &mut TreeCursor<'_>) -> bool {
    let node = above.node();
    let start = node.start_byte();
    let is_expansion = matches!(
        node.kind(),
        "simple_expansion" | "expansion" | "command_substitution" | "arithmetic_expansion"
    );
    is_expansion
        && above.goto_parent()
        && matches!(above.node().kind(), "string" | "heredoc_body")
        && start >= above.node().start_byte()
}

fn move_to_next_leaf(cursor: &mut TreeCursor<'_>) -> bool {
    loop {
        if cursor.goto_next_sibling() {
            return true;
        }
        if !cursor.goto_parent() {
            return false;
        }
    }
}

/// A dash between blanks, which bash treats as a word.
pub(super) fn is_lone_dash(gap: &str) -> bool {
    let inner = gap.trim_matches([' ', '\t']);
    inner == "-" && gap.starts_with([' ', '\t']) && gap.ends_with([' ', '\t'])
}

/// Line continuations and blanks, where no word could continue.
fn is_blank_or_joint(gap: &str) -> bool {
    gap.replace("\\\n", "").chars().all(|c| matches!(c, ' ' | '\t' | '\n'))
}

/// Blanks, line ends, and line continuations beside a blank.
fn is_blank(gap: &str) -> bool {
    let without_joints = gap.replace("\\\n", "");
    let is_plain = without_joints.chars().all(|c| matches!(c, ' ' | '\t' | '\n'));
    is_plain && (without_joints.len() == gap.len() || !without_joints.is_empty())
}
