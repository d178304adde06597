//! Shell builtins that only change the shell's own variables.
//!
//! Several of them evaluate a subscript in a name, which may run a command; so only plain names are
//! accepted.

use super::parsed_script::{SimpleCommand, VariableAssignment};
use super::program_table::{FILE_CHANGING_PROGRAMS, find_read_only_program};
use super::shell_variable::{is_line_local_variable, is_variable_name};
use super::shell_word::ShellWord;
use super::wrapper::is_runner;

/// `test` and `[`, without the closing bracket. Bash evaluates a subscript after `-v` and `-R`, and
/// a word known only at run time may become one of these wherever an operator is expected. So such
/// words are accepted only where bash treats them as operands.
pub(super) fn is_plain_test(words: &[ShellWord]) -> bool {
    let evaluates = |word: &ShellWord| matches!(word.text.as_str(), "-v" | "-R");
    if words.iter().any(evaluates) {
        return false;
    }
    if words.iter().all(|word| word.known.is_some()) {
        return true;
    }
    let may_be_several = |word: &ShellWord| word.known.is_none() && (word.is_split || word.is_glob);
    if words.iter().any(|word| may_be_several(word) || word.is_choice) {
        return false;
    }
    let certain = |word: &ShellWord| word.as_certain().unwrap_or_default().to_owned();
    let is_negated = words.len() > 1 && words.first().is_some_and(|word| certain(word) == "!");
    match words.get(usize::from(is_negated)..).unwrap_or_default() {
        [_] => true,
        [operator, _] => TEST_UNARY.contains(&certain(operator).as_str()),
        [_, operator, _] => TEST_BINARY.contains(&certain(operator).as_str()),
        _ => false,
    }
}

const TEST_UNARY: &[&str] = &[
    "-e", "-f", "-d", "-r", "-w", "-x", "-s", "-L", "-h", "-p", "-S", "-b", "-c", "-g", "-k", "-u",
    "-O", "-G", "-N", "-t", "-n", "-z",
];

const TEST_BINARY: &[&str] =
    &["=", "==", "!=", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef"];

/// Does this crate rely on the meaning that bash or the system gives to this name?
pub(super) fn takes_known_name(name: &str) -> bool {
    let changes = |program: &str| FILE_CHANGING_PROGRAMS.iter().any(|one| one.program == program);
    BUILTINS.contains(&name)
        || find_read_only_program(name).is_some()
        || is_runner(name)
        || changes(name)
        || ["git", "find", "sed", "awk", "gawk", "mawk", "jq", "xxd", "ps"].contains(&name)
}

/// Is this a builtin, which starts no program?
pub(super) fn is_builtin(name: &str) -> bool {
    BUILTINS.contains(&name) || matches!(name, ":" | "[")
}

const BUILTINS: &[&str] = &[
    "alias",
    "bg",
    "bind",
    "break",
    "builtin",
    "caller",
    "cd",
    "command",
    "compgen",
    "complete",
    "compopt",
    "continue",
    "declare",
    "dirs",
    "disown",
    "echo",
    "enable",
    "eval",
    "exec",
    "exit",
    "export",
    "false",
    "fc",
    "fg",
    "getopts",
    "hash",
    "help",
    "history",
    "jobs",
    "kill",
    "let",
    "local",
    "logout",
    "mapfile",
    "popd",
    "printf",
    "pushd",
    "pwd",
    "read",
    "readarray",
    "readonly",
    "return",
    "set",
    "shift",
    "shopt",
    "source",
    "suspend",
    "test",
    "times",
    "trap",
    "true",
    "type",
    "typeset",
    "ulimit",
    "umask",
    "unalias",
    "unset",
    "wait",
];

/// `read`, into variables of the line itself.
pub(super) fn is_plain_read(arguments: &[ShellWord]) -> bool {
    let mut takes_value = false;
    arguments.iter().all(|word| {
        let Some(text) = word.as_certain() else { return false };
        if std::mem::take(&mut takes_value) {
            return true;
        }
        match text.strip_prefix('-') {
            Some(letters) if !letters.is_empty() => {
                // The first option with a value uses the rest of the word for it, if there is any.
                let end = letters.find(['d', 'n', 'N', 'p', 't', 'u']);
                takes_value = end.is_some_and(|end| end + 1 == letters.len());
                let flags = letters.get(..end.unwrap_or(letters.len())).unwrap_or_default();
                flags.chars().all(|c| "rse".contains(c))
            }
            _ => is_variable_name(text) && is_line_local_variable(text),
        }
    })
}

/// `printf`: `%n` in its format sets the variable that an argument names. So a format that may
/// contain it is not accepted with names that the shell or a program uses.
pub(super) fn is_plain_printf(arguments: &[ShellWord]) -> bool {
    let skip = usize::from(arguments.first().is_some_and(|word| word.as_certain() == Some("--")));
    let Some((format, values)) = arguments.get(skip..).and_then(<[ShellWord]>::split_first) else {
        return true;
    };
    let sets = format.as_certain().is_none_or(sets_variables);
    let is_harmless = |word: &ShellWord| {
        let text = word.as_certain();
        text.is_some_and(|text| !is_variable_name(text) || is_line_local_variable(text))
    };
    let may_be_several = format.known.is_none() && (format.is_split || format.is_glob);
    !may_be_several && (!sets || values.iter().all(is_harmless))
}

/// Does a format contain `%n`?
pub(super) fn sets_variables(format: &str) -> bool {
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        let behind = rest.get(at + 1..).unwrap_or_default();
        let kind =
            behind.trim_start_matches(|c: char| c.is_ascii_digit() || "-+ #'.*hlLqjzt".contains(c));
        if kind.starts_with('n') {
            return true;
        }
        let taken = behind.len() - kind.len() + kind.chars().next().map_or(0, char::len_utf8);
        rest = behind.get(taken..).unwrap_or_default();
    }
    false
}

/// `set` with options that make the shell stricter.
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

/// `declare` and similar, with a certain value that bash does not evaluate. A text in parentheses
/// is an array, whose subscripts are evaluated.
pub(super) fn is_plain_declaration(part: &SimpleCommand) -> bool {
    let is_plain_option = |word: &ShellWord| matches!(word.as_certain(), Some("-r" | "-g"));
    let is_plain_value = |assign: &VariableAssignment| {
        let value = assign.value.as_ref().and_then(ShellWord::as_certain);
        !assign.text.contains('=') || value.is_some_and(|value| !value.starts_with('('))
    };
    part.words.iter().skip(1).all(is_plain_option) && part.assigns.iter().all(is_plain_value)
}
