//! Statements: which commands run, and where the shell stands when they do.
//!
//! A statement has two outcomes, because `cd x && y` only runs `y` in `x`, while `cd x; y` may run
//! it in either place.

use tree_sitter::Node;

use super::{Walk, children, named};
use crate::command::script::{Part, Places};

/// Where the shell stands after a statement that succeeded, and after one that failed.
#[derive(Clone, Debug)]
pub(super) struct Outcome {
    pub(super) ok: Places,
    pub(super) bad: Places,
}

impl Outcome {
    pub(super) fn same(places: Places) -> Self {
        Self { bad: places.clone(), ok: places }
    }

    fn any(self) -> Places {
        self.ok.or(self.bad)
    }
}

impl<'t> Walk<'t, '_> {
    /// One statement of any kind.
    pub(super) fn statement(&mut self, node: Node<'t>, places: Places) -> Outcome {
        let stay = Outcome::same(places.clone());
        self.stand(&places);
        self.deeper(node, |walk| walk.kind(node, places)).unwrap_or(stay)
    }

    fn kind(&mut self, node: Node<'t>, places: Places) -> Outcome {
        match node.kind() {
            "program" | "do_group" | "else_clause" | "elif_clause" => {
                Outcome::same(self.sequence(node, places))
            }
            "compound_statement" if node.child(0).is_some_and(|child| child.kind() == "((") => {
                self.condition(node);
                Outcome::same(places)
            }
            "compound_statement" => Outcome::same(self.sequence(node, places)),
            "subshell" => {
                self.sequence(node, places.clone());
                Outcome::same(places)
            }
            "list" => self.list(node, places),
            "pipeline" => {
                let from = self.script.parts.len();
                for child in named(node) {
                    self.statement(child, places.clone());
                }
                self.printed(from);
                Outcome::same(places)
            }
            "negated_command" => {
                let inner = named(node).first().map(|child| self.statement(*child, places.clone()));
                let inner = inner.unwrap_or(Outcome::same(places));
                Outcome { ok: inner.bad, bad: inner.ok }
            }
            "command" => self.command(node, places),
            "redirected_statement" => self.redirected(node, places),
            "if_statement" => Outcome::same(self.sequence(node, places)),
            "while_statement" | "for_statement" | "c_style_for_statement" => {
                self.repeated(node, places)
            }
            "case_statement" => self.cases(node, places),
            "function_definition" => {
                self.function(node, &places);
                Outcome::same(places)
            }
            "test_command" => {
                self.condition(node);
                Outcome::same(places)
            }
            "variable_assignment" | "variable_assignments" => {
                self.assignment_alone(node, &places);
                Outcome::same(places)
            }
            "declaration_command" | "unset_command" => {
                self.declaration(node, &places);
                Outcome::same(places)
            }
            "comment" => Outcome::same(places),
            _ => {
                self.doubt("a kind of statement that is not known", node);
                Outcome::same(self.sequence(node, places))
            }
        }
    }

    /// What a pipe carries, as far as it is plainly printed, may be read by a shell at its end.
    fn printed(&mut self, from: usize) {
        for part in self.script.parts.get(from..).unwrap_or_default() {
            let words: Vec<&str> = part.words.iter().map(|word| word.text.as_str()).collect();
            if let ["echo" | "printf", texts @ ..] = words.as_slice() {
                self.documents.push(texts.join(" "));
            }
        }
    }

    /// Statements one after the other. A branch may or may not be taken, so every place counts.
    pub(super) fn sequence(&mut self, node: Node<'t>, places: Places) -> Places {
        let branches = matches!(node.kind(), "if_statement" | "elif_clause" | "else_clause");
        let all = children(node);
        let mut standing = places.clone();
        for (at, child) in all.iter().enumerate() {
            if !child.is_named() || matches!(child.kind(), "comment" | "heredoc_body") {
                continue;
            }
            let outcome = self.statement(*child, standing.clone());
            let is_behind = all.get(at + 1).is_some_and(|next| next.kind() == "&");
            if is_behind {
                continue;
            }
            let after = outcome.any();
            standing = if branches { standing.or(after) } else { after };
        }
        if branches { standing.or(places) } else { standing }
    }

    fn list(&mut self, node: Node<'t>, places: Places) -> Outcome {
        let all = children(node);
        let mut outcome = Outcome::same(places);
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
                    let right = self.statement(child, outcome.ok.clone());
                    Outcome { ok: right.ok, bad: outcome.bad.or(right.bad) }
                }
                "||" => {
                    let right = self.statement(child, outcome.bad.clone());
                    Outcome { ok: outcome.ok.or(right.ok), bad: right.bad }
                }
                ";" => self.statement(child, outcome.any()),
                _ => {
                    self.doubt("an operator that is not known", node);
                    self.statement(child, Places::Unknown)
                }
            };
        }
        outcome
    }

    /// A loop: when it moves the shell, the second round begins elsewhere.
    fn repeated(&mut self, node: Node<'t>, places: Places) -> Outcome {
        let inside = places.clone();
        let from = self.script.parts.len();
        let has_moved = std::mem::take(&mut self.has_moved);
        self.stand(&inside);
        for child in children(node) {
            let kind = child.kind();
            match kind {
                "do_group" | "compound_statement" => {
                    self.statement(child, inside.clone());
                }
                _ if node.kind() == "c_style_for_statement" && child.is_named() => {
                    self.deeper(child, |walk| walk.arithmetic(child));
                }
                "variable_name" | "comment" => {}
                _ if node.kind() == "for_statement" && child.is_named() => {
                    self.words(child);
                }
                _ if child.is_named() => {
                    self.statement(child, inside.clone());
                }
                "select" => self.doubt("a menu waits for somebody", node),
                _ => {}
            }
        }
        if let Some(name) = node.child_by_field_name("variable") {
            self.loop_variable(name, &inside);
        }
        let moves = std::mem::replace(&mut self.has_moved, true);
        if moves {
            self.displace(from..self.script.parts.len());
            return Outcome::same(Places::Unknown);
        }
        self.has_moved = has_moved;
        Outcome::same(places)
    }

    fn cases(&mut self, node: Node<'t>, places: Places) -> Outcome {
        let mut after = places.clone();
        for child in named(node) {
            if child.kind() != "case_item" {
                self.words(child);
                continue;
            }
            let is_value = |part: &Node<'t>| {
                child.children_by_field_name("value", &mut child.walk()).any(|value| value == *part)
            };
            let mut standing = after.clone();
            for part in named(child) {
                if is_value(&part) {
                    match part.kind() {
                        "extglob_pattern" | "regex" => self.inert(part),
                        _ => drop(self.words(part)),
                    }
                } else {
                    standing = standing.clone().or(self.statement(part, standing).any());
                }
            }
            after = after.or(standing);
        }
        Outcome::same(after.or(places))
    }

    /// A function: its body is judged where it is written, for wherever it may be called.
    fn function(&mut self, node: Node<'t>, places: &Places) {
        let inside = places.clone();
        let from = self.script.parts.len();
        let is_certain = node.parent().is_some_and(|parent| parent.kind() == "program");
        if let Some(name) = node.child_by_field_name("name") {
            let name_text = self.source(name).to_owned();
            let is_plain = name_text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
            if !is_plain {
                self.doubt("a function with an odd name", name);
            }
            if is_certain && is_plain && node.next_sibling().is_none_or(|next| next.kind() != "&") {
                self.functions.insert(name_text);
            }
        }
        for body in node.children_by_field_name("body", &mut node.walk()) {
            self.statement(body, inside.clone());
        }
        let mut part = Part { places: inside, ..Part::default() };
        for redirect in node.children_by_field_name("redirect", &mut node.walk()) {
            self.redirect(redirect, &mut part);
        }
        if !part.redirects.is_empty() {
            part.text = self.source(node).to_owned();
            self.add(part);
        }
        self.bodies.push(from..self.script.parts.len());
    }
}
