//! Known values of expansions: the home directory, the current directory, and variables that only
//! get values written in the line.

use tree_sitter::Node;

use super::SyntaxWalker;
use crate::shell_command::shell_word::{ShellWord, WordUnit, expand_words};

impl<'t> SyntaxWalker<'t, '_> {
    /// `$HOME` and `$PWD`, unless the line sets them.
    pub(super) fn known_directory(&self, source: &str) -> Option<String> {
        let path = match source {
            "$HOME" | "${HOME}" if !self.variables.is_set("HOME") => {
                self.context.file_system.home_directory()?
            }
            "$PWD" | "${PWD}" if !self.variables.is_set("PWD") => match self.directories.as_slice()
            {
                [one] => one.as_path(),
                _ => return None,
            },
            _ => return None,
        };
        let text = path.to_str()?.trim_end_matches('/');
        (!text.contains([' ', '*', '?', '['])).then(|| text.to_owned())
    }

    /// `~` at the beginning of a word, or after `=` or `:`.
    pub(super) fn expand_home(&mut self, units: &mut Vec<WordUnit>) {
        let is_plain = |unit: &WordUnit, wanted: char| {
            *unit == WordUnit::Letter { letter: wanted, is_quoted: false }
        };
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
        let home = self.context.file_system.home_directory().and_then(|home| home.to_str());
        let put: Vec<WordUnit> = match home.filter(|_| is_own && at == 0) {
            Some(home) => {
                let letter = |letter| WordUnit::Letter { letter, is_quoted: true };
                home.trim_end_matches('/').chars().map(letter).collect()
            }
            None => vec![WordUnit::RuntimeText { is_quoted: true }],
        };
        units.splice(at..=at, put);
    }

    /// A word that is a single variable, all of whose values are written in this line.
    pub(super) fn listed_values(&self, node: Node<'t>) -> Option<Vec<ShellWord>> {
        let source = self.source(node);
        let is_quoted = source.starts_with('"');
        let inner = source.trim_matches('"');
        let name = inner.strip_prefix("${").and_then(|name| name.strip_suffix('}'));
        let name = name.or_else(|| inner.strip_prefix('$'))?;
        let values = self.variables.values.get(name)?;
        // An unquoted value is split at blanks and expanded as a pattern again.
        let is_whole =
            |value: &String| is_quoted || !value.contains(|c: char| c.is_whitespace() || c == '\\');
        if !values.iter().all(is_whole) || values.iter().any(String::is_empty) {
            return None;
        }
        // A pattern in a loop's list is expanded before the variable is used.
        let word = |value: &String| {
            let letter = |letter| WordUnit::Letter { letter, is_quoted: false };
            let units: Vec<WordUnit> = value.chars().map(letter).collect();
            let word = match value.contains(['*', '?']) || !is_quoted && value.contains('[') {
                true => expand_words(&units)?.pop()?,
                false => ShellWord::literal(value),
            };
            Some(ShellWord { is_choice: true, is_divided_again: !is_quoted, ..word })
        };
        values.iter().map(word).collect()
    }
}
