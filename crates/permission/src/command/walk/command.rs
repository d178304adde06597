//! Simple commands.

use std::path::Path;

use tree_sitter::Node;

use super::statement::Outcome;
use super::{Scene, Walk, children};
use crate::command::script::{Part, Places};
use crate::command::word::Word;
use crate::command::wrapper;
use crate::path::resolve;
use crate::world::follow;

/// Words of bash's own grammar. As the name of a command, the grammar has lost its way.
const RESERVED: &[&str] = &[
    "if", "then", "else", "elif", "fi", "do", "done", "case", "esac", "while", "until", "for",
    "function", "select", "coproc", "in", "{", "}", "!", "[[", "]]",
];

impl<'t> Walk<'t, '_> {
    pub(super) fn command(&mut self, node: Node<'t>, places: Places) -> Outcome {
        self.command_with(node, node, &[], places)
    }

    /// A command, with the redirects that stand behind it.
    pub(super) fn command_with(
        &mut self,
        node: Node<'t>,
        whole: Node<'t>,
        redirects: &[Node<'t>],
        places: Places,
    ) -> Outcome {
        self.stand(&places);
        let mut part = Part { text: self.source(whole).to_owned(), places, ..Part::default() };
        let mut last_end = None;
        for child in children(node) {
            match child.kind() {
                "comment" => {}
                "variable_assignment" => {
                    let assign = self.assign(child);
                    part.assigns.push(assign);
                }
                "file_redirect" | "herestring_redirect" | "heredoc_redirect" => {
                    self.redirect(child, &mut part);
                }
                _ => {
                    if last_end == Some(child.start_byte()) {
                        self.doubt("two words without a blank between them", child);
                    }
                    let is_name = child.kind() == "command_name";
                    let inner = if is_name { child.child(0).unwrap_or(child) } else { child };
                    self.reserved(inner, is_name, &part.words);
                    let words = self.words(inner);
                    part.words.extend(words);
                }
            }
            last_end = Some(child.end_byte());
        }
        for redirect in redirects {
            self.redirect(*redirect, &mut part);
        }
        let mut outcome = self.outcome(&part);
        self.add(part);
        for redirect in redirects.iter().filter(|node| node.kind() == "heredoc_redirect") {
            outcome = self.behind(*redirect, outcome);
        }
        outcome
    }

    /// Words the grammar took for plain ones that bash takes for grammar.
    fn reserved(&mut self, node: Node<'t>, is_name: bool, before: &[Word]) {
        let source = self.source(node);
        let opens = |word: &Word| matches!(word.text.as_str(), "time" | "coproc" | "!" | "-p");
        let is_opened = before.iter().all(opens) && before.first().is_some_and(opens);
        if RESERVED.contains(&source) && (is_name || is_opened || source == "coproc") {
            self.doubt("a word of the shell's grammar where none belongs", node);
        }
        if is_name && source.contains('=') && !source.starts_with(['\'', '"', '[']) {
            self.doubt("an assignment the grammar did not see", node);
        }
    }

    /// Where the shell stands afterwards.
    fn outcome(&mut self, part: &Part) -> Outcome {
        let outcome = self.whereabouts(part);
        self.has_moved |= outcome.ok != part.places || outcome.bad != part.places;
        outcome
    }

    fn whereabouts(&self, part: &Part) -> Outcome {
        let stay = Outcome::same(part.places.clone());
        let known = |word: &Word| word.certain().map(str::to_owned);
        let Some(words) = part.words.iter().map(known).collect::<Option<Vec<_>>>() else {
            let may_move = part.words.first().is_none_or(|word| {
                word.certain().is_none()
                    || may_move(&word.text)
                    || self.names.functions.contains(&word.text)
            });
            return if may_move { Outcome::same(Places::Unknown) } else { stay };
        };
        let mut words = words.as_slice();
        while let [first, rest @ ..] = words
            && matches!(first.as_str(), "command" | "builtin" | "time" | "-p")
        {
            words = rest;
        }
        let Some((program, arguments)) = words.split_first() else { return stay };
        let calls = self.names.functions.contains(program) && self.has_moved;
        if program != "cd" {
            let moves = calls || (may_move(program) && program != "command");
            return if moves { Outcome::same(Places::Unknown) } else { stay };
        }
        let is_physical = arguments.iter().any(|word| word == "-P");
        let targets: Vec<&String> = arguments
            .iter()
            .filter(|word| !matches!(word.as_str(), "-L" | "-P" | "-e" | "--"))
            .collect();
        let home = self.scene.world.home();
        let target = match targets.as_slice() {
            [] => home.map(Path::to_path_buf),
            [one] if !one.starts_with('-') && !one.is_empty() => Some(one.as_str().into()),
            _ => None,
        };
        let Some(target) = target else {
            return Outcome { ok: Places::Unknown, bad: part.places.clone() };
        };
        let mut ok: Option<Places> = None;
        for place in part.places.all() {
            let spelled = resolve(place, &target);
            let place = match is_physical {
                true => follow(self.scene.world, place, &target).real,
                false => spelled,
            };
            let one = Places::one(place);
            ok = Some(ok.map_or_else(|| one.clone(), |so_far| so_far.or(one.clone())));
        }
        let absolute =
            || target.is_absolute().then(|| Places::one(resolve(&target, Path::new(""))));
        let ok = ok.or_else(absolute).unwrap_or_default();
        Outcome { ok, bad: part.places.clone() }
    }

    /// Adds a part with everything it runs in turn.
    pub(super) fn add(&mut self, mut part: Part) {
        let first = part.words.first().and_then(Word::as_known);
        part.is_function = first.is_some_and(|name| self.functions.contains(name));
        if let Some(first) = part.words.first() {
            self.script.has_hidden |= first.is_expanded() || first.is_choice;
        }
        let scene = Scene { depth: self.depth, ..self.scene };
        wrapper::add(part, scene, self.nested, self.script);
    }
}

/// Commands that leave the shell somewhere else, or may.
fn may_move(program: &str) -> bool {
    matches!(program, "cd" | "pushd" | "popd" | "eval" | "source" | "." | "command" | "builtin")
}
