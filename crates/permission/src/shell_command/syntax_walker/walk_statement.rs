//! Statements: which commands run, and in which directories.
//!
//! A statement has two outcomes, because `cd x && y` only runs `y` in `x`, while `cd x; y` may run
//! it in either place.

use tree_sitter::Node;

use super::{SyntaxWalker, children, named_children};
use crate::shell_command::parsed_script::{PossibleDirectories, SimpleCommand};
use crate::shell_command::shell_builtin::takes_known_name;
use crate::shell_command::shell_word::ShellWord;
use crate::shell_command::xargs_command::{filters_lines, lists_names};

/// The shell's possible directories after a statement succeeded, and after it failed.
#[derive(Clone, Debug)]
pub(super) struct StatementDirectories {
    pub(super) on_success: PossibleDirectories,
    pub(super) on_failure: PossibleDirectories,
}

impl StatementDirectories {
    pub(super) fn same_for_both(directories: PossibleDirectories) -> Self {
        Self { on_failure: directories.clone(), on_success: directories }
    }

    fn into_union(self) -> PossibleDirectories {
        self.on_success.union_with(self.on_failure)
    }
}

impl<'t> SyntaxWalker<'t, '_> {
    pub(super) fn walk_statement(
        &mut self,
        node: Node<'t>,
        directories: PossibleDirectories,
    ) -> StatementDirectories {
        let stay = StatementDirectories::same_for_both(directories.clone());
        self.set_directories(&directories);
        self.descend(node, |walk| walk.walk_statement_kind(node, directories)).unwrap_or(stay)
    }

    fn walk_statement_kind(
        &mut self,
        node: Node<'t>,
        directories: PossibleDirectories,
    ) -> StatementDirectories {
        match node.kind() {
            "program" | "do_group" | "else_clause" | "elif_clause" => {
                StatementDirectories::same_for_both(self.walk_sequence(node, directories))
            }
            "compound_statement" if node.child(0).is_some_and(|child| child.kind() == "((") => {
                self.walk_condition(node);
                StatementDirectories::same_for_both(directories)
            }
            "compound_statement" => {
                StatementDirectories::same_for_both(self.walk_sequence(node, directories))
            }
            "subshell" => {
                self.walk_sequence(node, directories.clone());
                StatementDirectories::same_for_both(directories)
            }
            "list" => self.walk_list(node, directories),
            "pipeline" => {
                let from = self.script.parts.len();
                let mut is_list = false;
                for child in named_children(node) {
                    let own = self.script.parts.len();
                    self.walk_statement(child, directories.clone());
                    is_list = self.pass_listed_names(own, is_list);
                }
                self.collect_printed_text(from);
                StatementDirectories::same_for_both(directories)
            }
            "negated_command" => {
                let inner = named_children(node)
                    .first()
                    .map(|child| self.walk_statement(*child, directories.clone()));
                let inner = inner.unwrap_or(StatementDirectories::same_for_both(directories));
                StatementDirectories { on_success: inner.on_failure, on_failure: inner.on_success }
            }
            "command" => self.walk_command(node, directories),
            "redirected_statement" => self.walk_redirected_statement(node, directories),
            "if_statement" => {
                StatementDirectories::same_for_both(self.walk_sequence(node, directories))
            }
            "while_statement" | "for_statement" | "c_style_for_statement" => {
                self.walk_loop(node, directories)
            }
            "case_statement" => self.walk_case(node, directories),
            "function_definition" => {
                self.walk_function(node, &directories);
                StatementDirectories::same_for_both(directories)
            }
            "test_command" => {
                self.walk_condition(node);
                StatementDirectories::same_for_both(directories)
            }
            "variable_assignment" | "variable_assignments" => {
                self.walk_assignments(node, &directories);
                StatementDirectories::same_for_both(directories)
            }
            "declaration_command" | "unset_command" => {
                self.walk_declaration(node, &directories);
                StatementDirectories::same_for_both(directories)
            }
            "comment" => StatementDirectories::same_for_both(directories),
            _ => {
                self.add_doubt("a kind of statement that is not known", node);
                StatementDirectories::same_for_both(self.walk_sequence(node, directories))
            }
        }
    }

    /// Marks a command whose input is a list of file names, and returns whether it passes one on.
    fn pass_listed_names(&mut self, at: usize, is_list: bool) -> bool {
        let is_simple = self
            .script
            .parts
            .get(at + 1..)
            .is_none_or(|more| more.iter().all(|part| part.is_inner));
        let Some(part) = self.script.parts.get_mut(at).filter(|_| is_simple) else { return false };
        part.reads_listed_names = is_list;
        lists_names(part) || is_list && filters_lines(part)
    }

    /// Text that is printed into a pipe may be run by a shell at its end.
    fn collect_printed_text(&mut self, from: usize) {
        for part in self.script.parts.get(from..).unwrap_or_default() {
            let words: Vec<&str> = part.words.iter().map(|word| word.text.as_str()).collect();
            if let ["echo" | "printf", texts @ ..] = words.as_slice() {
                self.input_texts.push(texts.join(" "));
            }
        }
    }

    /// A sequence of statements. A branch may or may not be taken, so all directories count.
    pub(super) fn walk_sequence(
        &mut self,
        node: Node<'t>,
        directories: PossibleDirectories,
    ) -> PossibleDirectories {
        let branches = matches!(node.kind(), "if_statement" | "elif_clause" | "else_clause");
        let all = children(node);
        let mut standing = directories.clone();
        for (at, child) in all.iter().enumerate() {
            if !child.is_named() || matches!(child.kind(), "comment" | "heredoc_body") {
                continue;
            }
            let outcome = self.walk_statement(*child, standing.clone());
            let is_behind = all.get(at + 1).is_some_and(|next| next.kind() == "&");
            if is_behind {
                continue;
            }
            let after = outcome.into_union();
            standing = if branches { standing.union_with(after) } else { after };
        }
        if branches { standing.union_with(directories) } else { standing }
    }

    fn walk_list(
        &mut self,
        node: Node<'t>,
        directories: PossibleDirectories,
    ) -> StatementDirectories {
        let all = children(node);
        let mut outcome = StatementDirectories::same_for_both(directories);
        let mut operator = ";";
        for child in all {
            if !child.is_named() {
                operator = child.kind();
                continue;
            }
            if child.kind() == "comment" {
                continue;
            }
            outcome = match operator {
                "&&" => {
                    let right = self.walk_statement(child, outcome.on_success.clone());
                    StatementDirectories {
                        on_success: right.on_success,
                        on_failure: outcome.on_failure.union_with(right.on_failure),
                    }
                }
                "||" => {
                    let right = self.walk_statement(child, outcome.on_failure.clone());
                    StatementDirectories {
                        on_success: outcome.on_success.union_with(right.on_success),
                        on_failure: right.on_failure,
                    }
                }
                ";" => self.walk_statement(child, outcome.into_union()),
                _ => {
                    self.add_doubt("an operator that is not known", node);
                    self.walk_statement(child, PossibleDirectories::Unknown)
                }
            };
        }
        outcome
    }

    /// A loop: if it changes the directory, the next iteration starts in another one.
    fn walk_loop(
        &mut self,
        node: Node<'t>,
        directories: PossibleDirectories,
    ) -> StatementDirectories {
        if has_background(node) {
            self.add_doubt("a loop that starts commands in the background", node);
        }
        let inside = directories.clone();
        let from = self.script.parts.len();
        let has_moved = std::mem::take(&mut self.may_have_moved);
        self.set_directories(&inside);
        for child in children(node) {
            let kind = child.kind();
            match kind {
                "do_group" | "compound_statement" => {
                    self.walk_statement(child, inside.clone());
                }
                _ if node.kind() == "c_style_for_statement" && child.is_named() => {
                    self.descend(child, |walk| walk.check_arithmetic(child));
                }
                "variable_name" | "comment" => {}
                _ if node.kind() == "for_statement" && child.is_named() => {
                    self.parse_words(child);
                }
                _ if child.is_named() => {
                    self.walk_statement(child, inside.clone());
                }
                "select" => self.add_doubt("a menu waits for input", node),
                _ => {}
            }
        }
        if let Some(name) = node.child_by_field_name("variable") {
            self.add_loop_variable(name, &inside);
        }
        let moves = std::mem::replace(&mut self.may_have_moved, true);
        if moves {
            self.forget_directories(from..self.script.parts.len());
            return StatementDirectories::same_for_both(PossibleDirectories::Unknown);
        }
        self.may_have_moved = has_moved;
        StatementDirectories::same_for_both(directories)
    }

    fn walk_case(
        &mut self,
        node: Node<'t>,
        directories: PossibleDirectories,
    ) -> StatementDirectories {
        let mut after = directories.clone();
        for child in named_children(node) {
            if child.kind() != "case_item" {
                self.parse_words(child);
                continue;
            }
            let is_value = |part: &Node<'t>| {
                child.children_by_field_name("value", &mut child.walk()).any(|value| value == *part)
            };
            let mut standing = after.clone();
            for part in named_children(child) {
                if is_value(&part) {
                    match part.kind() {
                        "extglob_pattern" | "regex" => self.check_inert(part),
                        _ => drop(self.parse_words(part)),
                    }
                } else {
                    standing = standing
                        .clone()
                        .union_with(self.walk_statement(part, standing).into_union());
                }
            }
            after = after.union_with(standing);
        }
        StatementDirectories::same_for_both(after.union_with(directories))
    }

    /// A function: its body is checked at its definition, for every place it may be called from.
    fn walk_function(&mut self, node: Node<'t>, directories: &PossibleDirectories) {
        let inside = directories.clone();
        let from = self.script.parts.len();
        let is_certain = node.parent().is_some_and(|parent| parent.kind() == "program");
        if let Some(name) = node.child_by_field_name("name") {
            let name_text = self.source(name).to_owned();
            let is_plain = name_text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
            if !is_plain {
                self.add_doubt("a function with an odd name", name);
            }
            if takes_known_name(&name_text) {
                self.add_doubt("a function that takes the name of a program", name);
            }
            if is_certain && is_plain && node.next_sibling().is_none_or(|next| next.kind() != "&") {
                self.functions.insert(name_text);
            }
        }
        for body in node.children_by_field_name("body", &mut node.walk()) {
            self.walk_statement(body, inside.clone());
        }
        // A recursive function may run forever and start ever more processes.
        let own = self.script.parts.get(from..).unwrap_or_default();
        let names = own.iter().filter_map(|part| part.words.first());
        let calls = |word: &ShellWord| self.variables.functions.contains(&word.text);
        if names.into_iter().any(calls) {
            self.add_doubt("a function that calls a function", node);
        }
        let mut part = SimpleCommand { working_directories: inside, ..SimpleCommand::default() };
        for redirect in node.children_by_field_name("redirect", &mut node.walk()) {
            self.walk_redirect(redirect, &mut part);
        }
        if !part.redirects.is_empty() {
            part.text = self.source(node).to_owned();
            self.add_command(part);
        }
        self.function_bodies.push(from..self.script.parts.len());
    }
}

/// Does anything below this node run in the background? A loop would start it many times.
fn has_background(node: Node<'_>) -> bool {
    let mut cursor = node.walk();
    loop {
        if cursor.node().kind() == "&" {
            return true;
        }
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() || cursor.node() == node {
                return false;
            }
        }
    }
}
