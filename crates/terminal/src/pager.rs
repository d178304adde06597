//! A page of its own that is leafed through, on the terminal's other screen: everything that happened,
//! unfolded, with search. What was scrolled up cannot be changed in place; here it can be read. The
//! newest is drawn first and the rest frame by frame, so that a long session opens at once. Pure.

use std::collections::VecDeque;

use crate::composer::Move;
use crate::entry::Entries;
use crate::input::Key;
use crate::line::{Line, Role};

/// What is shown, and from where.
#[derive(Debug, Default)]
pub struct Pager {
    /// What is drawn so far, the oldest first.
    lines: VecDeque<Line>,
    top: usize,
    width: usize,
    /// The first entry that is drawn.
    from: usize,
    /// Nothing older is left to draw.
    is_whole: bool,
    wanted: String,
    /// It is being typed.
    is_typing: bool,
    /// The next place is above what is drawn, if it is anywhere.
    is_seeking: bool,
    /// It is nowhere.
    is_nowhere: bool,
}

impl Pager {
    /// Shows the end of what happened.
    #[must_use]
    pub fn at_end(entries: &Entries, folder: &str, (width, rows): (usize, usize)) -> Self {
        let mut pager = Self { width, from: entries.end(), ..Self::default() };
        pager.load(entries, folder, rows);
        pager.top = pager.last(rows);
        pager
    }

    /// The width it is drawn for.
    #[must_use]
    pub fn width(&self) -> usize {
        self.width
    }

    /// Is everything drawn?
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Draws more of what is older: so much as a frame may cost, and at least a screen.
    pub fn load(&mut self, entries: &Entries, folder: &str, rows: usize) {
        let (mut bytes, before) = (0, self.lines.len());
        while !self.is_whole && (bytes < BYTES_MAX || self.lines.len() < rows) {
            let Some(entry) = self.from.checked_sub(1).and_then(|at| entries.get(at)) else {
                self.is_whole = true;
                break;
            };
            self.from -= 1;
            bytes += entry.bytes();
            self.lines.push_front(Line::new());
            for line in entry.lines(self.width, folder).into_iter().rev() {
                self.lines.push_front(line);
            }
        }
        let more = self.lines.len() - before;
        self.top += more;
        if self.is_seeking {
            self.seek_up(more, rows);
        }
    }

    fn last(&self, rows: usize) -> usize {
        self.lines.len().saturating_sub(rows.saturating_sub(1))
    }

