//! What is known of an expansion before the shell runs: home, the present place, and variables that
//! are only given texts written in the line.

use tree_sitter::Node;

use super::Walk;
use crate::command::word::{Unit, Word, words};

impl<'t> Walk<'t, '_> {
    /// `$HOME` and `$PWD`, where nothing in the line sets them.
    pub(super) fn well_known(&self, source: &str) -> Option<String> {
        let path = match source {
            "$HOME" | "${HOME}" if !self.names.is_set("HOME") => self.scene.world.home()?,
            "$PWD" | "${PWD}" if !self.names.is_set("PWD") => match self.standing.all() {
                [one] => one.as_path(),
                _ => return None,
            },
            _ => return None,
        };
        let text = path.to_str()?.trim_end_matches('/');
        (!text.contains([' ', '*', '?', '['])).then(|| text.to_owned())
    }

    /// `~` at the beginning of a word, or behind `=` or `:`.
    pub(super) fn home(&mut self, units: &mut Vec<Unit>) {
        let is_plain =
            |unit: &Unit, wanted: char| *unit == Unit::Letter { letter: wanted, is_quoted: false };
        let mut last_ends = true;
        let mut found = None;
        for (at, unit) in units.iter().enumerate() {
            if last_ends && is_plain(unit, '~') {
                found = Some(at);
                break;
            }
            last_ends = is_plain(unit, '=') || is_plain(unit, ':');
        }
        let Some(at) = found else { return };
        let next = units.get(at + 1).copied();
        let is_own = next.is_none_or(|unit| is_plain(&unit, '/'));
        let home = self.scene.world.home().and_then(|home| home.to_str());
        let put: Vec<Unit> = match home.filter(|_| is_own && at == 0) {
            Some(home) => {
                let letter = |letter| Unit::Letter { letter, is_quoted: true };
                home.trim_end_matches('/').chars().map(letter).collect()
            }
            None => vec![Unit::Hole { is_quoted: true }],
        };
        units.splice(at..=at, put);
    }

    /// A word that is one variable and nothing else, whose values are all written in this line.
    pub(super) fn chosen(&self, node: Node<'t>) -> Option<Vec<Word>> {
        let source = self.source(node);
        let is_quoted = source.starts_with('"');
        let inner = source.trim_matches('"');
        let name = inner.strip_prefix("${").and_then(|name| name.strip_suffix('}'));
        let name = name.or_else(|| inner.strip_prefix('$'))?;
        let values = self.names.values.get(name)?;
        let is_whole = |value: &String| is_quoted || !value.contains(' ');
        if !values.iter().all(is_whole) || values.iter().any(String::is_empty) {
            return None;
        }
        // A pattern in the list of a loop has become names by the time the variable is used.
        let word = |value: &String| {
            let letter = |letter| Unit::Letter { letter, is_quoted: false };
            let units: Vec<Unit> = value.chars().map(letter).collect();
            let word = match value.contains(['*', '?']) {
                true => words(&units)?.pop()?,
                false => Word::literal(value),
            };
            Some(Word { is_choice: true, ..word })
        };
        values.iter().map(word).collect()
    }
}
