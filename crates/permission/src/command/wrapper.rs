//! Commands that run other commands, and what stands in front of a command without changing it.
//!
//! For an allow only a few wrappers and variables are seen through, and only in forms that are
//! understood completely. For a denial any wrapper is, in any form.

use super::parts::{Part, Parts, Word, scan};

/// The command without the variables and wrappers that cannot change what it does. `None` when
/// something in front is not understood.
pub(crate) fn unwrapped(words: &[String]) -> Option<&[String]> {
    let mut words = words;
    // Each round takes at least one word off.
    loop {
        let (first, rest) = words.split_first()?;
        words = match first.as_str() {
            "timeout" => after_timeout(rest)?,
            "time" => after_flag(rest, "-p")?,
            "nice" => after_nice(rest)?,
            "nohup" => after_flag(rest, "")?,
            "stdbuf" => after_stdbuf(rest)?,
            text if is_assignment(text) => {
                if !is_harmless_assignment(text) {
                    return None;
                }
                rest
            }
            _ => return Some(words),
        };
    }
}

fn after_flag<'a>(words: &'a [String], flag: &str) -> Option<&'a [String]> {
    let rest = match words.split_first()? {
        (first, rest) if first == flag => rest,
        _ => words,
    };
    (!rest.first()?.starts_with('-')).then_some(rest)
}

fn after_timeout(words: &[String]) -> Option<&[String]> {
    let mut words = words;
    while let Some((first, rest)) = words.split_first() {
        words = match first.as_str() {
            "-k" | "-s" => rest.get(1..)?,
            "--foreground" | "--preserve-status" | "-v" | "--verbose" => rest,
            text if text.starts_with("--kill-after=") || text.starts_with("--signal=") => rest,
            text if is_duration(text) => return after_flag(rest, ""),
            _ => return None,
        };
    }
    None
}

