//! The grammar of bash, with a bound on how long it may take.
//!
//! The parser is third-party and forgiving: it makes a tree of anything. So nothing here decides
//! what the text means; the walk takes only kinds of nodes it knows, and doubts the rest.
//!
//! The parser's scanner looks characters up in a table that ends with the first few hundred, and
//! reads beyond it for others. It is never shown any: every byte that is not ASCII is shown to it as
//! a letter, which is what such a character is to bash. Positions stay the same, and the text itself
//! is read from the original.

use std::ops::ControlFlow;

use tree_sitter::{ParseOptions, ParseState, Parser, Tree};

/// Longer lines are not parsed and so never understood. Text made to confuse costs the parser its
/// length squared: at this length a tenth of a second, at twenty times of it more than half a minute.
const BYTES_MAX: usize = 10_000;

/// Steps of the parser, in hundreds. A line of the greatest length needs a tenth of it.
const STEPS_MAX: usize = 4_000;

/// Stands for every byte the scanner must not see. No word of the grammar has this letter.
const STAND_IN: u8 = b'z';

/// The tree of a line, or `None` when it is too long or takes too long.
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
