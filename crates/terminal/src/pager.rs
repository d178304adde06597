//! A page of its own that is leafed through, on the terminal's other screen: everything that happened,
//! unfolded, with search. What was scrolled up cannot be changed in place; here it can be read. The
//! newest is drawn first and the rest frame by frame, so that a long session opens at once. Pure.

use std::collections::VecDeque;

use crate::input::{CursorMove, InputKey};
use crate::screen_size::ScreenSize;
use crate::styled_line::{StyledLine, TextStyle};
use crate::transcript::TranscriptBuffer;

/// What is shown, and from where.
#[derive(Debug, Default)]
pub struct Pager {
    /// What is drawn so far, the oldest first.
    lines: VecDeque<StyledLine>,
    top: usize,
    width: usize,
    /// The first entry that is drawn.
    first_entry: usize,
    /// Nothing older is left to draw.
    is_fully_loaded: bool,
    query: String,
    /// It is being typed.
    is_editing_query: bool,
    /// The next place is above what is drawn, if it is anywhere.
    is_search_pending: bool,
    /// It is nowhere.
    has_no_match: bool,
}

impl Pager {
    /// Shows the end of what happened.
    #[must_use]
    pub fn open_at_end(entries: &TranscriptBuffer, folder: &str, size: ScreenSize) -> Self {
        let first_entry = entries.total_count();
        let mut pager = Self { width: size.width, first_entry, ..Self::default() };
        pager.load_older(entries, folder, size.rows);
        pager.top = pager.last_top(size.rows);
        pager
    }

    /// The width it is drawn for.
    #[must_use]
    pub fn width(&self) -> usize {
        self.width
    }

    /// Is everything drawn?
    #[must_use]
    pub fn is_fully_loaded(&self) -> bool {
        self.is_fully_loaded
    }

    /// Draws more of what is older: so much as a frame may cost, and at least a screen.
    pub fn load_older(&mut self, entries: &TranscriptBuffer, folder: &str, rows: usize) {
        let (mut bytes, before) = (0, self.lines.len());
        while !self.is_fully_loaded && (bytes < FRAME_BYTES_MAX || self.lines.len() < rows) {
            let Some(entry) = self.first_entry.checked_sub(1).and_then(|at| entries.get(at)) else {
                self.is_fully_loaded = true;
                break;
            };
            self.first_entry -= 1;
            bytes += entry.size_bytes();
            self.lines.push_front(StyledLine::new());
            for line in entry.render(self.width, folder).into_iter().rev() {
                self.lines.push_front(line);
            }
        }
        let more = self.lines.len() - before;
        self.top += more;
        if self.is_search_pending {
            self.search_up(more, rows);
        }
    }

    fn last_top(&self, rows: usize) -> usize {
        self.lines.len().saturating_sub(rows.saturating_sub(1))
    }

    /// A key was pressed; says whether the page stays.
    pub fn handle_key(&mut self, key: &InputKey, rows: usize) -> bool {
        if self.is_editing_query {
            self.handle_search_key(key, rows);
            return true;
        }
        let page = rows.saturating_sub(2).max(1);
        let last = self.last_top(rows);
        self.has_no_match = false;
        match key {
            InputKey::Escape
            | InputKey::Cancel
            | InputKey::OpenTranscript
            | InputKey::Char('q')
            | InputKey::EndOfInput => {
                return false;
            }
            InputKey::Char('/') | InputKey::SearchHistory => {
                self.query.clear();
                self.is_editing_query = true;
            }
            InputKey::Char('n') => self.search_up(self.top, rows),
            InputKey::Char('N') => self.search_down(rows),
            InputKey::Move(CursorMove::Up) | InputKey::Char('k') => {
                self.top = self.top.saturating_sub(1);
            }
            InputKey::Move(CursorMove::Down) | InputKey::Char('j') | InputKey::Enter => {
                self.top += 1;
            }
            InputKey::PageUp | InputKey::Char('b') => self.top = self.top.saturating_sub(page),
            InputKey::PageDown | InputKey::Char(' ') => self.top += page,
            InputKey::Move(CursorMove::Home) | InputKey::Char('g') => self.top = 0,
            InputKey::Move(CursorMove::End) | InputKey::Char('G') => self.top = last,
            _ => {}
        }
        self.top = self.top.min(last);
        true
    }

