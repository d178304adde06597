//! Builtins of the shell that change nothing but the shell's own variables, when called plainly.
//!
//! Several of them evaluate a subscript in a name they are given, which may run a command; so only
//! plain names are taken.

use super::shell_variable::{is_line_local_variable, is_variable_name};
use super::shell_word::ShellWord;

/// `test` and `[`, which evaluate only with `-v` and `-R`.
pub(super) fn is_plain_test(arguments: &[ShellWord]) -> bool {
    arguments.iter().all(|word| match word.as_known() {
        Some(text) => !matches!(text, "-v" | "-R"),
        // A quoted word may hold such an operator, but in its place only one that is written counts.
        None => !word.is_split && !word.is_glob,
    })
}

/// `read`, into variables of the line's own.
pub(super) fn is_plain_read(arguments: &[ShellWord]) -> bool {
    let mut takes_value = false;
    arguments.iter().all(|word| {
        let Some(text) = word.as_certain() else { return false };
        if std::mem::take(&mut takes_value) {
            return true;
        }
        match text.strip_prefix('-') {
            Some(letters) if !letters.is_empty() => {
                takes_value = letters.ends_with(['d', 'n', 'N', 'p', 't', 'u']);
                letters.chars().all(|c| "rsednNptu".contains(c))
            }
            _ => is_variable_name(text) && is_line_local_variable(text),
        }
    })
}

/// `set` with switches that make the shell stricter.
pub(super) fn is_plain_set(arguments: &[ShellWord]) -> bool {
    let is_switch = |text: &str| {
        let letters = text.strip_prefix('-').unwrap_or_default();
        !letters.is_empty() && letters.chars().all(|c| "euo".contains(c))
    };
    let mut last_is_o = false;
    !arguments.is_empty()
        && arguments.iter().all(|word| {
            let text = word.as_certain().unwrap_or_default();
            if std::mem::take(&mut last_is_o) {
                return matches!(text, "pipefail" | "errexit" | "nounset");
            }
            last_is_o = text.ends_with('o');
            is_switch(text)
        })
}

/// `export`, `declare` and the like: which variables and how.
pub(super) fn is_plain_declaration(words: &[ShellWord]) -> bool {
    words
        .iter()
        .skip(1)
        .all(|word| matches!(word.as_certain(), Some("-r" | "-a" | "-A" | "-g" | "-l")))
}
