//! Finds what is certain about the variables of a line, before the walk.
//!
//! Arithmetic evaluates the text of a variable, including subscripts, so a variable is accepted
//! there only if all its values in this line are numbers. A variable that only gets certain values
//! can be replaced by them. The order of commands is ignored.

use std::collections::{BTreeMap, BTreeSet};

use tree_sitter::Node;

use crate::shell_command::shell_builtin::sets_variables;
use crate::shell_command::shell_variable::is_line_local_variable;

/// What is known of the variables of a line.
#[derive(Debug, Default)]
pub(super) struct LineVariables {
    /// Variables that get a value other than a number.
    texts: BTreeSet<String>,
    /// Variables that get a number.
    numbers: BTreeSet<String>,
    /// The certain values of variables; without an entry if any value is uncertain.
    pub(super) values: BTreeMap<String, Vec<String>>,
    /// A command sets variables whose names are not plain to see.
    has_hidden_names: bool,
    /// Functions defined in the line.
    pub(super) functions: BTreeSet<String>,
}

/// Variables that are always numbers.
const ALWAYS_NUMBERS: &[&str] = &[
    "RANDOM",
    "SECONDS",
    "LINENO",
    "EPOCHSECONDS",
    "BASHPID",
    "PPID",
    "UID",
    "EUID",
    "SHLVL",
    "SRANDOM",
];

