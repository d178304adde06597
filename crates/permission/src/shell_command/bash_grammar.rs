//! Parses bash, with a limit on the time.
//!
//! The parser is third-party and tolerant: it returns a tree for any text. So nothing is concluded
//! from it directly; the walk accepts only node kinds it knows.
//!
//! The parser's scanner looks up characters in a table of the first few hundred, and reads out of
//! bounds for others. So it never gets any: every byte that is not ASCII is replaced by a letter,
//! which is what such a character is to bash. Offsets stay the same, and the text is taken from the
//! original.

use std::ops::ControlFlow;

use tree_sitter::{ParseOptions, ParseState, Parser, Tree};

/// Longer lines are not parsed, and so never understood. Adversarial text takes quadratic time: a
/// tenth of a second at this length, more than half a minute at twenty times of it.
const BYTES_MAX: usize = 10_000;

/// Limit on parser steps, in hundreds. A line of the maximum length needs a tenth of it.
const STEPS_MAX: usize = 4_000;

/// Replaces bytes that the scanner must not see. No keyword of the grammar contains this letter.
const STAND_IN: u8 = b'z';

/// The tree of a line, or `None` if it is too long or takes too long.
pub(crate) fn parse_bash(text: &str) -> Option<Tree> {
    if text.len() > BYTES_MAX {
        return None;
    }
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
    let is_shown = |byte: u8| byte.is_ascii() && byte != 0;
    let shown: Vec<u8> = text.bytes().map(|b| if is_shown(b) { b } else { STAND_IN }).collect();
    let mut steps = 0_usize;
    let mut watch = |_: &ParseState| {
        steps += 1;
        if steps > STEPS_MAX { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let options = ParseOptions::new().progress_callback(&mut watch);
    let mut read = |at: usize, _| shown.get(at..).unwrap_or_default();
    parser.parse_with_options(&mut read, None, Some(options))
}

#[cfg(test)]
mod tests {
    use super::parse_bash;

    #[test]
    fn no_text_takes_long_or_ends_the_process() {
        let deep =
            ["$(", "(", "{ ", "<<A ", "`", "\"$(", "${a:-", "if ;then (", "[[ ( ", "a=( ", "f() "];
        for piece in deep {
            parse_bash(&piece.repeat(900));
        }
        for letter in ['é', '日', '\u{1F600}', '\u{10FFFF}', '\u{7ff}', '\0'] {
            for text in ["{0", "$", "<<", "${", "[[ ", "((", "a", "#", "$'", "{1..", "2>"] {
                parse_bash(&format!("{text}{letter}"));
                parse_bash(&format!("{letter}{text}{letter}{text}"));
            }
        }
        assert!(parse_bash(&"x".repeat(10_001)).is_none());
        assert!(parse_bash("ls").is_some());
    }
}
