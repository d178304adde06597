//! What people see: letters that hide, turn around or steer a terminal are made visible or removed.
//!
//! Two doors. [`escape_invisible`] is for approvals: everything stays, and what cannot be seen is spelled
//! out, so that what is shown is what runs. [`strip_control`] is for what a model or a tool prints: what
//! would steer the terminal goes, the text stays. Nothing here knows about colours of our own.

use std::fmt::Write as _;

/// The text with every letter that cannot be seen spelled out. Line ends and tabs are kept.
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

/// The text without anything that would steer a terminal or mislead a reader.
#[must_use]
pub fn strip_control(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(c) = letters.next() {
        match c {
            '\n' | '\t' => kept.push(c),
            // A line end of another system is a line end; alone it would overwrite the line.
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

/// Parameters, then one letter.
fn skip_control_sequence(letters: &mut PeekableChars<'_>) {
    while letters.next_if(|c| matches!(c, ' '..='?')).is_some() {}
    let _ = letters.next_if(|c| matches!(c, '@'..='~'));
}

/// Text for the terminal itself, up to its end. An unclosed one ends with the line: nothing that
/// people should see may vanish in it.
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

/// Letters that take no place, turn the direction of writing, or look like nothing.
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
