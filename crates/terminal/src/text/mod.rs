//! From what a model writes to lines: Markdown, cleaned first, so that nothing it says can steer the
//! terminal. Unfinished Markdown is drawn as far as it goes, because answers arrive in pieces.

mod block;
mod code;
mod table;

use windlass_permission::display;

use crate::line::{Line, Role};

/// The text as lines of at most this width.
#[must_use]
pub fn markdown(text: &str, width: usize) -> Vec<Line> {
    block::lines(&display::cleaned(text), width)
}

/// The text as it is, line by line, each broken at the width.
#[must_use]
pub fn plain(text: &str, role: Role, width: usize) -> Vec<Line> {
    let cleaned = display::cleaned(text);
    let lines = cleaned.lines().map(|line| Line::of(line.replace('\t', "    "), role));
    lines.flat_map(|line| line.wrapped(width, 0)).collect()
}

/// One line of it, whatever it holds.
#[must_use]
pub fn one_line(text: &str) -> String {
    let cleaned = display::cleaned(text);
    cleaned.split_whitespace().collect::<Vec<_>>().join(" ")
}
