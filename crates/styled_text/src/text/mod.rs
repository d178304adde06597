//! Renders text of the model as lines. Control characters are removed first, so that it cannot control
//! the terminal. Incomplete Markdown is rendered as far as it goes, because answers arrive in pieces.

pub mod code_highlight;
mod markdown_renderer;
mod markdown_table;

use windlass_permission::sanitize;

use crate::styled_line::{StyledLine, TextStyle};

pub fn render_markdown(text: &str, width: usize) -> Vec<StyledLine> {
    markdown_renderer::render_blocks(&sanitize::strip_control(text), width)
}

/// Wraps lines, keeping their indentation, and changes nothing else.
pub fn render_plain(text: &str, style: TextStyle, width: usize) -> Vec<StyledLine> {
    let cleaned = sanitize::strip_control(text);
    let lines =
        cleaned.lines().map(|line| StyledLine::from_text(line.replace('\t', "    "), style));
    lines.flat_map(|line| line.wrap(width, count_indent(&line, width))).collect()
}

/// The indentation of a line; none if it would leave too little room.
fn count_indent(line: &StyledLine, width: usize) -> usize {
    let text = line.plain_text();
    let indent = text.len() - text.trim_start_matches(' ').len();
    if indent <= width / 4 { indent } else { 0 }
}

/// As [`to_one_line`], with a sign where a line ended: two commands are not one.
pub fn join_lines(text: &str) -> String {
    let lines = text.lines().map(to_one_line).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join(" ↵ ")
}

/// Begins with a capital letter, as a sentence does.
pub fn capitalize(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).collect()
}

/// Joins everything to one line, with single blanks.
pub fn to_one_line(text: &str) -> String {
    let cleaned = sanitize::strip_control(text);
    cleaned.split_whitespace().collect::<Vec<_>>().join(" ")
}