impl LineVariables {
    pub(super) fn collect(root: Node<'_>, text: &str) -> Self {
        let mut names = Self::default();
        let mut uncertain = BTreeSet::new();
        let mut cursor = root.walk();
        loop {
            names.visit_node(cursor.node(), text, &mut uncertain);
            if cursor.goto_first_child() {
                continue;
            }
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    let is_hidden = names.has_hidden_names;
                    names.values.retain(|name, _| !is_hidden && !uncertain.contains(name));
                    return names;
                }
            }
        }
    }

    fn visit_node(&mut self, node: Node<'_>, text: &str, uncertain: &mut BTreeSet<String>) {
        let source = |node: Node<'_>| text.get(node.byte_range()).unwrap_or_default();
        match node.kind() {
            "variable_assignment" => {
                let Some(name) = node.child_by_field_name("name") else { return };
                let value = node.child_by_field_name("value");
                let is_added = node.child(1).is_some_and(|child| child.kind() == "+=");
                let name_text = source(name).split('[').next().unwrap_or_default().to_owned();
                if name.kind() != "variable_name" || is_added {
                    uncertain.insert(name_text.clone());
                    self.texts.insert(name_text);
                    return;
                }
                self.assign_value(
                    &name_text,
                    value.map(|value| (value.kind(), source(value))),
                    uncertain,
                );
            }
            "for_statement" => {
                let Some(name) = node.child_by_field_name("variable") else { return };
                let values: Vec<_> =
                    node.children_by_field_name("value", &mut node.walk()).collect();
                if values.is_empty() {
                    self.assign_value(source(name), Some(("unknown", "")), uncertain);
                }
                for value in values {
                    self.assign_value(source(name), Some((value.kind(), source(value))), uncertain);
                }
            }
            "function_definition" => {
                let name = node.child_by_field_name("name").map(source).unwrap_or_default();
                self.functions.insert(name.to_owned());
            }
            "command" => {
                let name = node.child_by_field_name("name").map(source);
                let sets = ["read", "mapfile", "readarray", "printf", "getopts", "let", "wait"];
                let is_plain = name.is_none_or(is_plain_text);
                if is_plain
                    && name.is_some_and(|name| !sets.contains(&name) && !WRAPPED.contains(&name))
                {
                    return;
                }
                let is_print = name == Some("printf")
                    && !sets_variables(source(node))
                    && !source(node).contains("$'");
                for argument in node.children_by_field_name("argument", &mut node.walk()) {
                    let text = source(argument);
                    // Quotes, escapes and braces in a name make it another one.
                    let is_hidden = !is_plain || !is_plain_text(text.trim_matches('"'));
                    self.has_hidden_names |= is_hidden && !is_print;
                    self.assign_value(text, Some(("unknown", "")), uncertain);
                }
            }
            "declaration_command" | "unset_command" => {
                let mut walk = node.walk();
                for child in node.named_children(&mut walk) {
                    let child = child.child_by_field_name("name").unwrap_or(child);
                    self.assign_value(source(child), Some(("unknown", "")), uncertain);
                }
            }
            "arithmetic_expansion" | "subscript" => {
                self.calculate_values(source(node), uncertain);
            }
            "compound_statement" if source(node).starts_with("((") => {
                self.calculate_values(source(node), uncertain);
            }
            "c_style_for_statement" => {
                let body = node
                    .child_by_field_name("body")
                    .map_or(node.end_byte(), |body| body.start_byte());
                let head = text.get(node.start_byte()..body).unwrap_or_default();
                self.calculate_values(head, uncertain);
            }
            // `${x:=y}` assigns a value too.
            "expansion" if source(node).contains('=') => {
                let name = source(node).trim_start_matches("${");
                let end = name.find(|c: char| !c.is_alphanumeric() && c != '_');
                let name = name.get(..end.unwrap_or(0)).unwrap_or_default();
                self.assign_value(name, Some(("unknown", "")), uncertain);
            }
            _ => {}
        }
    }

    /// Arithmetic that may assign: its variables get numbers that are not written in the line.
    fn calculate_values(&self, arithmetic: &str, uncertain: &mut BTreeSet<String>) {
        let assigns = ["=", "++", "--"].iter().any(|operator| arithmetic.contains(operator));
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if assigns {
            uncertain.extend(arithmetic.split(|c| !is_part(c)).map(str::to_owned));
        }
    }

    fn assign_value(
        &mut self,
        name: &str,
        value: Option<(&str, &str)>,
        uncertain: &mut BTreeSet<String>,
    ) {
        let name = name.trim_matches(['\'', '"']).to_owned();
        let (kind, source) = value.unwrap_or(("word", ""));
        let is_number = matches!(kind, "arithmetic_expansion" | "brace_expression")
            || (matches!(kind, "number" | "word")
                && source.bytes().all(|byte| byte.is_ascii_digit()));
        if is_number {
            self.numbers.insert(name.clone());
        } else {
            self.texts.insert(name.clone());
        }
        match to_plain_value(kind, source) {
            Some(text) => self.values.entry(name).or_default().push(text.to_owned()),
            None => {
                uncertain.insert(name);
            }
        }
    }

    /// Does the line assign a value to it?
    pub(super) fn is_set(&self, name: &str) -> bool {
        self.texts.contains(name) || self.numbers.contains(name)
    }

    /// May arithmetic set this variable without affecting programs or the shell? Variables that
    /// bash always treats as numbers are harmless.
    pub(super) fn may_be_set_by_arithmetic(name: &str) -> bool {
        let is_special = name.chars().all(|c| "#?$!".contains(c));
        is_special || ALWAYS_NUMBERS.contains(&name) || is_line_local_variable(name)
    }

    pub(super) fn is_number(&self, name: &str) -> bool {
        let is_special = name.chars().all(|c| "#?$!".contains(c)) && !name.is_empty();
        is_special
            || ALWAYS_NUMBERS.contains(&name)
            || (self.numbers.contains(name) && !self.texts.contains(name))
    }
}

/// Does bash take this text as it is written?
fn is_plain_text(text: &str) -> bool {
    text.chars().all(|c| c.is_alphanumeric() || "_-./:+,%@ ".contains(c))
}

/// Commands before which a command that sets variables may be hidden.
const WRAPPED: &[&str] = &["builtin", "command", "eval", "time"];

/// The text of a value, if the shell would not change it.
fn to_plain_value<'t>(kind: &str, source: &'t str) -> Option<&'t str> {
    let (inner, is_quoted) = match kind {
        "raw_string" => (source.strip_prefix('\'')?.strip_suffix('\'')?, true),
        "string" => (source.strip_prefix('"')?.strip_suffix('"')?, true),
        "word" | "number" => (source, false),
        _ => return None,
    };
    let is_letter = |c: char| {
        c.is_alphanumeric()
            || "_-./,:=+@%".contains(c)
            || (is_quoted && c == ' ')
            || (!is_quoted && matches!(c, '*' | '?'))
    };
    inner.chars().all(is_letter).then_some(inner)
}