    /// A key was pressed; says whether the page stays.
    pub fn key(&mut self, key: &Key, rows: usize) -> bool {
        if self.is_typing {
            self.typed(key, rows);
            return true;
        }
        let page = rows.saturating_sub(2).max(1);
        let last = self.last(rows);
        self.is_nowhere = false;
        match key {
            Key::Escape | Key::Cancel | Key::Unfold | Key::Letter('q') | Key::EndOfInput => {
                return false;
            }
            Key::Letter('/') | Key::Search => {
                self.wanted.clear();
                self.is_typing = true;
            }
            Key::Letter('n') => self.seek_up(self.top, rows),
            Key::Letter('N') => self.seek_down(rows),
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

    /// A key of what is searched for.
    fn typed(&mut self, key: &Key, rows: usize) {
        match key {
            Key::Letter(letter) if self.wanted.len() < WANTED_MAX => self.wanted.push(*letter),
            Key::Backspace => {
                self.wanted.pop();
            }
            Key::Enter => {
                self.is_typing = false;
                // The newest first: everything up to the end of the screen.
                self.seek_up((self.top + rows.saturating_sub(1)).min(self.lines.len()), rows);
            }
            Key::Escape | Key::Cancel => {
                self.is_typing = false;
                self.wanted.clear();
            }
            _ => {}
        }
    }

    /// Goes to the last place among the first so many lines; if there is none, to the one that is
    /// drawn next, or to the last of all.
    fn seek_up(&mut self, below: usize, rows: usize) {
        let mut place = (0..below).rev().find(|at| self.is_at(*at));
        if place.is_none() && self.is_whole {
            // From the end again.
            place = (below..self.lines.len()).rev().find(|at| self.is_at(*at));
        }
        match place {
            Some(place) => self.top = place.min(self.last(rows)),
            None => self.is_nowhere = self.is_whole && !self.wanted.is_empty(),
        }
        self.is_seeking = place.is_none() && !self.is_whole && !self.wanted.is_empty();
    }

    fn seek_down(&mut self, rows: usize) {
        let mut places = (self.top + 1..self.lines.len()).chain(0..self.top);
        let place = places.find(|at| self.is_at(*at));
        match place {
            Some(place) => self.top = place.min(self.last(rows)),
            None => self.is_nowhere = !self.wanted.is_empty(),
        }
    }

    fn is_at(&self, at: usize) -> bool {
        self.lines.get(at).is_some_and(|line| found(line, &self.wanted).is_some())
    }

    /// Exactly so many rows.
    #[must_use]
    pub fn screen(&self, width: usize, rows: usize) -> Vec<Line> {
        let room = rows.saturating_sub(1);
        let shown = self.lines.iter().skip(self.top).take(room);
        let mut screen: Vec<Line> = shown.map(|line| self.marked(line).cut(width)).collect();
        screen.resize(room, Line::new());
        screen.push(self.hint(room).cut(width));
        screen
    }

    fn hint(&self, room: usize) -> Line {
        if self.is_typing {
            return Line::of(format!("/{}", self.wanted), Role::Chosen);
        }
        let end = (self.top + room).min(self.lines.len());
        let more = if self.is_whole { "" } else { "+" };
        let place = match (self.is_nowhere, self.is_seeking) {
            (true, _) => format!("{} is nowhere", self.wanted),
            (_, true) => format!("looking for {}", self.wanted),
            _ => format!("lines {} to {end} of {}{more}", self.top + 1, self.lines.len()),
        };
        let keys = "/ searches, n again · ↑↓ PgUp PgDn Home End";
        Line::of(format!(" Esc goes back · {place} · {keys} "), Role::Chosen)
    }

    /// The line with what is searched for marked.
    fn marked(&self, line: &Line) -> Line {
        let Some(from) = found(line, &self.wanted).filter(|_| !self.is_typing) else {
            return line.clone();
        };
        let (to, mut at) = (from + self.wanted.len(), 0);
        let mut marked = Line::new();
        for span in &line.spans {
            for letter in span.text.split_inclusive(|_| true) {
                let role = if (from..to).contains(&at) { Role::Chosen } else { span.role };
                marked.push(letter, role);
                at += letter.len();
            }
        }
        marked
    }
}

/// Where a line holds this, large or small.
fn found(line: &Line, wanted: &str) -> Option<usize> {
    let is_wanted = !wanted.is_empty();
    let words = is_wanted.then(|| line.words().to_ascii_lowercase())?;
    words.find(&wanted.to_ascii_lowercase())
}

/// Bytes of entries that are drawn in a frame.
const BYTES_MAX: usize = 64 * 1024;
const WANTED_MAX: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::Entry;

    fn entries(count: usize) -> Entries {
        let mut entries = Entries::default();
        for number in 0..count {
            entries.push(Entry::Answer(format!("Answer number {number}.\n\n{}", "x ".repeat(400))));
        }
        entries
    }

    fn shown(pager: &Pager) -> String {
        pager.screen(80, 24).iter().map(|line| line.words() + "\n").collect()
    }

    #[test]
    fn a_long_session_opens_at_once_and_comes_frame_by_frame() {
        let entries = entries(5_000);
        let mut pager = Pager::at_end(&entries, "", (80, 24));
        let drawn = pager.lines.len();
        assert!(!pager.is_whole() && drawn < 5_000, "{drawn}");
        assert!(shown(&pager).contains("of "), "{}", shown(&pager));
        let before = shown(&pager).lines().next().map(str::to_owned);
        let mut frames = 0;
        while !pager.is_whole() {
            let had = pager.lines.len();
            pager.load(&entries, "", 24);
            assert!(pager.lines.len() - had < 3_000);
            frames += 1;
        }
        assert!(frames > 10);
        assert_eq!(shown(&pager).lines().next().map(str::to_owned), before, "it does not move");
        pager.key(&Key::Letter('g'), 24);
        assert!(shown(&pager).contains("Answer number 0."));
    }

    #[test]
    fn what_is_searched_for_is_found_before_and_after_it_is_drawn() {
        let entries = entries(3_000);
        let mut pager = Pager::at_end(&entries, "", (80, 24));
        let search = |pager: &mut Pager, words: &str| {
            pager.key(&Key::Letter('/'), 24);
            for letter in words.chars() {
                assert!(pager.key(&Key::Letter(letter), 24), "{words}: no letter leaves");
            }
            pager.key(&Key::Enter, 24);
            while !pager.is_whole() && pager.is_seeking {
                pager.load(&entries, "", 24);
            }
        };
        search(&mut pager, "NUMBER 7.");
        assert!(shown(&pager).contains("Answer number 7."), "{}", shown(&pager));
        let marked = pager.screen(80, 24).iter().any(|line| {
            line.spans.iter().any(|span| span.role == Role::Chosen && span.text == "number 7.")
        });
        assert!(marked);
        search(&mut pager, "number 29");
        let first = shown(&pager);
        pager.key(&Key::Letter('n'), 24);
        assert_ne!(shown(&pager), first);
        pager.key(&Key::Letter('N'), 24);
        assert_eq!(shown(&pager), first);
        search(&mut pager, "quince");
        assert!(shown(&pager).contains("quince is nowhere"), "{}", shown(&pager));
        assert!(!pager.key(&Key::Letter('q'), 24), "it leaves");
    }
}
