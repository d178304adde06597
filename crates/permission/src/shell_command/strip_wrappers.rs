//! Removes wrappers and variables before a command that do not change it.
//!
//! For an allow, only a few wrappers and variables are accepted, and only in forms that are fully
//! understood.

use super::shell_variable::{is_assignment, is_harmless_assignment};
use super::shell_word::ShellWord;

/// The command without harmless variables and wrappers. `None` if something before it is not
/// understood.
pub(crate) fn strip_wrappers(words: &[ShellWord]) -> Option<&[ShellWord]> {
    let mut words = words;
    // Each iteration removes at least one word.
    loop {
        let (first, rest) = words.split_first()?;
        words = match first.as_certain()? {
            "timeout" => skip_timeout(rest)?,
            "time" => skip_flag(rest, "-p")?,
            "nice" => skip_nice(rest)?,
            "nohup" => skip_flag(rest, "")?,
            // With an option it only prints what it would run.
            "command" if rest.first()?.as_certain()?.starts_with('-') => return Some(words),
            "command" => rest,
            "stdbuf" => skip_stdbuf(rest)?,
            text if is_assignment(text) => {
                let (name, value) = text.split_once('=').unwrap_or((text, ""));
                if !is_harmless_assignment(name, value) {
                    return None;
                }
                rest
            }
            _ => return Some(words),
        };
    }
}

fn skip_flag<'a>(words: &'a [ShellWord], flag: &str) -> Option<&'a [ShellWord]> {
    let rest = match words.split_first()? {
        (first, rest) if first.as_certain()? == flag => rest,
        _ => words,
    };
    (!rest.first()?.as_certain()?.starts_with('-')).then_some(rest)
}

fn skip_timeout(words: &[ShellWord]) -> Option<&[ShellWord]> {
    let mut words = words;
    while let Some((first, rest)) = words.split_first() {
        words = match first.as_certain()? {
            "-k" | "-s" => {
                rest.first()?.as_certain()?;
                rest.get(1..)?
            }
            "--foreground" | "--preserve-status" | "-v" | "--verbose" => rest,
            text if text.starts_with("--kill-after=") || text.starts_with("--signal=") => rest,
            text if is_duration(text) => return skip_flag(rest, ""),
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

fn skip_nice(words: &[ShellWord]) -> Option<&[ShellWord]> {
    let is_number = |text: &str| {
        let digits = text.trim_start_matches(['-', '+']);
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    let first = words.first()?.as_certain()?;
    if first == "-n" {
        return if is_number(words.get(1)?.as_certain()?) {
            skip_flag(words.get(2..)?, "")
        } else {
            None
        };
    }
    if first.starts_with('-') {
        return if is_number(first) { skip_flag(words.get(1..)?, "") } else { None };
    }
    skip_flag(words, "")
}

fn skip_stdbuf(words: &[ShellWord]) -> Option<&[ShellWord]> {
    let is_mode = |word: &&ShellWord| {
        let bytes = word.as_certain().unwrap_or_default().as_bytes();
        matches!(bytes, [b'-', b'i' | b'o' | b'e', b'0' | b'L' | b'1'..=b'9', ..])
    };
    let modes = words.iter().take_while(is_mode).count();
    if modes == 0 { None } else { skip_flag(words.get(modes..)?, "") }
}
