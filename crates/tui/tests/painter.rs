//! A terminal shows exactly what was painted, whatever was there before.

use proptest::prelude::*;
use windlass_tui::painter::{Cursor, Painter};
use windlass_tui::styled_line::{StyledLine, TextStyle};
use windlass_tui::theme::Theme;

const ROWS: u16 = 12;
const COLUMNS: u16 = 20;

fn any_line() -> impl Strategy<Value = StyledLine> {
    let text = prop_oneof!["[a-z ]{0,30}", "[日本語é ]{0,12}"];
    let style =
        prop_oneof![Just(TextStyle::Plain), Just(TextStyle::Failure), Just(TextStyle::Selected)];
    (text, style).prop_map(|(text, style)| StyledLine::from_text(text, style))
}

#[derive(Clone, Debug)]
struct PaintStep {
    finished: Vec<StyledLine>,
    live: Vec<StyledLine>,
    cursor: Cursor,
}

fn any_step() -> impl Strategy<Value = PaintStep> {
    let finished = prop::collection::vec(any_line(), 0..3);
    let live = prop::collection::vec(any_line(), 1..6);
    let cursor = (0_usize..6, 0_usize..25).prop_map(|(row, column)| Cursor { row, column });
    (finished, live, cursor).prop_map(|(finished, live, cursor)| PaintStep {
        finished,
        live,
        cursor,
    })
}

fn visible_rows(screen: &vt100::Screen) -> Vec<String> {
    let rows = screen.rows(0, COLUMNS).map(|row| row.trim_end().to_owned());
    let mut rows: Vec<String> = rows.collect();
    while rows.last().is_some_and(String::is_empty) {
        rows.pop();
    }
    rows
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// The last rows are the last finished lines and all live ones; the cursor is where it was put.
    #[test]
    fn the_screen_shows_what_was_painted(steps in prop::collection::vec(any_step(), 1..8)) {
        let mut parser = vt100::Parser::new(ROWS, COLUMNS, 0);
        let mut painter = Painter::new(Theme::Dark, COLUMNS.into());
        let mut history: Vec<String> = Vec::new();
        // A terminal never scrolls back.
        let mut scrolled = 0;
        for PaintStep { finished, live, cursor } in steps {
            parser.process(painter.paint(&finished, &live, cursor).as_bytes());
            let words = |line: &StyledLine| line.truncate_to_width(COLUMNS.into()).plain_text().trim_end().to_owned();
            history.extend(finished.iter().map(words));
            let mut expected: Vec<String> = history.clone();
            expected.extend(live.iter().map(words));
            scrolled = scrolled.max(expected.len().saturating_sub(ROWS.into()));
            let mut expected: Vec<String> = expected.split_off(scrolled);
            let first_live = expected.len() - live.len();
            while expected.last().is_some_and(String::is_empty) {
                expected.pop();
            }
            prop_assert_eq!(visible_rows(parser.screen()), expected);
            let (at_row, at_column) = parser.screen().cursor_position();
            let row = first_live + cursor.row.min(live.len() - 1);
            prop_assert_eq!(usize::from(at_row), row);
            prop_assert_eq!(usize::from(at_column), cursor.column.min(usize::from(COLUMNS) - 1));
            prop_assert!(!parser.screen().hide_cursor());
        }
    }

    /// Painting the same again writes no text.
    #[test]
    fn what_did_not_change_is_not_written(live in prop::collection::vec(any_line(), 1..6)) {
        let mut painter = Painter::new(Theme::Plain, COLUMNS.into());
        painter.paint(&[], &live, Cursor::default());
        let again = painter.paint(&[], &live, Cursor::default());
        prop_assert!(again.len() <= 8, "{:?}", again);
    }
}

#[test]
fn one_changed_line_costs_one_line() {
    let mut painter = Painter::new(Theme::Plain, 200);
    let mut live: Vec<StyledLine> =
        (0..40).map(|row| StyledLine::from_text("x".repeat(100 + row), TextStyle::Plain)).collect();
    painter.paint(&[], &live, Cursor::default());
    live[20] = StyledLine::from_text("changed", TextStyle::Plain);
    let bytes = painter.paint(&[], &live, Cursor::default());
    assert!(bytes.len() < 80, "{bytes:?}");
}

/// Whoever looks at the screen between two writes sees no half of a page.
#[test]
fn a_page_is_one_frame() {
    let painter = Painter::new(Theme::Plain, 20);
    let page = [StyledLine::from_text("one", TextStyle::Plain), StyledLine::new()];
    let bytes = painter.paint_page(&[], &page);
    assert!(bytes.starts_with("\x1b[?2026h") && bytes.ends_with("\x1b[?2026l"), "{bytes:?}");
    assert_eq!(painter.paint_page(&page, &page), "");
}
