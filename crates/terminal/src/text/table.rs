//! Draws a table: columns as wide as their widest cell, and narrower where the screen is.

use crate::line::{Line, Role};

/// A table as it is read.
#[derive(Debug, Default)]
pub(super) struct Table {
    rows: Vec<Vec<Line>>,
}

impl Table {
    pub(super) fn row(&mut self) {
        self.rows.push(Vec::new());
    }

    pub(super) fn cell(&mut self) {
        if let Some(row) = self.rows.last_mut() {
            row.push(Line::new());
        }
    }

    pub(super) fn say(&mut self, text: &str, role: Role) {
        if let Some(cell) = self.rows.last_mut().and_then(|row| row.last_mut()) {
            cell.push(text, role);
        }
    }

    /// Its lines; cells that do not fit are cut.
    pub(super) fn lines(self, width: usize) -> Vec<Line> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        if columns == 0 {
            return Vec::new();
        }
        let mut widths: Vec<usize> = (0..columns)
            .map(|column| self.rows.iter().filter_map(|row| row.get(column)).map(Line::width).max())
            .map(|widest| widest.unwrap_or(0).max(1))
            .collect();
        // Take from the widest until everything fits.
        let room = width.saturating_sub(SEPARATOR.chars().count() * (columns - 1)).max(columns);
        while widths.iter().sum::<usize>() > room {
            match widths.iter_mut().max() {
                Some(widest) if *widest > 1 => *widest -= 1,
                _ => break,
            }
        }
        let mut lines = Vec::new();
        for (number, row) in self.rows.iter().enumerate() {
            let mut line = Line::new();
            for (column, width) in widths.iter().enumerate() {
                if column > 0 {
                    line.push(SEPARATOR, Role::Quiet);
                }
                let cell = row.get(column).cloned().unwrap_or_default().cut(*width);
                let blanks = width.saturating_sub(cell.width());
                for span in cell.spans {
                    let role = if number == 0 && span.role == Role::Plain {
                        Role::Strong
                    } else {
                        span.role
                    };
                    line.push(span.text, role);
                }
                if column + 1 < columns {
                    line.push(" ".repeat(blanks), Role::Plain);
                }
            }
            lines.push(line);
            if number == 0 {
                let rule: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
                lines.push(Line::of(rule.join("─┼─"), Role::Quiet));
            }
        }
        lines
    }
}

const SEPARATOR: &str = " │ ";