    /// A key of what is searched for.
    fn handle_search_key(&mut self, key: &InputKey, rows: usize) {
        match key {
            InputKey::Char(letter) if self.query.len() < QUERY_BYTES_MAX => {
                self.query.push(*letter);
            }
            InputKey::Backspace => {
                self.query.pop();
            }
            InputKey::Enter => {
                self.is_editing_query = false;
                // The newest first: everything up to the end of the screen.
                self.search_up((self.top + rows.saturating_sub(1)).min(self.lines.len()), rows);
            }
            InputKey::Escape | InputKey::Cancel => {
                self.is_editing_query = false;
                self.query.clear();
            }
            _ => {}
        }
    }

    /// Goes to the last place among the first so many lines; if there is none, to the one that is
    /// drawn next, or to the last of all.
    fn search_up(&mut self, below: usize, rows: usize) {
        let mut place = (0..below).rev().find(|at| self.is_match_at(*at));
        if place.is_none() && self.is_fully_loaded {
            // From the end again.
            place = (below..self.lines.len()).rev().find(|at| self.is_match_at(*at));
        }
        match place {
            Some(place) => self.top = place.min(self.last_top(rows)),
            None => self.has_no_match = self.is_fully_loaded && !self.query.is_empty(),
        }
        self.is_search_pending = place.is_none() && !self.is_fully_loaded && !self.query.is_empty();
    }

    fn search_down(&mut self, rows: usize) {
        let mut places = (self.top + 1..self.lines.len()).chain(0..self.top);
        let place = places.find(|at| self.is_match_at(*at));
        match place {
            Some(place) => self.top = place.min(self.last_top(rows)),
            None => self.has_no_match = !self.query.is_empty(),
        }
    }

    fn is_match_at(&self, at: usize) -> bool {
        self.lines.get(at).is_some_and(|line| find_in_line(line, &self.query).is_some())
    }

    /// Exactly so many rows.
    #[must_use]
    pub fn render_screen(&self, width: usize, rows: usize) -> Vec<StyledLine> {
        let room = rows.saturating_sub(1);
        let shown = self.lines.iter().skip(self.top).take(room);
        let mut screen: Vec<StyledLine> =
            shown.map(|line| self.highlight_match(line).truncate_to_width(width)).collect();
        screen.resize(room, StyledLine::new());
        screen.push(self.render_hint(room).truncate_to_width(width));
        screen
    }

    fn render_hint(&self, room: usize) -> StyledLine {
        if self.is_editing_query {
            return StyledLine::from_text(format!("/{}", self.query), TextStyle::Selected);
        }
        let end = (self.top + room).min(self.lines.len());
        let more = if self.is_fully_loaded { "" } else { "+" };
        let place = match (self.has_no_match, self.is_search_pending) {
            (true, _) => format!("{} is nowhere", self.query),
            (_, true) => format!("looking for {}", self.query),
            _ => format!("lines {} to {end} of {}{more}", self.top + 1, self.lines.len()),
        };
        let keys = "/ searches, n again · ↑↓ PgUp PgDn Home End";
        StyledLine::from_text(format!(" Esc goes back · {place} · {keys} "), TextStyle::Selected)
    }

    /// The line with what is searched for marked.
    fn highlight_match(&self, line: &StyledLine) -> StyledLine {
        let Some(from) = find_in_line(line, &self.query).filter(|_| !self.is_editing_query) else {
            return line.clone();
        };
        let (to, mut at) = (from + self.query.len(), 0);
        let mut marked = StyledLine::new();
        for span in &line.spans {
            for letter in span.text.split_inclusive(|_| true) {
                let role = if (from..to).contains(&at) { TextStyle::Selected } else { span.style };
                marked.push(letter, role);
                at += letter.len();
            }
        }
        marked
    }
}