fn is_duration(text: &str) -> bool {
    let number = text.trim_end_matches(['s', 'm', 'h', 'd']);
    text.len() - number.len() <= 1
        && number.starts_with(|c: char| c.is_ascii_digit())
        && number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

fn after_nice(words: &[String]) -> Option<&[String]> {
    let is_number = |text: &str| {
        let digits = text.strip_prefix('-').unwrap_or(text);
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    match words {
        [flag, number, rest @ ..] if flag == "-n" && is_number(number) => after_flag(rest, ""),
        [number, rest @ ..] if number.starts_with('-') => {
            if is_number(number) {
                after_flag(rest, "")
            } else {
                None
            }
        }
        _ => after_flag(words, ""),
    }
}

fn after_stdbuf(words: &[String]) -> Option<&[String]> {
    let is_mode = |text: &&String| {
        matches!(text.as_bytes(), [b'-', b'i' | b'o' | b'e', b'0' | b'L' | b'1'..=b'9', ..])
    };
    let modes = words.iter().take_while(is_mode).count();
    if modes == 0 { None } else { after_flag(words.get(modes..)?, "") }
}

pub(super) fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else { return false };
    let name = name.strip_suffix('+').unwrap_or(name);
    let name = name.split('[').next().unwrap_or(name);
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn is_harmless_assignment(word: &str) -> bool {
    let name = word.split('=').next().unwrap_or(word);
    name.starts_with("LC_") || HARMLESS.contains(&name)
}

const HARMLESS: &[&str] = &[
    "LANG",
    "TZ",
    "NO_COLOR",
    "CLICOLOR",
    "FORCE_COLOR",
    "TERM",
    "COLUMNS",
    "LINES",
    "CI",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "NODE_ENV",
    "PYTHONUNBUFFERED",
    "PYTHONDONTWRITEBYTECODE",
];

/// Adds a command to what was found, with everything it runs in turn.
pub(super) fn add(mut part: Part, depth: u8, found: &mut Parts) {
    let skipped = part
        .words
        .iter()
        .take_while(|word| is_assignment(&word.text) || GRAMMAR.contains(&word.text.as_str()))
        .count();
    part.words.drain(..skipped);
    let Some(first) = part.words.first() else {
        if !part.writes.is_empty() || !part.reads.is_empty() {
            found.commands.push(part);
        }
        return;
    };
    found.has_hidden |= first.is_expanded && !matches!(first.text.as_str(), "[" | "[[");
    let program = base_name(&first.text).to_owned();
    let arguments = part.words.get(1..).unwrap_or_default();
    if program == "eval" {
        nested(arguments, depth, found);
    } else if is_shell(&part.words) || program == "su" {
        shell(arguments, depth, found);
    } else if matches!(program.as_str(), "source" | ".") {
        found.has_hidden |= arguments.iter().any(|word| word.is_expanded);
    } else if program == "find" {
        part.is_wrapper = arguments.iter().any(|word| FIND_RUNS.contains(&word.text.as_str()));
        shell_behind(arguments, depth, found);
    } else if WRAPPERS.contains(&program.as_str()) {
        let is_in_front = |word: &&Word| {
            let first = word.text.chars().next();
            is_assignment(&word.text) || first.is_none_or(|c| c == '-' || c.is_ascii_digit())
        };
        let named = arguments.iter().find(|word| !is_in_front(word));
        found.has_hidden |= named.is_some_and(|word| word.is_expanded);
        shell_behind(arguments, depth, found);
        if TAKE_TEXT.contains(&program.as_str()) {
            arguments.iter().for_each(|word| scan(&word.text, depth + 1, found));
        }
        part.is_wrapper = true;
    }
    found.commands.push(part);
}

/// The text handed to `eval`, which joins its words.
fn nested(words: &[Word], depth: u8, found: &mut Parts) {
    found.has_hidden |= words.iter().any(|word| word.is_expanded);
    let text: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    scan(&text.join(" "), depth + 1, found);
}

/// A shell with text of its own runs that; one without a file reads commands we do not see.
fn shell(arguments: &[Word], depth: u8, found: &mut Parts) {
    let is_option = |word: &Word| word.text.starts_with(['-', '+']);
    let takes_text = arguments
        .iter()
        .any(|word| is_option(word) && !word.text.starts_with("--") && word.text.contains('c'));
    let rest = || arguments.iter().filter(|word| !is_option(word));
    found.has_hidden |= rest().next().is_none() || rest().any(|word| word.is_expanded);
    if takes_text {
        rest().for_each(|word| scan(&word.text, depth + 1, found));
    }
}

/// What stands behind a wrapper is looked for at each of its words; a shell with text of its own
/// has to be looked into as well.
fn shell_behind(arguments: &[Word], depth: u8, found: &mut Parts) {
    let at = (0..arguments.len()).find(|at| arguments.get(*at..).is_some_and(is_shell));
    if let Some(rest) = at.and_then(|at| arguments.get(at + 1..)) {
        shell(rest, depth, found);
    }
}

pub(super) fn is_shell(words: &[Word]) -> bool {
    words.first().is_some_and(|word| SHELLS.contains(&base_name(&word.text)))
}

pub(crate) fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

const SHELLS: &[&str] = &["sh", "bash", "zsh", "dash", "ksh", "ash", "fish"];

/// Words of the shell's grammar that may stand in front of a command.
const GRAMMAR: &[&str] =
    &["if", "then", "else", "elif", "do", "while", "until", "!", "coproc", "function", "{", "}"];

const FIND_RUNS: &[&str] = &["-exec", "-execdir", "-ok", "-okdir"];

/// Wrappers that may be given their command as one text.
const TAKE_TEXT: &[&str] = &["env", "watch", "parallel", "flock"];

pub(super) const WRAPPERS: &[&str] = &[
    "timeout", "time", "nice", "nohup", "stdbuf", "env", "command", "builtin", "exec", "setsid",
    "ionice", "sudo", "doas", "xargs", "noglob", "chroot", "flock", "watch", "strace", "unshare",
    "nsenter", "parallel", "chrt", "taskset", "busybox",
];
