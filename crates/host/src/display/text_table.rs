//! Rows and columns for people, and how long ago something was. Plain text: it may end up in a file.

use std::time::{SystemTime, UNIX_EPOCH};

use super::strip_control_characters;
use crate::words::{JUST_NOW, count_ago};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnAlignment {
    Left,
    Right,
}

/// The rows with every column as wide as its widest cell, two spaces between.
pub fn render_table<const N: usize>(sides: [ColumnAlignment; N], rows: &[[String; N]]) -> String {
    let mut widths = [0; N];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for ((cell, width), side) in row.iter().zip(widths).zip(sides) {
            if !line.is_empty() {
                line.push_str("  ");
            }
            match side {
                ColumnAlignment::Left => line.push_str(&format!("{cell:<width$}")),
                ColumnAlignment::Right => line.push_str(&format!("{cell:>width$}")),
            }
        }
        text.push_str(strip_control_characters(line.trim_end()).as_ref());
        text.push('\n');
    }
    text
}

/// How long ago that was, roughly.
pub fn format_time_ago(millis: u64) -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format_age(since.as_secs().saturating_sub(millis / 1_000))
}

fn format_age(seconds: u64) -> String {
    match seconds {
        0..60 => JUST_NOW.to_owned(),
        60..3_600 => count_ago(seconds / 60, "minute"),
        3_600..172_800 => count_ago(seconds / 3_600, "hour"),
        _ => count_ago(seconds / 86_400, "day"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_below_each_other() {
        let rows = [["a", "1"], ["long", "1,000"]].map(|row| row.map(str::to_owned));
        assert_eq!(
            render_table([ColumnAlignment::Left, ColumnAlignment::Right], &rows),
            "a         1\nlong  1,000\n"
        );
        let cases = [
            (0, "just now"),
            (61, "1 minute ago"),
            (7_200, "2 hours ago"),
            (200_000, "2 days ago"),
        ];
        for (seconds, words) in cases {
            assert_eq!(format_age(seconds), words);
        }
    }
}
