//! A page of its own that is leafed through, on the terminal's other screen. Pure.

use crate::composer::Move;
use crate::input::Key;
use crate::line::{Line, Role};

/// What is shown, and from where.
#[derive(Debug, Default)]
pub struct Pager {
    lines: Vec<Line>,
    top: usize,
}

impl Pager {
    /// Shows the end of these lines.
    #[must_use]
    pub fn at_end(lines: Vec<Line>, rows: usize) -> Self {
        let top = lines.len().saturating_sub(rows.saturating_sub(1));
        Self { lines, top }
    }

    /// A key was pressed; says whether the page stays.
    pub fn key(&mut self, key: &Key, rows: usize) -> bool {
        let page = rows.saturating_sub(2).max(1);
        let last = self.lines.len().saturating_sub(rows.saturating_sub(1));
        match key {
            Key::Escape | Key::Cancel | Key::Unfold | Key::Letter('q') | Key::EndOfInput => {
                return false;
            }
            Key::Move(Move::Up) | Key::Letter('k') => self.top = self.top.saturating_sub(1),
            Key::Move(Move::Down) | Key::Letter('j') | Key::Enter => self.top += 1,
            Key::PageUp | Key::Letter('b') => self.top = self.top.saturating_sub(page),
            Key::PageDown | Key::Letter(' ') => self.top += page,
            Key::Move(Move::Home) | Key::Letter('g') => self.top = 0,
            Key::Move(Move::End) | Key::Letter('G') => self.top = last,
            _ => {}
        }
        self.top = self.top.min(last);
        true
    }

    /// Exactly so many rows.
    #[must_use]
    pub fn screen(&self, width: usize, rows: usize) -> Vec<Line> {
        let room = rows.saturating_sub(1);
        let shown = self.lines.iter().skip(self.top).take(room).map(|line| line.cut(width));
        let mut screen: Vec<Line> = shown.collect();
        screen.resize(room, Line::new());
        let end = (self.top + room).min(self.lines.len());
        let place = format!("lines {} to {end} of {}", self.top + 1, self.lines.len());
        let hint = format!(" Esc goes back · {place} · ↑↓ PgUp PgDn Home End ");
        screen.push(Line::of(hint, Role::Chosen).cut(width));
        screen
    }
}
