//! Scripts in arguments of `sed` and `awk` that only print.
//!
//! Both languages can run commands and write files. Only scripts made of known harmless elements
//! are accepted; others are not analysed further.

use super::shell_word::ShellWord;

/// Are all scripts in these arguments of `sed` harmless?
pub(crate) fn is_plain_sed(arguments: &[ShellWord]) -> bool {
    let Some((scripts, _)) = parse_sed_arguments(arguments) else { return false };
    !scripts.is_empty() && scripts.iter().all(|script| is_plain_sed_script(script))
}

/// The scripts and files in the arguments of `sed`; `None` for an unknown option.
pub(crate) fn parse_sed_arguments(arguments: &[ShellWord]) -> Option<(Vec<&str>, Vec<&ShellWord>)> {
    let mut scripts = Vec::new();
    let mut operands = Vec::new();
    let mut is_script_next = false;
    let mut has_option = false;
    for word in arguments {
        if is_script_next {
            scripts.push(word.as_certain()?);
            is_script_next = false;
            continue;
        }
        match word.as_known() {
            Some("-e" | "--expression") => {
                is_script_next = true;
                has_option = true;
            }
            Some("-n" | "-E" | "-r" | "-s" | "-u" | "-z" | "-ne" | "-nE" | "-nr" | "-En")
            | Some("--quiet" | "--silent" | "--regexp-extended" | "--separate" | "--posix") => {
                is_script_next = word.text.ends_with('e') && !word.text.starts_with("--");
                has_option |= is_script_next;
            }
            Some("-i" | "--in-place") => {}
            // A star stands for the file's name, and a slash leads to another directory.
            Some(text) if text.starts_with("-i.") && !text.contains(['*', '/']) => {}
            Some(text) if text.starts_with("--expression=") => {
                scripts.push(text.strip_prefix("--expression=")?);
                has_option = true;
            }
            Some(text) if text.starts_with('-') && text.len() > 1 => return None,
            _ if word.may_be_option() => return None,
            _ => operands.push(word),
        }
    }
    if !has_option {
        if operands.is_empty() {
            return None;
        }
        scripts.push(operands.remove(0).as_certain()?);
    }
    Some((scripts, operands))
}

/// Accepts addresses, and the commands to print, delete, substitute, translate or quit.
fn is_plain_sed_script(script: &str) -> bool {
    let mut rest = script.trim_start();
    while !rest.is_empty() {
        let Some(after) = skip_sed_command(rest) else { return false };
        rest = after.trim_start_matches([' ', '\t', '\n', ';', '}']);
    }
    true
}

/// Parses one command; returns the rest.
fn skip_sed_command(text: &str) -> Option<&str> {
    let mut rest = skip_sed_address(text)?;
    if let Some(second) = rest.strip_prefix(',') {
        rest = skip_sed_address(second.trim_start())?;
    }
    rest = rest.trim_start_matches([' ', '!']);
    let command = rest.chars().next()?;
    let after = rest.get(1..)?;
    match command {
        '{' => Some(after),
        'p' | 'd' | 'D' | 'P' | 'h' | 'H' | 'g' | 'G' | 'x' | 'n' | 'N' | 'q' | 'Q' | '=' | 'l' => {
            let end = after.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ');
            (end.is_empty() || end.starts_with([';', '\n', '}'])).then_some(end)
        }
        's' | 'y' => {
            let delimiter =
                after.chars().next().filter(|c| c.is_ascii_punctuation() && *c != '\\')?;
            let body = after.get(1..)?;
            let (pattern, body) = split_at_delimiter(body, delimiter)?;
            (command == 'y' || closes_brackets(pattern)).then_some(())?;
            let (_, flags) = split_at_delimiter(body, delimiter)?;
            let end = flags.trim_start_matches(|c: char| "gpiI".contains(c) || c.is_ascii_digit());
            let end = end.trim_start_matches(' ');
            (end.is_empty() || end.starts_with([';', '\n', '}'])).then_some(end)
        }
        _ => None,
    }
}

/// A line number, `$`, a regular expression, or nothing.
fn skip_sed_address(text: &str) -> Option<&str> {
    match text.chars().next()? {
        '/' => {
            let (pattern, rest) = split_at_delimiter(text.get(1..)?, '/')?;
            closes_brackets(pattern).then_some(())?;
            Some(rest.trim_start_matches(['I']).trim_start())
        }
        '$' => Some(text.get(1..)?.trim_start()),
        c if c.is_ascii_digit() || c == '+' => Some(
            text.trim_start_matches(|c: char| c.is_ascii_digit() || "+~".contains(c)).trim_start(),
        ),
        _ => Some(text),
    }
}

