//! Builtins of the shell that change nothing but the shell's own variables, when called plainly.
//!
//! Several of them evaluate a subscript in a name they are given, which may run a command; so only
//! plain names are taken.

use super::variable::{is_name, is_own};
use super::word::Word;

/// `test` and `[`, which evaluate only with `-v` and `-R`.
pub(super) fn tests(arguments: &[Word]) -> bool {
    arguments.iter().all(|word| match word.as_known() {
        Some(text) => !matches!(text, "-v" | "-R"),
        // A quoted word may hold such an operator, but in its place only one that is written counts.
        None => !word.is_split && !word.is_glob,
    })
}

/// `read`, into variables of the line's own.
pub(super) fn reads_variables(arguments: &[Word]) -> bool {
    let mut takes_value = false;
    arguments.iter().all(|word| {
        let Some(text) = word.certain() else { return false };
        if std::mem::take(&mut takes_value) {
            return true;
        }
        match text.strip_prefix('-') {
            Some(letters) if !letters.is_empty() => {
                takes_value = letters.ends_with(['d', 'n', 'N', 'p', 't', 'u']);
                letters.chars().all(|c| "rsednNptu".contains(c))
            }
            _ => is_name(text) && is_own(text),
        }
    })
}

/// `set` with switches that make the shell stricter.
pub(super) fn sets(arguments: &[Word]) -> bool {
    let is_switch = |text: &str| {
        let letters = text.strip_prefix('-').unwrap_or_default();
        !letters.is_empty() && letters.chars().all(|c| "euo".contains(c))
    };
    let mut last_is_o = false;
    !arguments.is_empty()
        && arguments.iter().all(|word| {
            let text = word.certain().unwrap_or_default();
            if std::mem::take(&mut last_is_o) {
                return matches!(text, "pipefail" | "errexit" | "nounset");
            }
            last_is_o = text.ends_with('o');
            is_switch(text)
        })
}

/// `export`, `declare` and the like: which variables and how.
pub(super) fn declares(words: &[Word]) -> bool {
    words
        .iter()
        .skip(1)
        .all(|word| matches!(word.certain(), Some("-r" | "-a" | "-A" | "-g" | "-l")))
}
