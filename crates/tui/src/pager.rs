//! The whole transcript, unfolded and with search, on the terminal's alternate screen. The newest
//! entries are rendered first and the others frame by frame, so that a long session opens at once. Pure.

use std::collections::VecDeque;

use crate::input::{CursorMove, Deletion, InputKey, Shortcut};
use crate::screen_size::ScreenSize;
use crate::styled_line::{StyledLine, TextStyle};
use crate::transcript::TranscriptBuffer;
use crate::words;

#[derive(Debug, Default)]
pub struct Pager {
    /// What is rendered so far, the oldest first.
    lines: VecDeque<StyledLine>,
    /// The first line on the screen.
    top: usize,
    width: usize,
    /// The oldest entry that is rendered.
    first_entry: usize,
    is_fully_loaded: bool,
    /// A separate page is shown instead of the transcript.
    is_page: bool,
    search: PagerSearch,
}

/// A query is never empty, except while it is being typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum PagerSearch {
    #[default]
    Off,
    Editing(String),
    /// The next match can only be above what is loaded.
    Pending(String),
    /// The query is highlighted, and `n` and `N` repeat it.
    Done(String),
    NoMatch(String),
}

impl PagerSearch {
    /// The search query; empty if there is none.
    fn query(&self) -> &str {
        match self {
            Self::Off | Self::Editing(_) => "",
            Self::Pending(query) | Self::Done(query) | Self::NoMatch(query) => query,
        }
    }
}

impl Pager {
    pub fn open_at_end(entries: &TranscriptBuffer, folder: &str, size: ScreenSize) -> Self {
        let first_entry = entries.total_count();
        let mut pager = Self { width: size.width, first_entry, ..Self::default() };
        pager.load_older(entries, folder, size.rows);
        pager.top = pager.last_top(size.rows);
        pager
    }

    /// Adds lines at the end, and shows the end.
    pub fn add_below(&mut self, lines: impl IntoIterator<Item = StyledLine>, rows: usize) {
        self.lines.extend(lines);
        self.top = self.last_top(rows);
    }

    /// Shows these lines from the first one on.
    pub fn open_page(lines: Vec<StyledLine>, size: ScreenSize) -> Self {
        Self {
            lines: lines.into(),
            width: size.width,
            is_fully_loaded: true,
            is_page: true,
            ..Self::default()
        }
    }

    pub fn is_page(&self) -> bool {
        self.is_page
    }

    /// All lines, for terminals that have no pages.
    pub fn into_lines(self) -> Vec<StyledLine> {
        self.lines.into()
    }

    pub fn width(&self) -> usize {
        self.width
    }

    pub fn is_fully_loaded(&self) -> bool {
        self.is_fully_loaded
    }

    /// Renders older entries: as many as one frame may cost, and at least a screenful.
    pub fn load_older(&mut self, entries: &TranscriptBuffer, folder: &str, rows: usize) {
        let mut bytes = 0;
        let before = self.lines.len();
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
        if matches!(self.search, PagerSearch::Pending(_)) {
            self.search_up(more, rows);
        }
    }

    fn last_top(&self, rows: usize) -> usize {
        self.lines.len().saturating_sub(rows.saturating_sub(1))
    }