/// Are all character sets closed? A delimiter inside of a set is an ordinary character, so a set
/// that seems to be cut continues after it.
fn closes_brackets(pattern: &str) -> bool {
    let mut rest = pattern;
    while let Some(at) = rest.find(['[', '\\']) {
        let after = rest.get(at + 1..).unwrap_or_default();
        if rest.as_bytes().get(at) == Some(&b'\\') {
            let mut letters = after.chars();
            letters.next();
            rest = letters.as_str();
            continue;
        }
        // Sets with classes or escapes are rare, and implementations disagree about them.
        let inner = after.strip_prefix('^').unwrap_or(after);
        let inner = inner.strip_prefix(']').unwrap_or(inner);
        let Some((set, behind)) = inner.split_once(']') else { return false };
        if set.contains('[') && !set.contains("[:") {
            return false;
        }
        rest = behind.strip_prefix(']').filter(|_| set.contains("[:")).unwrap_or(behind);
    }
    true
}

/// The text up to an unescaped delimiter, and the rest.
fn split_at_delimiter(text: &str, delimiter: char) -> Option<(&str, &str)> {
    let mut is_escaped = false;
    for (at, c) in text.char_indices() {
        if !is_escaped && c == delimiter {
            return Some((text.get(..at)?, text.get(at + c.len_utf8()..)?));
        }
        is_escaped = c == '\\' && !is_escaped;
        if c == '\n' {
            return None;
        }
    }
    None
}

/// Does the program in these arguments of `awk` only print?
pub(crate) fn is_plain_awk(arguments: &[ShellWord]) -> bool {
    parse_awk_arguments(arguments).is_some_and(|(program, _)| is_plain_awk_program(program))
}

/// The program and the files in the arguments of `awk`.
pub(crate) fn parse_awk_arguments(arguments: &[ShellWord]) -> Option<(&str, Vec<&ShellWord>)> {
    let mut words = arguments.iter();
    loop {
        let word = words.next()?;
        match word.as_certain()? {
            "-F" | "-v" => {
                words.next()?.as_certain()?;
            }
            text if text.starts_with("-F") || text.starts_with("-v") => {}
            text if text.starts_with('-') => return None,
            program => return Some((program, words.collect())),
        }
    }
}

/// Does it not run a command, or read or write another file?
fn is_plain_awk_program(program: &str) -> bool {
    let without_or = program.replace("||", "").replace(">=", "");
    // Also rejects a pipe inside of a string or pattern, which is harmless but rare.
    !without_or.contains(['|', '@', '`'])
        && !AWK_REACHES.iter().any(|word| program.contains(word))
        && !may_redirect(&without_or)
}

/// `>` compares, except after `print` or `printf`, where it writes. Statements end at a brace, a
/// semicolon or a line end; since a statement may seem to end inside of a string or pattern, with
/// quotes any earlier `print` counts.
fn may_redirect(program: &str) -> bool {
    let Some(last) = program.rfind('>') else { return false };
    let before = program.get(..last).unwrap_or_default();
    match program.contains(['"', '/', '\\']) {
        true => before.contains("print"),
        false => program.split(['{', '}', ';', '\n']).any(|statement| {
            let first = statement.find("print");
            first.is_some_and(|at| statement.get(at..).is_some_and(|rest| rest.contains('>')))
        }),
    }
}

/// Names with which a program runs commands, or reads other files.
const AWK_REACHES: &[&str] = &[
    "system",
    "getline",
    "close",
    "ENVIRON",
    "PROCINFO",
    "fflush",
    "ARGV",
    "ARGC",
    "SYMTAB",
    "FUNCTAB",
    "extension",
];

#[cfg(test)]
mod tests {
    use super::{is_plain_awk_program, is_plain_sed_script};

    #[test]
    fn only_scripts_that_print_are_plain() {
        for script in [
            "p",
            "1,5p",
            "$d",
            "/a/,/b/p",
            "s/a/b/",
            "s|a|b|g",
            "s/a/b/;s/c/d/gp",
            "/x/!d",
            "1{p;q}",
            "s/a\\/b/c/",
            "10q",
            "$!N",
            "/^$/d",
            "y/abc/def/",
        ] {
            assert!(is_plain_sed_script(script), "{script}");
        }
        for script in [
            "e",
            "1e rm x",
            "s/a/b/e",
            "s/a/b/w x",
            "w x",
            "r x",
            "1w x",
            "p;w x",
            "s/a/b/ge",
            "s/a/b/;e rm",
            "{e}",
            "a\\\ntext",
            "s/a/b",
            "W x",
            "1,$w x",
        ] {
            assert!(!is_plain_sed_script(script), "{script}");
        }
        assert!(is_plain_awk_program("{print $1}"));
        assert!(is_plain_awk_program("NR==1 || /x/ {print; exit}"));
        for program in ["$3 > 5", "$3 > 5 {print $1}", "NR>1 && $2>$3 {s+=$2} END {print s}"] {
            assert!(is_plain_awk_program(program), "{program}");
        }
        assert!(is_plain_awk_program("$1 == \"a\" && $2 > 5 {print $2}"));
        for program in [
            "BEGIN{system(\"x\")}",
            "{print | \"sh\"}",
            "{print > \"x\"}",
            "\"x\" | getline",
            "{print $1 > $2}",
            "{printf $1 >> FILENAME}",
            "$1 > 2 {print > FILENAME}",
            "{print \";\" > \"x\"}",
        ] {
            assert!(!is_plain_awk_program(program), "{program}");
        }
    }
}
