//! Walks the grammar's tree to find the commands of a line, and accepts only known nodes.
//!
//! An unknown kind of node, a gap that is not blank, a word with a special character: each is a
//! doubt, and a line with a doubt is never allowed by analysis alone. Commands in a doubtful line
//! are still collected, for deny rules.

mod check_arithmetic;
mod check_gaps;
mod known_values;
mod line_variables;
mod walk_command;
mod walk_condition;
mod walk_declaration;
mod walk_expansion;
mod walk_redirect;
mod walk_statement;
mod word_units;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;

use tree_sitter::Node;

use super::bash_grammar::parse_bash;
use super::document_text::take_documents_out;
use super::parsed_script::{ParseDoubt, ParsedShellScript, PossibleDirectories};
use super::wrapper;
use crate::file_system_view::FileSystemView;
use line_variables::LineVariables;

/// Limit on the depth of the tree; deeper nodes are a doubt.
const DEPTH_MAX: usize = 120;

/// Limit on nested shells.
pub(super) const NESTED_MAX: u8 = 8;

/// Limit on the doubts kept; the first one is sufficient.
const DOUBTS_MAX: usize = 8;

/// Limit on the parts; a line with more is not understood.
const PARTS_MAX: usize = 50_000;

#[derive(Clone, Copy)]
pub(crate) struct ScriptContext<'a> {
    pub(crate) cwd: Option<&'a Path>,
    pub(crate) file_system: &'a dyn FileSystemView,
    /// The nesting depth of this text in other lines.
    pub(crate) depth: usize,
}

pub(crate) fn parse_script(text: &str, context: ScriptContext<'_>) -> ParsedShellScript {
    let directories = context
        .cwd
        .map_or(PossibleDirectories::Unknown, |cwd| PossibleDirectories::single(cwd.to_path_buf()));
    let mut script = ParsedShellScript::default();
    let shown = blank_leading_time(text);
    parse_script_at(&shown, context, directories.clone(), 0, &mut script);
    if !script.is_understood()
        && let Some(line) = take_documents_out(&shown)
    {
        let mut second = ParsedShellScript::default();
        parse_script_at(&line.text, context, directories, 0, &mut second);
        wrapper::parse_shell_input(0, &line.documents, context, 0, &mut second);
        if second.is_understood() {
            second.forget_word_starts();
            script = second;
        }
    }
    if text.contains('\0') {
        push_doubt(&mut script, "a letter no command can hold", text);
    }
    script
}

/// Replaces `time` before a group, which the grammar does not support, by blanks: it does not
/// change what runs.
fn blank_leading_time(text: &str) -> Cow<'_, str> {
    let rest = text.trim_start_matches([' ', '\t', '\n']);
    let behind = rest.strip_prefix("time").map(|rest| rest.trim_start_matches([' ', '\t']));
    let is_group = behind.is_some_and(|behind| {
        behind.starts_with('(') && !behind.starts_with("((") || behind.starts_with("{ ")
    });
    let has_gap = rest.strip_prefix("time").is_some_and(|rest| rest.starts_with([' ', '\t']));
    match is_group && has_gap {
        true => Cow::Owned(text.replacen("time", "    ", 1)),
        false => Cow::Borrowed(text),
    }
}

/// The same for text inside a line, whose shell has other directories.
pub(super) fn parse_script_at(
    text: &str,
    context: ScriptContext<'_>,
    directories: PossibleDirectories,
    nested: u8,
    script: &mut ParsedShellScript,
) {
    let Some(tree) = parse_bash(text).filter(|_| nested <= NESTED_MAX) else {
        push_doubt(script, "too long or too deep to take apart", text);
        script.has_hidden = true;
        return;
    };
    let root = tree.root_node();
    let from = script.parts.len();
    let mut walk = SyntaxWalker {
        text,
        context,
        nested,
        depth: context.depth,
        variables: LineVariables::collect(root, text),
        functions: BTreeSet::new(),
        input_texts: Vec::new(),
        substitutions: 0,
        directories: PossibleDirectories::Unknown,
        may_have_moved: false,
        function_bodies: Vec::new(),
        script,
    };
    walk.check_gaps(root);
    walk.walk_statement(root, directories);
    if walk.may_have_moved {
        for body in std::mem::take(&mut walk.function_bodies) {
            walk.forget_directories(body);
        }
    }
    let documents = std::mem::take(&mut walk.input_texts);
    wrapper::parse_shell_input(from, &documents, context, nested, script);
}

fn push_doubt(script: &mut ParsedShellScript, why: &'static str, text: &str) {
    if script.doubts.len() < DOUBTS_MAX {
        let text = text.chars().take(60).collect();
        script.doubts.push(ParseDoubt { why, text });
    }
}

struct SyntaxWalker<'t, 's> {
    text: &'t str,
    context: ScriptContext<'t>,
    nested: u8,
    depth: usize,
    variables: LineVariables,
    /// Functions that are certainly defined at this point.
    functions: BTreeSet<String>,
    /// Texts that commands get as input.
    input_texts: Vec<String>,
    /// The number of enclosing substitutions.
    substitutions: usize,
    /// The directories of the current statement.
    directories: PossibleDirectories,
    /// Something so far may have changed the shell's directory.
    may_have_moved: bool,
    /// The parts in functions, which run wherever they are called.
    function_bodies: Vec<Range<usize>>,
    script: &'s mut ParsedShellScript,
}

impl<'t> SyntaxWalker<'t, '_> {
    fn source(&self, node: Node<'_>) -> &'t str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    fn add_doubt(&mut self, why: &'static str, node: Node<'_>) {
        let text = self.source(node);
        push_doubt(self.script, why, text);
    }

    /// Marks the directories of these parts as unknown.
    fn forget_directories(&mut self, parts: Range<usize>) {
        let parts = self.script.parts.get_mut(parts).unwrap_or_default();
        parts.iter_mut().for_each(|part| part.working_directories = PossibleDirectories::Unknown);
    }

    /// Descends one level, up to the limit.
    fn descend<T>(&mut self, node: Node<'_>, go: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.depth >= DEPTH_MAX || self.script.parts.len() >= PARTS_MAX {
            self.add_doubt("nested too deep", node);
            self.script.has_hidden = true;
            return None;
        }
        self.depth += 1;
        let result = go(self);
        self.depth -= 1;
        Some(result)
    }
}

fn children<'t>(node: Node<'t>) -> Vec<Node<'t>> {
    node.children(&mut node.walk()).collect()
}

fn named_children<'t>(node: Node<'t>) -> Vec<Node<'t>> {
    node.named_children(&mut node.walk()).filter(|child| child.kind() != "comment").collect()
}
