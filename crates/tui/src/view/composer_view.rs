//! The text of the composer, wrapped at the width of the screen, and its cursor.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;
use windlass_permission::sanitize;

use crate::app::App;
use crate::composer::Composer;
use crate::painter::Cursor;
use crate::styled_line::{StyledLine, TextStyle};
use crate::words;

pub(super) fn render_composer(app: &App, rows: usize) -> (Vec<StyledLine>, Cursor) {
    let sign = match &app.input.vim {
        Some(vim) if vim.is_normal() => "∙ ",
        _ if app.input.composer.text().starts_with('!') => "! ",
        _ => "> ",
    };
    if app.input.composer.is_empty() {
        let words = match app.run.is_busy() {
            true if app.run.has_movable_call() && app.size.width > words::MOVABLE_WIDTH_MIN => {
                words::COMPOSER_BUSY_MOVABLE.to_owned()
            }
            true => words::COMPOSER_BUSY.to_owned(),
            false if !app.input.suggested_prompt.is_empty() => {
                format!("{} (Tab)", app.input.suggested_prompt)
            }
            false => words::COMPOSER_EMPTY.to_owned(),
        };
        let line = StyledLine::from_text(sign, TextStyle::User)
            .with_span(words, TextStyle::Dim)
            .truncate_to_width(app.size.width);
        return (vec![line], Cursor { row: 0, column: 2 });
    }
    let selected = app.input.vim.as_ref().and_then(|vim| vim.selected_range(&app.input.composer));
    let (broken, at) =
        break_lines(&app.input.composer, selected.as_ref(), app.size.width.saturating_sub(2));
    let signs = std::iter::once(sign).chain(std::iter::repeat("  "));
    let all: Vec<StyledLine> = signs
        .zip(broken)
        .map(|(sign, line)| {
            let whole = StyledLine::from_text(sign, TextStyle::User);
            line.spans.into_iter().fold(whole, |whole, span| whole.with_span(span.text, span.style))
        })
        .collect();
    // Only the lines around the cursor are shown of a long text.
    let room = (rows / 2).max(1);
    let first = at.row.saturating_sub(room.saturating_sub(1));
    let shown: Vec<StyledLine> = all.into_iter().skip(first).take(room).collect();
    (shown, Cursor { row: at.row - first, column: at.column + 2 })
}

fn break_lines(
    composer: &Composer,
    selected: Option<&Range<usize>>,
    width: usize,
) -> (Vec<StyledLine>, Cursor) {
    let text = composer.text();
    let cursor_offset = composer.cursor_offset();
    let width = width.max(2);
    let mut lines = Vec::new();
    let mut line = StyledLine::new();
    let mut cells = 0;
    let mut cursor = Cursor::default();
    for (at, grapheme) in text.grapheme_indices(true) {
        let shown = match grapheme {
            "\n" | "\r\n" => String::new(),
            "\t" => "    ".to_owned(),
            other => sanitize::escape_invisible(other),
        };
        if cells + shown.width() > width {
            lines.push(std::mem::take(&mut line));
            cells = 0;
        }
        if at == cursor_offset {
            cursor = Cursor { row: lines.len(), column: cells };
        }
        if grapheme == "\n" || grapheme == "\r\n" {
            lines.push(std::mem::take(&mut line));
            cells = 0;
            continue;
        }
        cells += shown.width();
        let is_selected = selected.is_some_and(|range| range.contains(&at));
        line.push(shown, if is_selected { TextStyle::Selected } else { TextStyle::Plain });
    }
    if cursor_offset >= text.len() {
        if cells >= width {
            lines.push(std::mem::take(&mut line));
            cells = 0;
        }
        cursor = Cursor { row: lines.len(), column: cells };
    }
    lines.push(line);
    (lines, cursor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cursor_stands_where_the_next_letter_goes() {
        for (text, place, lines, at) in [
            ("abc", 3, &["abc"][..], (0, 3)),
            ("abcdef", 6, &["abcd", "ef"], (1, 2)),
            ("abcd", 4, &["abcd", ""], (1, 0)),
            ("ab\ncd", 3, &["ab", "cd"], (1, 0)),
            ("日本語", 6, &["日本", "語"], (1, 0)),
            ("日本語", 9, &["日本", "語"], (1, 2)),
            ("e\u{301}x", 3, &["e\u{301}x"], (0, 1)),
            ("", 0, &[""], (0, 0)),
        ] {
            let mut composer = Composer::default();
            composer.insert(text);
            composer.set_cursor(place);
            let (broken, cursor) = break_lines(&composer, None, 4);
            let broken: Vec<String> = broken.iter().map(StyledLine::plain_text).collect();
            assert_eq!(broken, lines, "{text}");
            assert_eq!((cursor.row, cursor.column), at, "{text}");
        }
    }
}
