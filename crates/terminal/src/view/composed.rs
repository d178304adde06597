//! What is being typed, broken at the width of the screen, and where the cursor stands in it.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;
use windlass_permission::display;

use crate::app::App;
use crate::composer::Composer;
use crate::line::{Line, Role};
use crate::painter::Cursor;

/// The lines, and the cursor.
pub(super) fn lines(app: &App, rows: usize) -> (Vec<Line>, Cursor) {
    let sign = match &app.vim {
        Some(vim) if vim.is_normal => "∙ ",
        _ if app.composer.text().starts_with('!') => "! ",
        _ => "> ",
    };
    if app.composer.is_empty() {
        let words = match app.is_busy {
            true => "type to steer it at its next step; Esc stops it".to_owned(),
            false if !app.suggested.is_empty() => format!("{} (Tab)", app.suggested),
            false => "ask for something; /help shows what else there is".to_owned(),
        };
        let line = Line::of(sign, Role::User).and(words, Role::Quiet).cut(app.width);
        return (vec![line], Cursor { row: 0, column: 2 });
    }
    let selected = app.vim.as_ref().and_then(|vim| vim.selection(&app.composer));
    let (broken, at) = broken(&app.composer, selected.as_ref(), app.width.saturating_sub(2));
    let signs = std::iter::once(sign).chain(std::iter::repeat("  "));
    let all: Vec<Line> = signs
        .zip(broken)
        .map(|(sign, line)| {
            let whole = Line::of(sign, Role::User);
            line.spans.into_iter().fold(whole, |whole, span| whole.and(span.text, span.role))
        })
        .collect();
    // Of a long text the lines around the cursor are shown.
    let room = (rows / 2).max(1);
    let first = at.row.saturating_sub(room.saturating_sub(1));
    let shown: Vec<Line> = all.into_iter().skip(first).take(room).collect();
    (shown, Cursor { row: at.row - first, column: at.column + 2 })
}

/// The text in lines of at most this width, and where its place stands.
fn broken(
    composer: &Composer,
    selected: Option<&Range<usize>>,
    width: usize,
) -> (Vec<Line>, Cursor) {
    let (text, place) = (composer.text(), composer.place());
    let width = width.max(2);
    let (mut lines, mut line, mut cells) = (Vec::new(), Line::new(), 0);
    let mut cursor = Cursor::default();
    for (at, grapheme) in text.grapheme_indices(true) {
        let shown = match grapheme {
            "\n" | "\r\n" => String::new(),
            "\t" => "    ".to_owned(),
            other => display::visible(other),
        };
        if cells + shown.width() > width {
            lines.push(std::mem::take(&mut line));
            cells = 0;
        }
        if at == place {
            cursor = Cursor { row: lines.len(), column: cells };
        }
        if grapheme == "\n" || grapheme == "\r\n" {
            lines.push(std::mem::take(&mut line));
            cells = 0;
            continue;
        }
        cells += shown.width();
        let is_selected = selected.is_some_and(|range| range.contains(&at));
        line.push(shown, if is_selected { Role::Chosen } else { Role::Plain });
    }
    if place >= text.len() {
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
            composer.put_at(place);
            let (broken, cursor) = broken(&composer, None, 4);
            let broken: Vec<String> = broken.iter().map(Line::words).collect();
            assert_eq!(broken, lines, "{text}");
            assert_eq!((cursor.row, cursor.column), at, "{text}");
        }
    }
}
