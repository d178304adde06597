//! What stands in front of a command without changing it.
//!
//! For an allow only a few wrappers and variables are seen through, and only in forms that are
//! understood completely.

use super::variable::{is_assignment, is_harmless};
use super::word::Word;

/// The command without the variables and wrappers that cannot change what it does. `None` when
/// something in front is not understood.
pub(crate) fn unwrapped(words: &[Word]) -> Option<&[Word]> {
    let mut words = words;
    // Each round takes at least one word off.
    loop {
        let (first, rest) = words.split_first()?;
        words = match first.certain()? {
            "timeout" => after_timeout(rest)?,
            "time" => after_flag(rest, "-p")?,
            "nice" => after_nice(rest)?,
            "nohup" => after_flag(rest, "")?,
            "stdbuf" => after_stdbuf(rest)?,
            text if is_assignment(text) => {
                if !is_harmless(text.split('=').next().unwrap_or_default()) {
                    return None;
                }
                rest
            }
            _ => return Some(words),
        };
    }
}

fn after_flag<'a>(words: &'a [Word], flag: &str) -> Option<&'a [Word]> {
    let rest = match words.split_first()? {
        (first, rest) if first.certain()? == flag => rest,
        _ => words,
    };
    (!rest.first()?.certain()?.starts_with('-')).then_some(rest)
}

fn after_timeout(words: &[Word]) -> Option<&[Word]> {
    let mut words = words;
    while let Some((first, rest)) = words.split_first() {
        words = match first.certain()? {
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

fn after_nice(words: &[Word]) -> Option<&[Word]> {
    let is_number = |text: &str| {
        let digits = text.trim_start_matches(['-', '+']);
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    let first = words.first()?.certain()?;
    if first == "-n" {
        return if is_number(words.get(1)?.certain()?) {
            after_flag(words.get(2..)?, "")
        } else {
            None
        };
    }
    if first.starts_with('-') {
        return if is_number(first) { after_flag(words.get(1..)?, "") } else { None };
    }
    after_flag(words, "")
}

fn after_stdbuf(words: &[Word]) -> Option<&[Word]> {
    let is_mode = |word: &&Word| {
        let bytes = word.certain().unwrap_or_default().as_bytes();
        matches!(bytes, [b'-', b'i' | b'o' | b'e', b'0' | b'L' | b'1'..=b'9', ..])
    };
    let modes = words.iter().take_while(is_mode).count();
    if modes == 0 { None } else { after_flag(words.get(modes..)?, "") }
}
