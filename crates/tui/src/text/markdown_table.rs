//! Renders a table with columns as wide as their widest cell, or narrower if the screen is.

use crate::styled_line::{StyledLine, TextStyle};

#[derive(Debug, Default)]
pub(super) struct MarkdownTable {
    rows: Vec<Vec<StyledLine>>,
}

impl MarkdownTable {
    pub(super) fn start_row(&mut self) {
        self.rows.push(Vec::new());
    }

    pub(super) fn start_cell(&mut self) {
        if let Some(row) = self.rows.last_mut() {
            row.push(StyledLine::new());
        }
    }

    pub(super) fn push_text(&mut self, text: &str, style: TextStyle) {
        if let Some(cell) = self.rows.last_mut().and_then(|row| row.last_mut()) {
            cell.push(text, style);
        }
    }

    /// Cells that do not fit are cut.
    pub(super) fn render(self, width: usize) -> Vec<StyledLine> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        if columns == 0 {
            return Vec::new();
        }
        let mut widths: Vec<usize> = (0..columns)
            .map(|column| {
                self.rows.iter().filter_map(|row| row.get(column)).map(StyledLine::width).max()
            })
            .map(|widest| widest.unwrap_or(0).max(1))
            .collect();
        // Narrow the widest column until everything fits.
        let room = width.saturating_sub(SEPARATOR.chars().count() * (columns - 1)).max(columns);
        while widths.iter().sum::<usize>() > room {
            match widths.iter_mut().max() {
                Some(widest) if *widest > 1 => *widest -= 1,
                _ => break,
            }
        }
        let mut lines = Vec::new();
        for (number, row) in self.rows.iter().enumerate() {
            let mut line = StyledLine::new();
            for (column, width) in widths.iter().enumerate() {
                if column > 0 {
                    line.push(SEPARATOR, TextStyle::Dim);
                }
                let cell = row.get(column).cloned().unwrap_or_default().truncate_to_width(*width);
                let blanks = width.saturating_sub(cell.width());
                for span in cell.spans {
                    let style = if number == 0 && span.style == TextStyle::Plain {
                        TextStyle::Bold
                    } else {
                        span.style
                    };
                    line.push(span.text, style);
                }
                if column + 1 < columns {
                    line.push(" ".repeat(blanks), TextStyle::Plain);
                }
            }
            lines.push(line);
            if number == 0 {
                let rule: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
                lines.push(StyledLine::from_text(rule.join("─┼─"), TextStyle::Dim));
            }
        }
        lines
    }
}

const SEPARATOR: &str = " │ ";
