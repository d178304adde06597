//! From what a model writes to lines: Markdown, cleaned first, so that nothing it says can steer the
//! terminal. Unfinished Markdown is drawn as far as it goes, because answers arrive in pieces.

mod code_highlight;
mod markdown_renderer;
mod markdown_table;

use windlass_permission::sanitize;

use crate::styled_line::{StyledLine, TextStyle};

/// The text as lines of at most this width.
#[must_use]
pub fn render_markdown(text: &str, width: usize) -> Vec<StyledLine> {
    markdown_renderer::render_blocks(&sanitize::strip_control(text), width)
}

/// The text as it is, line by line, each broken at the width.
#[must_use]
pub fn render_plain(text: &str, style: TextStyle, width: usize) -> Vec<StyledLine> {
    let cleaned = sanitize::strip_control(text);
    let lines =
        cleaned.lines().map(|line| StyledLine::from_text(line.replace('\t', "    "), style));
    lines.flat_map(|line| line.wrap(width, 0)).collect()
}

/// One line of it, whatever it holds.
#[must_use]
pub fn to_one_line(text: &str) -> String {
    let cleaned = sanitize::strip_control(text);
    cleaned.split_whitespace().collect::<Vec<_>>().join(" ")
}
