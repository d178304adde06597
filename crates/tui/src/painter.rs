//! Paints lines without taking the terminal over. Finished lines scroll into the terminal's own history
//! and are never touched again; below them are the live lines, of which only the changed ones are
//! written.
//!
//! Returns bytes instead of writing them, so it is tested against a model of a screen. Its input must be
//! free of control characters.

use std::fmt::Write as _;

use unicode_width::UnicodeWidthStr;

use crate::styled_line::StyledLine;
use crate::theme::Theme;

#[derive(Debug)]
pub struct Painter {
    theme: Theme,
    width: usize,
    /// As they are on the screen, each at most as wide as it.
    live: Vec<StyledLine>,
    /// Counted from the first live line.
    cursor_row: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    /// Counted from the first live line.
    pub row: usize,
    /// In cells.
    pub column: usize,
}

impl Painter {
    pub fn new(theme: Theme, width: usize) -> Self {
        Self { theme, width: width.max(1), live: Vec::new(), cursor_row: 0 }
    }

    /// Returns the bytes that add `finished` above the live lines and replace those by `live`. Writes no
    /// text if nothing changed.
    pub fn paint(
        &mut self,
        finished: &[StyledLine],
        live: &[StyledLine],
        cursor: Cursor,
    ) -> String {
        let live: Vec<StyledLine> =
            live.iter().map(|line| line.truncate_to_width(self.width)).collect();
        let mut out = String::new();
        if finished.is_empty() {
            self.repaint_changed(&mut out, &live);
        } else {
            self.move_to_row(&mut out, 0);
            out.push_str("\r\x1b[J");
            for line in finished {
                self.write_line(&mut out, &line.truncate_to_width(self.width));
                out.push_str("\r\n");
            }
            self.write_all_live(&mut out, &live);
        }
        let last = live.len().saturating_sub(1);
        self.live = live;
        let before = out.len();
        self.move_to_row(&mut out, cursor.row.min(last));
        let _ = write!(out, "\r");
        if cursor.column > 0 {
            let _ = write!(out, "\x1b[{}C", cursor.column.min(self.width.saturating_sub(1)));
        }
        // Moving the cursor alone needs no synchronized update.
        match before == 0 {
            true => out,
            false => format!("{FRAME_BEGIN}\x1b[?25l{out}\x1b[?25h{FRAME_END}"),
        }
    }

    /// Call this after the width has changed. The terminal has wrapped the live lines again, so their
    /// rows are counted for the new width and erased; the next `paint` writes them.
    pub fn resize(&mut self, width: usize) -> String {
        let width = width.max(1);
        let rows = |line: &StyledLine| line.width().div_ceil(width).max(1);
        let above: usize = self.live.iter().take(self.cursor_row).map(rows).sum();
        self.width = width;
        self.live.clear();
        self.cursor_row = 0;
        let mut out = String::new();
        if above > 0 {
            let _ = write!(out, "\x1b[{above}A");
        }
        out.push_str("\r\x1b[J");
        out
    }

    /// Returns the bytes that erase the live lines.
    pub fn clear(&mut self) -> String {
        let mut out = String::new();
        self.move_to_row(&mut out, 0);
        out.push_str("\r\x1b[J");
        self.live.clear();
        out
    }

    pub fn set_theme(&mut self, theme: Theme) {
        self.theme = theme;
    }

    /// Returns the bytes that turn one full screen into another; only rows that differ are written. No
    /// line may be wider than the screen.
    pub fn paint_page(&self, before: &[StyledLine], now: &[StyledLine]) -> String {
        let mut out = String::new();
        for (row, line) in now.iter().enumerate() {
            if before.get(row) != Some(line) {
                let _ = write!(out, "\x1b[{};1H", row + 1);
                self.write_spans(&mut out, line);
                out.push_str("\x1b[K");
            }
        }
        match out.is_empty() {
            true => out,
            false => format!("{FRAME_BEGIN}{out}{FRAME_END}"),
        }
    }

    fn repaint_changed(&mut self, out: &mut String, live: &[StyledLine]) {
        if self.live.is_empty() {
            return self.write_all_live(out, live);
        }
        for (row, line) in live.iter().enumerate().take(self.live.len()) {
            if self.live.get(row) != Some(line) {
                self.move_to_row(out, row);
                out.push('\r');
                self.write_line(out, line);
                out.push_str("\x1b[K");
            }
        }
        if live.len() > self.live.len() {
            self.move_to_row(out, self.live.len() - 1);
            for line in live.iter().skip(self.live.len()) {
                out.push_str("\r\n");
                self.write_line(out, line);
                self.cursor_row += 1;
            }
        } else if live.len() < self.live.len() {
            self.move_to_row(out, live.len());
            out.push_str("\r\x1b[J");
            if live.is_empty() {
                self.cursor_row = 0;
            }
        }
    }

    fn write_all_live(&mut self, out: &mut String, live: &[StyledLine]) {
        for (row, line) in live.iter().enumerate() {
            if row > 0 {
                out.push_str("\r\n");
            }
            self.write_line(out, line);
        }
        self.cursor_row = live.len().saturating_sub(1);
    }

    fn move_to_row(&mut self, out: &mut String, row: usize) {
        if row < self.cursor_row {
            let _ = write!(out, "\x1b[{}A", self.cursor_row - row);
        } else if row > self.cursor_row {
            let _ = write!(out, "\x1b[{}B", row - self.cursor_row);
        }
        self.cursor_row = row;
    }

    fn write_line(&self, out: &mut String, line: &StyledLine) {
        self.write_spans(out, line);
        // A line as wide as the screen leaves the cursor past its end; the next move corrects that.
        debug_assert!(line.width() <= self.width || self.width < "…".width());
    }

    fn write_spans(&self, out: &mut String, line: &StyledLine) {
        for span in &line.spans {
            let begin = self.theme.start_sequence(span.style);
            out.push_str(begin);
            out.push_str(&span.text);
            if !begin.is_empty() {
                out.push_str("\x1b[0m");
            }
        }
    }
}

/// Between these a terminal that knows them shows nothing: half a frame is never seen.
pub(crate) const FRAME_BEGIN: &str = "\x1b[?2026h";
const FRAME_END: &str = "\x1b[?2026l";
