//! How a prompt of the user looks once it is sent.

use crate::styled_line::{StyledLine, TextStyle};
use crate::{text, words};

/// A prompt with a mark before it, cut after `lines_max` lines.
pub(crate) fn render_prompt(prompt: &str, width: usize, lines_max: usize) -> Vec<StyledLine> {
    let cut = prompt.get(..prompt.floor_char_boundary(PROMPT_BYTES_MAX)).unwrap_or(prompt);
    let all = text::render_plain(cut, TextStyle::User, width.saturating_sub(2));
    let signs = std::iter::once("> ").chain(std::iter::repeat("  "));
    let mut lines: Vec<StyledLine> = signs
        .zip(all.iter().take(lines_max))
        .map(|(sign, line)| {
            StyledLine::from_text(sign, TextStyle::Dim)
                .with_span(line.plain_text(), TextStyle::User)
        })
        .collect();
    if all.len() > lines_max || cut.len() < prompt.len() {
        let all = format!("  {}", words::describe_all_lines(prompt.lines().count()));
        lines.push(StyledLine::from_text(all, TextStyle::Dim));
    }
    lines
}

const PROMPT_BYTES_MAX: usize = 64 * 1024;
