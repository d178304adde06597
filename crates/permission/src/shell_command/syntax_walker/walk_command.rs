//! Simple commands.

use std::path::Path;

use tree_sitter::Node;

use super::check_gaps::is_lone_dash;
use super::walk_statement::StatementDirectories;
use super::{ScriptContext, SyntaxWalker, children};
use crate::file_system_view::resolve_links;
use crate::path_pattern::normalize_path;
use crate::shell_command::parsed_script::{PossibleDirectories, SimpleCommand};
use crate::shell_command::shell_word::ShellWord;
use crate::shell_command::wrapper;

/// Keywords of bash. If one is the name of a command, the grammar has misparsed the line.
const RESERVED: &[&str] = &[
    "if", "then", "else", "elif", "fi", "do", "done", "case", "esac", "while", "until", "for",
    "function", "select", "coproc", "in", "{", "}", "!", "[[", "]]",
];

impl<'t> SyntaxWalker<'t, '_> {
    pub(super) fn walk_command(
        &mut self,
        node: Node<'t>,
        directories: PossibleDirectories,
    ) -> StatementDirectories {
        self.walk_command_with_redirects(node, node, &[], directories)
    }

    /// A command with the redirects after it.
    pub(super) fn walk_command_with_redirects(
        &mut self,
        node: Node<'t>,
        whole: Node<'t>,
        redirects: &[Node<'t>],
        directories: PossibleDirectories,
    ) -> StatementDirectories {
        self.set_directories(&directories);
        let mut part = SimpleCommand {
            text: self.source(whole).to_owned(),
            working_directories: directories,
            ..SimpleCommand::default()
        };
        let mut last_end = None;
        for child in children(node) {
            match child.kind() {
                "comment" => {}
                "variable_assignment" => {
                    let assign = self.parse_assignment(child);
                    part.assigns.push(assign);
                }
                "file_redirect" | "herestring_redirect" | "heredoc_redirect" => {
                    self.walk_redirect(child, &mut part);
                }
                _ => {
                    if last_end == Some(child.start_byte()) {
                        self.add_doubt("two words without a blank between them", child);
                    }
                    let is_name = child.kind() == "command_name";
                    let inner = if is_name { child.child(0).unwrap_or(child) } else { child };
                    self.check_reserved(inner, is_name, &part.words);
                    let words = self.parse_words(inner);
                    let starts = words.iter().map(|_| inner.start_byte());
                    part.word_starts.extend(starts);
                    part.words.extend(words);
                }
            }
            last_end = Some(child.end_byte());
        }
        let mut last_end = node.end_byte();
        for redirect in redirects {
            let gap = self.text.get(last_end..redirect.start_byte()).unwrap_or_default();
            if redirect.kind() == "heredoc_redirect" && is_lone_dash(gap) {
                part.words.push(ShellWord::literal("-"));
            }
            last_end = redirect.end_byte();
            self.walk_redirect(*redirect, &mut part);
        }
        let mut outcome = self.track_directories(&part);
        self.add_command(part);
        for redirect in redirects.iter().filter(|node| node.kind() == "heredoc_redirect") {
            outcome = self.walk_after_heredoc(*redirect, outcome);
        }
        outcome
    }

    /// Detects keywords that the grammar treats as plain words.
    fn check_reserved(&mut self, node: Node<'t>, is_name: bool, before: &[ShellWord]) {
        let source = self.source(node);
        let opens = |word: &ShellWord| matches!(word.text.as_str(), "time" | "coproc" | "!" | "-p");
        let is_opened = before.iter().all(opens) && before.first().is_some_and(opens);
        if RESERVED.contains(&source) && (is_name || is_opened || source == "coproc") {
            self.add_doubt("a word of the shell's grammar where none belongs", node);
        }
        if is_name && source.contains('=') && !source.starts_with(['\'', '"', '[']) {
            self.add_doubt("an assignment the grammar did not see", node);
        }
    }

    fn track_directories(&mut self, part: &SimpleCommand) -> StatementDirectories {
        let outcome = self.directories_after(part);
        self.may_have_moved |= outcome.on_success != part.working_directories
            || outcome.on_failure != part.working_directories;
        outcome
    }

    fn directories_after(&self, part: &SimpleCommand) -> StatementDirectories {
        let stay = StatementDirectories::same_for_both(part.working_directories.clone());
        let known = |word: &ShellWord| word.as_certain().map(str::to_owned);
        let Some(words) = part.words.iter().map(known).collect::<Option<Vec<_>>>() else {
            let may_move = part.words.first().is_none_or(|word| {
                word.as_certain().is_none()
                    || may_change_directory(&word.text)
                    || self.variables.functions.contains(&word.text)
            });
            return if may_move {
                StatementDirectories::same_for_both(PossibleDirectories::Unknown)
            } else {
                stay
            };
        };
        let mut words = words.as_slice();
        while let [first, rest @ ..] = words
            && matches!(first.as_str(), "command" | "builtin" | "time" | "-p")
        {
            words = rest;
        }
        let Some((program, arguments)) = words.split_first() else { return stay };
        let calls = self.variables.functions.contains(program) && self.may_have_moved;
        if program != "cd" {
            let moves = calls || (may_change_directory(program) && program != "command");
            return if moves {
                StatementDirectories::same_for_both(PossibleDirectories::Unknown)
            } else {
                stay
            };
        }
        let is_physical = arguments.iter().any(|word| word == "-P");
        let targets: Vec<&String> = arguments
            .iter()
            .filter(|word| !matches!(word.as_str(), "-L" | "-P" | "-e" | "--"))
            .collect();
        let home = self.context.file_system.home_directory();
        let target = match targets.as_slice() {
            [] => home.map(Path::to_path_buf),
            [one] if !one.starts_with('-') && !one.is_empty() => Some(one.as_str().into()),
            _ => None,
        };
        let Some(target) = target else {
            return StatementDirectories {
                on_success: PossibleDirectories::Unknown,
                on_failure: part.working_directories.clone(),
            };
        };
        let mut ok: Option<PossibleDirectories> = None;
        for place in part.working_directories.as_slice() {
            let spelled = normalize_path(place, &target);
            let place = match is_physical {
                true => resolve_links(self.context.file_system, place, &target).real,
                false => spelled,
            };
            let one = PossibleDirectories::single(place);
            ok = Some(ok.map_or_else(|| one.clone(), |so_far| so_far.union_with(one.clone())));
        }
        let absolute = || {
            target
                .is_absolute()
                .then(|| PossibleDirectories::single(normalize_path(&target, Path::new(""))))
        };
        let ok = ok.or_else(absolute).unwrap_or_default();
        StatementDirectories { on_success: ok, on_failure: part.working_directories.clone() }
    }

    /// Adds a part with everything it runs.
    pub(super) fn add_command(&mut self, mut part: SimpleCommand) {
        let first = part.words.first().and_then(ShellWord::as_known);
        part.is_function = first.is_some_and(|name| self.functions.contains(name));
        if let Some(first) = part.words.first() {
            self.script.has_hidden |= first.is_expanded() || first.is_choice;
        }
        let context = ScriptContext { depth: self.depth, ..self.context };
        wrapper::add_with_nested(part, context, self.nested, self.script);
    }
}

/// Commands that may change the shell's directory.
fn may_change_directory(program: &str) -> bool {
    matches!(program, "cd" | "pushd" | "popd" | "eval" | "source" | "." | "command" | "builtin")
}
