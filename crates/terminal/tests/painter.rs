//! What is painted is what stands on a screen, whatever was there before.

use proptest::prelude::*;
use windlass_terminal::painter::{Cursor, Painter};
use windlass_terminal::styled_line::{StyledLine, TextStyle};
use windlass_terminal::theme::Theme;

const ROWS: u16 = 12;
const COLUMNS: u16 = 20;

fn line() -> impl Strategy<Value = StyledLine> {
    let text = prop_oneof!["[a-z ]{0,30}", "[日本語é ]{0,12}"];
    let style =
        prop_oneof![Just(TextStyle::Plain), Just(TextStyle::Failure), Just(TextStyle::Selected)];
    (text, style).prop_map(|(text, style)| StyledLine::from_text(text, style))
}

/// One painting: lines for good, live lines, a cursor.
fn step() -> impl Strategy<Value = (Vec<StyledLine>, Vec<StyledLine>, usize, usize)> {
    let finished = prop::collection::vec(line(), 0..3);
    let live = prop::collection::vec(line(), 1..6);
    (finished, live, 0_usize..6, 0_usize..25)
}

fn shown(screen: &vt100::Screen) -> Vec<String> {
    let rows = screen.rows(0, COLUMNS).map(|row| row.trim_end().to_owned());
    let mut rows: Vec<String> = rows.collect();
    while rows.last().is_some_and(String::is_empty) {
        rows.pop();
    }
    rows
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// The last rows of the screen are the last finished lines and all live ones; the cursor stands
    /// where it was put; no colour is left on.
    #[test]
    fn the_screen_shows_what_was_painted(steps in prop::collection::vec(step(), 1..8)) {
        let mut parser = vt100::Parser::new(ROWS, COLUMNS, 0);
        let mut painter = Painter::new(Theme::Dark, COLUMNS.into());
        let mut history: Vec<String> = Vec::new();
        // A terminal never scrolls back.
        let mut scrolled = 0;
        for (finished, live, row, column) in steps {
            let cursor = Cursor { row, column };
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
            prop_assert_eq!(shown(parser.screen()), expected);
            let (at_row, at_column) = parser.screen().cursor_position();
            let row = first_live + row.min(live.len() - 1);
            prop_assert_eq!(usize::from(at_row), row);
            prop_assert_eq!(usize::from(at_column), column.min(usize::from(COLUMNS) - 1));
            prop_assert!(!parser.screen().hide_cursor());
        }
    }

    /// Painting the same again writes no text.
    #[test]
    fn what_did_not_change_is_not_written(live in prop::collection::vec(line(), 1..6)) {
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
