//! Variables that are set, declared or taken back.

use tree_sitter::Node;

use super::{Walk, children, named};
use crate::command::script::{Assign, Part, Places};
use crate::command::word::Word;

impl<'t> Walk<'t, '_> {
    /// `NAME=value`.
    pub(super) fn assign(&mut self, node: Node<'t>) -> Assign {
        let text = self.source(node).to_owned();
        let name_node = node.child_by_field_name("name");
        if let Some(subscript) = name_node.filter(|name| name.kind() == "subscript") {
            self.subscript(subscript);
        }
        let name = name_node.map(|name| self.source(name)).unwrap_or_default();
        let name = name.split('[').next().unwrap_or_default().to_owned();
        let value = match node.child_by_field_name("value") {
            None => Some(Word::literal("")),
            Some(array) if array.kind() == "array" => {
                // Bash itself loses its way among quotes there, and takes the next line for a new
                // command.
                if self.substitutions > 0 && self.source(array).contains(['\'', '"', '\\']) {
                    self.doubt("a quoted array within a substitution", array);
                }
                for element in named(array) {
                    if self.source(element).starts_with('[') {
                        self.doubt("an array with subscripts", element);
                    }
                    self.words(element);
                }
                None
            }
            Some(value) => Some(self.word(value)),
        };
        Assign { name, value, text }
    }

    /// Assignments with no command behind them.
    pub(super) fn assignment_alone(&mut self, node: Node<'t>, places: &Places) {
        let mut part = self.empty(node, places);
        if node.kind() == "variable_assignment" {
            let assign = self.assign(node);
            part.assigns.push(assign);
        } else {
            for child in named(node) {
                let assign = self.assign(child);
                part.assigns.push(assign);
            }
        }
        self.add(part);
    }

    /// `for NAME in …`.
    pub(super) fn loop_variable(&mut self, node: Node<'t>, places: &Places) {
        let name = self.source(node).to_owned();
        let mut part = self.empty(node, places);
        part.assigns.push(Assign { text: name.clone(), name, value: None });
        self.add(part);
    }

    /// `export`, `declare`, `local`, `readonly`, `typeset`, `unset`.
    pub(super) fn declaration(&mut self, node: Node<'t>, places: &Places) {
        let mut part = self.empty(node, places);
        for child in children(node) {
            match child.kind() {
                "comment" => {}
                "variable_assignment" => {
                    let assign = self.assign(child);
                    part.assigns.push(assign);
                }
                "variable_name" => {
                    let text = self.source(child).to_owned();
                    part.assigns.push(Assign { name: text.clone(), value: None, text });
                }
                keyword if !child.is_named() => part.words.push(Word::literal(keyword)),
                _ => {
                    let words = self.words(child);
                    part.words.extend(words);
                }
            }
        }
        let names = part.assigns.iter().map(|assign| &assign.name);
        if part.words.first().is_some_and(|word| word.text == "unset") {
            let removed: Vec<String> = names.cloned().collect();
            for name in &removed {
                self.functions.remove(name);
            }
        }
        self.add(part);
    }

    fn empty(&self, node: Node<'t>, places: &Places) -> Part {
        Part { text: self.source(node).to_owned(), places: places.clone(), ..Part::default() }
    }
}