    /// Returns whether the pager stays open.
    pub fn handle_key(&mut self, key: &InputKey, rows: usize) -> bool {
        if let PagerSearch::Editing(query) = &mut self.search {
            let query = std::mem::take(query);
            self.handle_search_key(query, key, rows);
            return true;
        }
        let page = rows.saturating_sub(2).max(1);
        let last = self.last_top(rows);
        // The message disappears with the next key; the query stays.
        if let PagerSearch::NoMatch(query) = &mut self.search {
            self.search = PagerSearch::Done(std::mem::take(query));
        }
        match key {
            InputKey::Escape
            | InputKey::Cancel
            | InputKey::Shortcut(Shortcut::OpenTranscript)
            | InputKey::Char('q')
            | InputKey::EndOfInput => {
                return false;
            }
            InputKey::Char('/') | InputKey::Shortcut(Shortcut::SearchHistory) => {
                self.search = PagerSearch::Editing(String::new());
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
            InputKey::Move(_)
            | InputKey::Char(_)
            | InputKey::NewLine
            | InputKey::Tab
            | InputKey::BackTab
            | InputKey::Paste(_)
            | InputKey::Delete(_)
            | InputKey::Shortcut(_) => {}
        }
        self.top = self.top.min(last);
        true
    }

    fn handle_search_key(&mut self, mut query: String, key: &InputKey, rows: usize) {
        if *key == InputKey::Enter {
            let end = (self.top + rows.saturating_sub(1)).min(self.lines.len());
            self.search = match query.is_empty() {
                true => PagerSearch::Off,
                false => PagerSearch::Done(query),
            };
            // The newest first: everything up to the end of the screen.
            return self.search_up(end, rows);
        }
        if matches!(key, InputKey::Escape | InputKey::Cancel) {
            self.search = PagerSearch::Off;
            return;
        }
        if let InputKey::Char(letter) = key
            && query.len() < QUERY_BYTES_MAX
        {
            query.push(*letter);
        } else if *key == InputKey::Delete(Deletion::CharBefore) {
            query.pop();
        }
        self.search = PagerSearch::Editing(query);
    }

    /// Goes to the last match above line `below`. If there is none, the search waits until older
    /// lines are loaded, and wraps around once all are loaded.
    fn search_up(&mut self, below: usize, rows: usize) {
        let query = self.search.query().to_owned();
        if query.is_empty() {
            return;
        }
        let mut found = (0..below).rev().find(|at| self.is_match_at(*at));
        if found.is_none() && self.is_fully_loaded {
            found = (below..self.lines.len()).rev().find(|at| self.is_match_at(*at));
        }
        self.search = match found {
            Some(line) => {
                self.top = line.min(self.last_top(rows));
                PagerSearch::Done(query)
            }
            None if self.is_fully_loaded => PagerSearch::NoMatch(query),
            None => PagerSearch::Pending(query),
        };
    }

    fn search_down(&mut self, rows: usize) {
        let query = self.search.query().to_owned();
        if query.is_empty() {
            return;
        }
        let mut others = (self.top + 1..self.lines.len()).chain(0..self.top);
        self.search = match others.find(|at| self.is_match_at(*at)) {
            Some(line) => {
                self.top = line.min(self.last_top(rows));
                PagerSearch::Done(query)
            }
            // The search continues above what is loaded.
            None if matches!(self.search, PagerSearch::Pending(_)) => PagerSearch::Pending(query),
            None => PagerSearch::NoMatch(query),
        };
    }

    fn is_match_at(&self, at: usize) -> bool {
        self.lines.get(at).is_some_and(|line| find_in_line(line, self.search.query()).is_some())
    }

    /// Returns exactly `rows` lines.
    pub fn render_screen(&self, width: usize, rows: usize) -> Vec<StyledLine> {
        let room = rows.saturating_sub(1);
        let shown = self.lines.iter().skip(self.top).take(room);
        let mut screen: Vec<StyledLine> =
            shown.map(|line| self.highlight_match(line).truncate_to_width(width)).collect();
        screen.resize(room, StyledLine::new());
        screen.push(self.render_hint(room, width).truncate_to_width(width));
        screen
    }

    fn render_hint(&self, room: usize, width: usize) -> StyledLine {
        let place = match &self.search {
            PagerSearch::Editing(query) => {
                return StyledLine::from_text(format!("/{query}"), TextStyle::Selected);
            }
            PagerSearch::NoMatch(query) => words::describe_no_match(query),
            PagerSearch::Pending(query) => words::describe_search(query),
            PagerSearch::Off | PagerSearch::Done(_) => {
                let end = (self.top + room).min(self.lines.len());
                let more = if self.is_fully_loaded { "" } else { "+" };
                words::describe_page(self.top + 1, end, &format!("{}{more}", self.lines.len()))
            }
        };
        let line = |hint: &str| StyledLine::from_text(format!(" {hint} "), TextStyle::Selected);
        let mut hint = format!("{} · {place}", words::PAGER_LEAVE);
        for key in words::PAGER_KEYS {
            let longer = format!("{hint} · {key}");
            if line(&longer).width() > width {
                break;
            }
            hint = longer;
        }
        line(&hint)
    }

    fn highlight_match(&self, line: &StyledLine) -> StyledLine {
        let query = self.search.query();
        let Some(from) = find_in_line(line, query) else { return line.clone() };
        let to = from + query.len();
        let mut at = 0;
        let mut marked = StyledLine::new();
        for span in &line.spans {
            for letter in span.text.split_inclusive(|_| true) {
                let style = if (from..to).contains(&at) { TextStyle::Selected } else { span.style };
                marked.push(letter, style);
                at += letter.len();
            }
        }
        marked
    }
}

/// Ignores the case of ASCII letters. An empty query is nowhere.
fn find_in_line(line: &StyledLine, query: &str) -> Option<usize> {
    let text = (!query.is_empty()).then(|| line.plain_text().to_ascii_lowercase())?;
    text.find(&query.to_ascii_lowercase())
}

/// Bytes of entries that one frame may render.
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
            while matches!(pager.search, PagerSearch::Pending(_)) {
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
        assert!(screen_text(&pager).contains("no match for quince"), "{}", screen_text(&pager));
        assert!(!pager.handle_key(&InputKey::Char('q'), 24), "it leaves");
    }
    /// All keys of a burst may come before the next frame loads more.
    #[test]
    fn a_word_that_is_half_typed_does_not_move_the_page() {
        let entries = build_entries(3_000);
        let mut pager = Pager::open_at_end(&entries, "", SIZE);
        for key in "/quince".chars().map(InputKey::Char).chain([InputKey::Enter]) {
            pager.handle_key(&key, 24);
        }
        assert!(matches!(pager.search, PagerSearch::Pending(_)));
        let before = screen_text(&pager).lines().next().map(str::to_owned);
        for key in "/number".chars().map(InputKey::Char) {
            pager.handle_key(&key, 24);
        }
        pager.load_older(&entries, "", 24);
        assert_eq!(screen_text(&pager).lines().next().map(str::to_owned), before);
        assert!(screen_text(&pager).ends_with("/number\n"), "{}", screen_text(&pager));
    }
}