/// Where a line holds this, large or small.
fn find_in_line(line: &StyledLine, wanted: &str) -> Option<usize> {
    let is_wanted = !wanted.is_empty();
    let words = is_wanted.then(|| line.plain_text().to_ascii_lowercase())?;
    words.find(&wanted.to_ascii_lowercase())
}

/// Bytes of entries that are drawn in a frame.
const FRAME_BYTES_MAX: usize = 64 * 1024;
const QUERY_BYTES_MAX: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript::TranscriptEntry;

    const SIZE: ScreenSize = ScreenSize { width: 80, rows: 24 };

    fn build_entries(count: usize) -> TranscriptBuffer {
        let mut entries = TranscriptBuffer::default();
        for number in 0..count {
            entries.push(TranscriptEntry::Answer(format!(
                "Answer number {number}.\n\n{}",
                "x ".repeat(400)
            )));
        }
        entries
    }

    fn screen_text(pager: &Pager) -> String {
        pager.render_screen(80, 24).iter().map(|line| line.plain_text() + "\n").collect()
    }

    #[test]
    fn a_long_session_opens_at_once_and_comes_frame_by_frame() {
        let entries = build_entries(5_000);
        let mut pager = Pager::open_at_end(&entries, "", SIZE);
        let drawn = pager.lines.len();
        assert!(!pager.is_fully_loaded() && drawn < 5_000, "{drawn}");
        assert!(screen_text(&pager).contains("of "), "{}", screen_text(&pager));
        let before = screen_text(&pager).lines().next().map(str::to_owned);
        let mut frames = 0;
        while !pager.is_fully_loaded() {
            let had = pager.lines.len();
            pager.load_older(&entries, "", 24);
            assert!(pager.lines.len() - had < 3_000);
            frames += 1;
        }
        assert!(frames > 10);
        assert_eq!(
            screen_text(&pager).lines().next().map(str::to_owned),
            before,
            "it does not move"
        );
        pager.handle_key(&InputKey::Char('g'), 24);
        assert!(screen_text(&pager).contains("Answer number 0."));
    }

    #[test]
    fn what_is_searched_for_is_found_before_and_after_it_is_drawn() {
        let entries = build_entries(3_000);
        let mut pager = Pager::open_at_end(&entries, "", SIZE);
        let search = |pager: &mut Pager, words: &str| {
            pager.handle_key(&InputKey::Char('/'), 24);
            for letter in words.chars() {
                assert!(pager.handle_key(&InputKey::Char(letter), 24), "{words}: no letter leaves");
            }
            pager.handle_key(&InputKey::Enter, 24);
            while !pager.is_fully_loaded() && pager.is_search_pending {
                pager.load_older(&entries, "", 24);
            }
        };
        search(&mut pager, "NUMBER 7.");
        assert!(screen_text(&pager).contains("Answer number 7."), "{}", screen_text(&pager));
        let marked = pager.render_screen(80, 24).iter().any(|line| {
            line.spans
                .iter()
                .any(|span| span.style == TextStyle::Selected && span.text == "number 7.")
        });
        assert!(marked);
        search(&mut pager, "number 29");
        let first = screen_text(&pager);
        pager.handle_key(&InputKey::Char('n'), 24);
        assert_ne!(screen_text(&pager), first);
        pager.handle_key(&InputKey::Char('N'), 24);
        assert_eq!(screen_text(&pager), first);
        search(&mut pager, "quince");
        assert!(screen_text(&pager).contains("quince is nowhere"), "{}", screen_text(&pager));
        assert!(!pager.handle_key(&InputKey::Char('q'), 24), "it leaves");
    }
}
