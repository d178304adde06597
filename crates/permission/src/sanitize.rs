//! Makes text safe to show: characters that are invisible, change the writing direction or control
//! a terminal are escaped or removed.
//!
//! There are two functions. [`escape_invisible`] is for approvals: it keeps everything and escapes
//! invisible characters, so that the user sees what runs. [`strip_control`] is for output of a
//! model or tool: it removes terminal controls and keeps the text. Colors are added elsewhere.

use std::fmt::Write as _;

/// Escapes invisible characters. Line ends and tabs are kept.
#[must_use]
pub fn escape_invisible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => shown.push(c),
            '\0'..='\u{1f}' => {
                shown.push('^');
                shown.push(char::from_u32(u32::from(c) + 0x40).unwrap_or('?'));
            }
            '\u{7f}' => shown.push_str("^?"),
            c if c.is_control() || is_invisible_char(c) => {
                // Writing to a string cannot fail.
                let _ = write!(shown, "<U+{:04X}>", u32::from(c));
            }
            c => shown.push(c),
        }
    }
    shown
}

/// Removes whatever controls a terminal or misleads a reader.
#[must_use]
pub fn strip_control(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(c) = letters.next() {
        match c {
            '\n' | '\t' => kept.push(c),
            // CR LF is a line ending; a lone CR would overwrite the line.
            '\r' if letters.peek() == Some(&'\n') => {}
            '\r' => kept.push('\n'),
            '\u{1b}' => skip_escape(&mut letters),
            '\u{9b}' => skip_control_sequence(&mut letters),
            '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => skip_string(&mut letters),
            c if c.is_control() || is_invisible_char(c) => {}
            c => kept.push(c),
        }
    }
    kept
}

type PeekableChars<'a> = std::iter::Peekable<std::str::Chars<'a>>;

fn skip_escape(letters: &mut PeekableChars<'_>) {
    match letters.peek() {
        Some('[') => {
            letters.next();
            skip_control_sequence(letters);
        }
        Some(']' | 'P' | '^' | '_' | 'X') => {
            letters.next();
            skip_string(letters);
        }
        _ => {
            while letters.next_if(|c| matches!(c, ' '..='/')).is_some() {}
            let _ = letters.next_if(|c| matches!(c, '0'..='~'));
        }
    }
}

/// Parameters, then one final letter.
fn skip_control_sequence(letters: &mut PeekableChars<'_>) {
    while letters.next_if(|c| matches!(c, ' '..='?')).is_some() {}
    let _ = letters.next_if(|c| matches!(c, '@'..='~'));
}

/// A control string, up to its terminator. An unterminated one ends with the line, so that no
/// visible text is lost.
fn skip_string(letters: &mut PeekableChars<'_>) {
    while let Some(c) = letters.next_if(|c| *c != '\n') {
        match c {
            '\u{7}' | '\u{9c}' => return,
            '\u{1b}' => {
                let _ = letters.next_if_eq(&'\\');
                return;
            }
            _ => {}
        }
    }
}

/// Characters that have no width, change the writing direction, or look empty.
#[must_use]
pub fn is_invisible_char(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'
            | '\u{1160}'
            | '\u{17b4}'
            | '\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{2800}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}
