//! Redirects: files connected to a command, and here-documents.

use tree_sitter::Node;

use super::walk_statement::StatementDirectories;
use super::{SyntaxWalker, children, named_children};
use crate::file_system_view::PathAccess;
use crate::shell_command::parsed_script::{PossibleDirectories, ShellRedirect, SimpleCommand};
use crate::shell_command::shell_variable::is_variable_name;
use crate::shell_command::shell_word::WordUnit;

impl<'t> SyntaxWalker<'t, '_> {
    /// A statement with redirects after it. Those of a simple command belong to it; those of a
    /// compound one are checked for all directories the shell may be in by then.
    pub(super) fn walk_redirected_statement(
        &mut self,
        node: Node<'t>,
        directories: PossibleDirectories,
    ) -> StatementDirectories {
        let body = node.child_by_field_name("body");
        let redirects: Vec<Node<'t>> =
            node.children_by_field_name("redirect", &mut node.walk()).collect();
        if let Some(body) = body.filter(|body| body.kind() == "command") {
            return self.walk_command_with_redirects(body, node, &redirects, directories);
        }
        let outcome = body.map_or(StatementDirectories::same_for_both(directories.clone()), |b| {
            self.walk_statement(b, directories.clone())
        });
        let reachable = directories
            .union_with(outcome.on_success.clone())
            .union_with(outcome.on_failure.clone());
        self.set_directories(&reachable);
        let mut part =
            SimpleCommand { text: self.source(node).to_owned(), ..SimpleCommand::default() };
        part.working_directories = reachable.clone();
        let mut after = outcome;
        for redirect in redirects {
            self.walk_redirect(redirect, &mut part);
            if redirect.kind() == "heredoc_redirect" {
                after = self.walk_after_heredoc(redirect, after);
            }
        }
        if !part.words.is_empty() {
            self.add_doubt("a word after a redirect of several commands", node);
            part.words.clear();
        }
        if !part.redirects.is_empty() || body.is_none() {
            self.add_command(part);
        }
        after
    }

    /// One redirect. Words after its target belong to the command.
    pub(super) fn walk_redirect(&mut self, node: Node<'t>, part: &mut SimpleCommand) {
        if self.follows_variable(node.start_byte()) {
            self.add_doubt("a redirect that sets a variable", node);
        }
        match node.kind() {
            "file_redirect" => self.walk_file_redirect(node, part),
            "herestring_redirect" => {
                for child in named_children(node) {
                    if child.kind() == "file_descriptor" {
                        continue;
                    }
                    let word = self.parse_word(child);
                    self.input_texts.push(word.text);
                }
            }
            "heredoc_redirect" => self.walk_heredoc(node, part),
            _ => self.add_doubt("a redirect that is not known", node),
        }
    }

    /// `{name}>file` assigns the descriptor's number to the variable.
    fn follows_variable(&self, at: usize) -> bool {
        let before = self.text.get(..at).and_then(|text| text.strip_suffix('}'));
        let name = before.map(|text| text.rsplit('{').next().unwrap_or_default());
        before.is_some_and(|text| text.contains('{')) && name.is_some_and(is_variable_name)
    }

    fn walk_file_redirect(&mut self, node: Node<'t>, part: &mut SimpleCommand) {
        let operator = children(node).into_iter().find(|child| !child.is_named());
        let operator = operator.map_or("", |child| child.kind());
        let does = match operator {
            "<" | "<&" | "<&-" => PathAccess::Read,
            ">" | ">>" | "&>" | "&>>" | ">&" | ">|" | ">&-" => PathAccess::Write,
            _ => {
                self.add_doubt("a redirect that is not known", node);
                PathAccess::Write
            }
        };
        let has_number = node.child_by_field_name("descriptor").is_some();
        let before = self.text.get(..node.start_byte()).and_then(|text| text.chars().next_back());
        if has_number && before.is_some_and(|c| !" \t\n;&|()".contains(c)) {
            self.add_doubt("a number that may belong to the word in front", node);
        }
        let mut targets =
            node.children_by_field_name("destination", &mut node.walk()).collect::<Vec<_>>();
        if targets.is_empty() {
            return;
        }
        let first = targets.remove(0);
        let target = self.parse_word(first);
        let is_stream = operator.contains('&')
            && !operator.starts_with('&')
            && target.as_known().is_some_and(|text| {
                let digits = text.strip_suffix('-').unwrap_or(text);
                digits.bytes().all(|byte| byte.is_ascii_digit())
            });
        if !is_stream {
            part.redirects.push(ShellRedirect { access: does, target });
        }
        let mut last_end = first.end_byte();
        for more in targets {
            if more.start_byte() == last_end {
                self.add_doubt("two words without a blank between them", more);
            }
            last_end = more.end_byte();
            let words = self.parse_words(more);
            part.words.extend(words);
        }
    }

    /// `<<`: bash and the grammar must agree where the text ends, and what in it is expanded.
    fn walk_heredoc(&mut self, node: Node<'t>, part: &mut SimpleCommand) {
        let all = children(node);
        let find = |kind: &str| all.iter().copied().find(|child| child.kind() == kind);
        let (Some(start), Some(end)) = (find("heredoc_start"), find("heredoc_end")) else {
            return self.add_doubt("a document without an end", node);
        };
        let strips_tabs = all.iter().any(|child| child.kind() == "<<-");
        let written = self.source(start);
        let is_quoted = written.contains(['\'', '"', '\\']);
        let mark = written.trim_matches(if written.starts_with('"') { '"' } else { '\'' });
        if mark.is_empty() || !mark.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
            self.add_doubt("a document with an odd mark", start);
        }
        let line_end = self.text.get(start.end_byte()..).and_then(|rest| rest.find('\n'));
        let from = start.end_byte() + line_end.map_or(0, |at| at + 1);
        let first_line = self.text.get(start.end_byte()..from).unwrap_or_default();
        let is_even = |quote: char| first_line.matches(quote).count().is_multiple_of(2);
        if first_line.contains(['\\', '`', '(', ')', '#']) || !is_even('"') || !is_even('\'') {
            self.add_doubt("a document whose first line is not plain", start);
        }
        let strip = |line: &'t str| if strips_tabs { line.trim_start_matches('\t') } else { line };
        let text = self.text.get(from..end.start_byte()).unwrap_or_default();
        // Tabs before the delimiter belong neither to it nor to the text.
        let (body, lead) = text.rsplit_once('\n').map_or(("", text), |(body, lead)| (body, lead));
        let rest = self.text.get(end.end_byte()..).unwrap_or_default();
        let ends = strip(lead).is_empty()
            && self.source(end) == mark
            && (rest.is_empty() || rest.starts_with('\n'));
        if !ends || body.lines().any(|line| strip(line) == mark) {
            self.add_doubt("a document that ends elsewhere for bash", end);
        }
        if let Some(node) = find("heredoc_body").filter(|_| !is_quoted) {
            if body.contains("\\\n") {
                self.add_doubt("joined lines in a document", node);
            }
            let mut units: Vec<WordUnit> = Vec::new();
            self.collect_quoted_text(node, from, end.start_byte(), "", &mut units);
        } else if !is_quoted && body.contains(['$', '`']) {
            self.add_doubt("a document the grammar did not look into", node);
        }
        self.input_texts.push(text.to_owned());
        for child in node.children_by_field_name("redirect", &mut node.walk()) {
            self.walk_redirect(child, part);
        }
        for child in node.children_by_field_name("argument", &mut node.walk()) {
            let words = self.parse_words(child);
            part.words.extend(words);
        }
    }

    /// The text after the delimiter on the first line: a pipe, or another command.
    pub(super) fn walk_after_heredoc(
        &mut self,
        node: Node<'t>,
        before: StatementDirectories,
    ) -> StatementDirectories {
        let mut outcome = before;
        let operator = node.child_by_field_name("operator").map(|child| child.kind());
        for child in named_children(node) {
            let is_known = matches!(
                child.kind(),
                "heredoc_start" | "heredoc_body" | "heredoc_end" | "file_descriptor"
            );
            let has_field = |name: &str| {
                node.children_by_field_name(name, &mut node.walk()).any(|other| other == child)
            };
            if is_known || has_field("redirect") || has_field("argument") {
                continue;
            }
            if child.kind() == "pipeline" {
                let has_moved = std::mem::take(&mut self.may_have_moved);
                // A pipe binds more tightly than what the grammar puts after it.
                let directories = outcome.on_success.clone().union_with(outcome.on_failure.clone());
                for piece in named_children(child) {
                    self.walk_statement(piece, directories.clone());
                }
                if self.may_have_moved {
                    self.add_doubt(
                        "a change of directory after a here-document's delimiter",
                        child,
                    );
                }
                self.may_have_moved |= has_moved;
            } else if has_field("right") && operator == Some("&&") {
                let right = self.walk_statement(child, outcome.on_success.clone());
                outcome = StatementDirectories {
                    on_success: right.on_success,
                    on_failure: outcome.on_failure.union_with(right.on_failure),
                };
            } else if has_field("right") {
                let right = self.walk_statement(child, outcome.on_failure.clone());
                outcome = StatementDirectories {
                    on_success: outcome.on_success.union_with(right.on_success),
                    on_failure: right.on_failure,
                };
            } else {
                self.add_doubt("text after a here-document's delimiter", child);
                self.walk_statement(child, PossibleDirectories::Unknown);
            }
        }
        outcome
    }
}
