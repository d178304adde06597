//! The suffix with which a program keeps the old content of a file that it changes: it decides the
//! name of a new file.

use crate::protected_paths::find_protected_name_by_suffix;

use super::wrapper::base_name;
use super::{ShellWord, SimpleCommand, strip_wrappers};

/// A protected name that a backup copy of this part may get.
pub(crate) fn find_protected_backup(part: &SimpleCommand) -> Option<&'static str> {
    let words = strip_wrappers(&part.words).unwrap_or(&part.words);
    let (program, arguments) = words.split_first()?;
    let letter = match base_name(&program.text) {
        "cp" | "mv" | "ln" | "install" => 'S',
        "sed" => 'i',
        _ => return None,
    };
    let following = arguments.iter().skip(1).map(Some).chain([None]);
    arguments.iter().zip(following).find_map(|(word, next)| {
        let suffix = find_suffix(letter, &word.text, next)?;
        find_protected_name_by_suffix(suffix)
    })
}

fn find_suffix<'w>(letter: char, word: &'w str, next: Option<&'w ShellWord>) -> Option<&'w str> {
    let next = || next.map(|next| next.text.as_str());
    if let Some(long) = word.strip_prefix("--") {
        let (name, value) = long.split_once('=').map_or((long, None), |(n, v)| (n, Some(v)));
        let (full, has_own_word) = match letter {
            'i' => ("in-place", false),
            _ => ("suffix", true),
        };
        let is_meant = !name.is_empty() && full.starts_with(name);
        return value.or_else(|| next().filter(|_| has_own_word)).filter(|_| is_meant);
    }
    let letters = word.strip_prefix('-')?;
    let (_, value) = letters.split_once(letter)?;
    match value {
        "" if letter == 'S' => next(),
        value => Some(value),
    }
}
