//! Setting, declaring and unsetting variables.

use tree_sitter::Node;

use super::{SyntaxWalker, children, named_children};
use crate::shell_command::parsed_script::{PossibleDirectories, SimpleCommand, VariableAssignment};
use crate::shell_command::shell_word::ShellWord;

impl<'t> SyntaxWalker<'t, '_> {
    /// `NAME=value`.
    pub(super) fn parse_assignment(&mut self, node: Node<'t>) -> VariableAssignment {
        let text = self.source(node).to_owned();
        let name_node = node.child_by_field_name("name");
        if let Some(subscript) = name_node.filter(|name| name.kind() == "subscript") {
            self.check_subscript(subscript);
        }
        let name = name_node.map(|name| self.source(name)).unwrap_or_default();
        let name = name.split('[').next().unwrap_or_default().to_owned();
        let value = match node.child_by_field_name("value") {
            None => Some(ShellWord::literal("")),
            Some(array) if array.kind() == "array" => {
                // Bash itself misparses quotes there, and treats the next line as a new command.
                if self.substitutions > 0 && self.source(array).contains(['\'', '"', '\\']) {
                    self.add_doubt("a quoted array within a substitution", array);
                }
                for element in named_children(array) {
                    if self.source(element).starts_with('[') {
                        self.add_doubt("an array with subscripts", element);
                    }
                    self.parse_words(element);
                }
                None
            }
            Some(value) => Some(self.parse_word(value)),
        };
        VariableAssignment { name, value, text }
    }

    /// Assignments without a command.
    pub(super) fn walk_assignments(&mut self, node: Node<'t>, directories: &PossibleDirectories) {
        let mut part = self.empty_command(node, directories);
        if node.kind() == "variable_assignment" {
            let assign = self.parse_assignment(node);
            part.assigns.push(assign);
        } else {
            for child in named_children(node) {
                let assign = self.parse_assignment(child);
                part.assigns.push(assign);
            }
        }
        self.add_command(part);
    }

    /// `for NAME in …`.
    pub(super) fn add_loop_variable(&mut self, node: Node<'t>, directories: &PossibleDirectories) {
        let name = self.source(node).to_owned();
        let mut part = self.empty_command(node, directories);
        part.assigns.push(VariableAssignment { text: name.clone(), name, value: None });
        self.add_command(part);
    }

    /// `export`, `declare`, `local`, `readonly`, `typeset`, `unset`.
    pub(super) fn walk_declaration(&mut self, node: Node<'t>, directories: &PossibleDirectories) {
        let mut part = self.empty_command(node, directories);
        for child in children(node) {
            match child.kind() {
                "comment" => {}
                "variable_assignment" => {
                    let assign = self.parse_assignment(child);
                    part.assigns.push(assign);
                }
                "variable_name" => {
                    let text = self.source(child).to_owned();
                    part.assigns.push(VariableAssignment { name: text.clone(), value: None, text });
                }
                keyword if !child.is_named() => part.words.push(ShellWord::literal(keyword)),
                _ => {
                    let words = self.parse_words(child);
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
        self.add_command(part);
    }

    fn empty_command(&self, node: Node<'t>, directories: &PossibleDirectories) -> SimpleCommand {
        SimpleCommand {
            text: self.source(node).to_owned(),
            working_directories: directories.clone(),
            ..SimpleCommand::default()
        }
    }
}
