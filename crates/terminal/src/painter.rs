//! Puts lines on a terminal without taking it over. What is finished goes up into the terminal's own
//! history and is never touched again; below it a few live lines are kept, and of those only the ones
//! that changed are written.
//!
//! Writes into any sink, so it is tested against a model of a screen. Everything it is given is
//! already free of control characters; it adds the only ones there are.

use std::fmt::Write as _;

use unicode_width::UnicodeWidthStr;

use crate::line::Line;
use crate::theme::Theme;

/// What stands on the screen now.
#[derive(Debug)]
pub struct Painter {
    theme: Theme,
    width: usize,
    /// The live lines as they stand, each at most as wide as the screen.
    live: Vec<Line>,
    /// The row of the live lines the cursor is in.
    row: usize,
}

/// Where the cursor stands among the live lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    /// Counted from the first live line.
    pub row: usize,
    /// Counted in cells.
    pub column: usize,
}

impl Painter {
    /// On a screen of this width, with nothing on it yet.
    #[must_use]
    pub fn new(theme: Theme, width: usize) -> Self {
        Self { theme, width: width.max(1), live: Vec::new(), row: 0 }
    }

    /// The bytes that put finished lines above the live ones, and make the live ones these. Nothing,
    /// if nothing changed.
    pub fn paint(&mut self, finished: &[Line], live: &[Line], cursor: Cursor) -> String {
        let live: Vec<Line> = live.iter().map(|line| line.cut(self.width)).collect();
        let mut out = String::new();
        if finished.is_empty() {
            self.change(&mut out, &live);
        } else {
            self.seek(&mut out, 0);
            out.push_str("\r\x1b[J");
            for line in finished {
                self.write(&mut out, &line.cut(self.width));
                out.push_str("\r\n");
            }
            self.fresh(&mut out, &live);
        }
        let last = live.len().saturating_sub(1);
        self.live = live;
        let before = out.len();
        self.seek(&mut out, cursor.row.min(last));
        let _ = write!(out, "\r");
        if cursor.column > 0 {
            let _ = write!(out, "\x1b[{}C", cursor.column.min(self.width.saturating_sub(1)));
        }
        // The cursor alone is moved without hiding anything.
        match before == 0 {
            true => out,
            false => format!("\x1b[?2026h\x1b[?25l{out}\x1b[?25h\x1b[?2026l"),
        }
    }

    /// The screen has another width now. What stands on it was broken anew by the terminal, so it is
    /// counted anew, wiped and written again by the next painting.
    pub fn resize(&mut self, width: usize) -> String {
        let width = width.max(1);
        let rows = |line: &Line| line.width().div_ceil(width).max(1);
        let above: usize = self.live.iter().take(self.row).map(rows).sum();
        self.width = width;
        self.live.clear();
        self.row = 0;
        let mut out = String::new();
        if above > 0 {
            let _ = write!(out, "\x1b[{above}A");
        }
        out.push_str("\r\x1b[J");
        out
    }

    /// The bytes that take the live lines away, so that a shell finds its place.
    pub fn clear(&mut self) -> String {
        let mut out = String::new();
        self.seek(&mut out, 0);
        out.push_str("\r\x1b[J");
        self.live.clear();
        out
    }

    /// Another look from now on.
    pub fn set_theme(&mut self, theme: Theme) {
        self.theme = theme;
    }

    /// The bytes that make a whole screen of one into another; only rows that differ are written.
    /// No line is wider than the screen.
    #[must_use]
    pub fn page(&self, before: &[Line], now: &[Line]) -> String {
        let mut out = String::new();
        for (row, line) in now.iter().enumerate() {
            if before.get(row) != Some(line) {
                let _ = write!(out, "\x1b[{};1H", row + 1);
                self.spans(&mut out, line);
                out.push_str("\x1b[K");
            }
        }
        out
    }

    fn change(&mut self, out: &mut String, live: &[Line]) {
        if self.live.is_empty() {
            return self.fresh(out, live);
        }
        for (row, line) in live.iter().enumerate().take(self.live.len()) {
            if self.live.get(row) != Some(line) {
                self.seek(out, row);
                out.push('\r');
                self.write(out, line);
                out.push_str("\x1b[K");
            }
        }
        if live.len() > self.live.len() {
            self.seek(out, self.live.len() - 1);
            for line in live.iter().skip(self.live.len()) {
                out.push_str("\r\n");
                self.write(out, line);
                self.row += 1;
            }
        } else if live.len() < self.live.len() {
            self.seek(out, live.len());
            out.push_str("\r\x1b[J");
            // There is always a line for the cursor to stand in.
            if live.is_empty() {
                self.row = 0;
            }
        }
    }

    fn fresh(&mut self, out: &mut String, live: &[Line]) {
        for (row, line) in live.iter().enumerate() {
            if row > 0 {
                out.push_str("\r\n");
            }
            self.write(out, line);
        }
        self.row = live.len().saturating_sub(1);
    }

    fn seek(&mut self, out: &mut String, row: usize) {
        if row < self.row {
            let _ = write!(out, "\x1b[{}A", self.row - row);
        } else if row > self.row {
            let _ = write!(out, "\x1b[{}B", row - self.row);
        }
        self.row = row;
    }

    fn write(&self, out: &mut String, line: &Line) {
        self.spans(out, line);
        // A line that fills the screen leaves the cursor beyond it; the next move settles that.
        debug_assert!(line.width() <= self.width || self.width < "…".width());
    }

    fn spans(&self, out: &mut String, line: &Line) {
        for span in &line.spans {
            let begin = self.theme.begin(span.role);
            out.push_str(begin);
            out.push_str(&span.text);
            if !begin.is_empty() {
                out.push_str("\x1b[0m");
            }
        }
    }
}
