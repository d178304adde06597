//! A list to choose from, with search. Pure: what choosing means is for whoever shows it.

use unicode_segmentation::UnicodeSegmentation;

use crate::composer::Move;
use crate::fuzzy;
use crate::input::Key;
use crate::line::{Line, Role};
use crate::text;

/// One thing to choose.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Item {
    /// What it stands for; nothing, if it is only there to be read.
    pub value: String,
    /// What is shown of it.
    pub label: String,
    /// What else there is to say.
    pub about: String,
}

/// A list that is open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Picker {
    /// What is chosen here.
    pub title: String,
    items: Vec<Item>,
    wanted: String,
    /// Those that fit what is searched for, by their place.
    fitting: Vec<usize>,
    chosen: usize,
}

/// What came of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Picked {
    /// Nothing yet.
    Going,
    /// Nothing is wanted.
    Nothing,
    /// This.
    Item(Item),
}

impl Picker {
    /// A list, the first of it chosen.
    #[must_use]
    pub fn new(title: impl Into<String>, items: Vec<Item>) -> Self {
        let fitting = (0..items.len()).collect();
        Self { title: title.into(), items, wanted: String::new(), fitting, chosen: 0 }
    }

    /// With the last one chosen.
    #[must_use]
    pub fn from_the_end(mut self) -> Self {
        self.chosen = self.fitting.len().saturating_sub(1);
        self
    }

    /// A key was pressed.
    pub fn key(&mut self, key: &Key) -> Picked {
        let last = self.fitting.len().saturating_sub(1);
        match key {
            Key::Escape | Key::Cancel => return Picked::Nothing,
            Key::Enter | Key::Tab => {
                let item = self.fitting.get(self.chosen).and_then(|at| self.items.get(*at));
                return match item {
                    // It is only there to be read.
                    Some(item) if item.value.is_empty() => Picked::Going,
                    Some(item) => Picked::Item(item.clone()),
                    None => Picked::Nothing,
                };
            }
            Key::Move(Move::Up) => self.chosen = self.chosen.saturating_sub(1),
            Key::Move(Move::Down) | Key::Search => self.chosen = (self.chosen + 1).min(last),
            Key::PageUp => self.chosen = self.chosen.saturating_sub(PAGE),
            Key::PageDown => self.chosen = (self.chosen + PAGE).min(last),
            Key::Move(Move::Home) => self.chosen = 0,
            Key::Move(Move::End) => self.chosen = last,
            Key::Letter(letter) => {
                self.wanted.push(*letter);
                self.search();
            }
            Key::Backspace => {
                let at = self.wanted.grapheme_indices(true).next_back().map_or(0, |(at, _)| at);
                self.wanted.truncate(at);
                self.search();
            }
            Key::DeleteToHome | Key::DeleteWord => {
                self.wanted.clear();
                self.search();
            }
            _ => {}
        }
        Picked::Going
    }

    /// Words that stand in it as they are, before letters that merely stand in it somewhere.
    fn search(&mut self) {
        let wanted = self.wanted.to_lowercase();
        let fit = |item: &Item| {
            let whole = format!("{} {}", item.label, item.about).to_lowercase();
            let is_whole = whole.contains(&wanted);
            if is_whole { Some(i64::MAX) } else { fuzzy::score(&wanted, &item.label) }
        };
        let mut fitting: Vec<(i64, usize)> = self
            .items
            .iter()
            .enumerate()
            .filter_map(|(at, item)| fit(item).map(|fit| (fit, at)))
            .collect();
        fitting.sort_by(|one, other| other.0.cmp(&one.0).then(one.1.cmp(&other.1)));
        self.fitting = fitting.into_iter().map(|(_, at)| at).collect();
        self.chosen = 0;
    }

    /// All that is said of what is chosen, where its row has no room for it.
    fn rest(&self, width: usize) -> Vec<Line> {
        let item = self.fitting.get(self.chosen).and_then(|at| self.items.get(*at));
        let Some(item) = item else { return Vec::new() };
        let (label, about) = (text::one_line(&item.label), text::one_line(&item.about));
        if Line::of(format!("› {label}  {about}"), Role::Quiet).width() <= width {
            return Vec::new();
        }
        let mut lines = Line::of(format!("    {label}  {about}"), Role::Quiet).wrapped(width, 4);
        lines.truncate(REST_MAX);
        lines
    }

    /// What is shown, in at most so many rows.
    #[must_use]
    pub fn lines(&self, width: usize, rows: usize) -> Vec<Line> {
        let mut head = Line::of(self.title.clone(), Role::Heading);
        head.push(format!("  {} of {}", self.fitting.len(), self.items.len()), Role::Quiet);
        let mut lines = vec![head.cut(width)];
        let more = self.rest(width);
        let room = rows.saturating_sub(3 + more.len()).max(1);
        let first = self.chosen.saturating_sub(room.saturating_sub(1));
        let shown = self.fitting.iter().enumerate().skip(first).take(room);
        lines.extend(shown.filter_map(|(number, at)| {
            let item = self.items.get(*at)?;
            let is_chosen = number == self.chosen;
            let (sign, role) = if is_chosen { ("› ", Role::Chosen) } else { ("  ", Role::Plain) };
            let line = Line::of(sign, role).and(text::one_line(&item.label), role);
            Some(line.and(format!("  {}", text::one_line(&item.about)), Role::Quiet).cut(width))
        }));
        lines.extend(more);
        let search = Line::of("search: ", Role::Quiet).and(self.wanted.clone(), Role::Plain);
        lines.push(search.and("▏", Role::Plain).cut(width));
        let hint = "↑↓ choose · Enter takes it · Esc leaves it · letters search";
        lines.push(Line::of(hint, Role::Quiet).cut(width));
        lines
    }
}

const PAGE: usize = 10;
/// Lines that are said of what is chosen.
const REST_MAX: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    fn picker() -> Picker {
        let names = ["mend the leap years", "add a test", "write it down"];
        let item = |name: &&str| Item {
            value: name.to_string(),
            label: name.to_string(),
            about: String::new(),
        };
        Picker::new("Which?", names.iter().map(item).collect())
    }

    fn typed(picker: &mut Picker, keys: &[Key]) -> Picked {
        let mut picked = Picked::Going;
        for key in keys {
            picked = picker.key(key);
        }
        picked
    }

    fn value(picked: Picked) -> String {
        match picked {
            Picked::Item(item) => item.value,
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn letters_search_and_arrows_choose() {
        let down = Key::Move(Move::Down);
        let taken = typed(&mut picker(), &[down.clone(), down.clone(), down, Key::Enter]);
        assert_eq!(value(taken), "write it down");
        let taken = typed(
            &mut picker(),
            &[Key::Letter('t'), Key::Letter('e'), Key::Letter('s'), Key::Enter],
        );
        assert_eq!(value(taken), "add a test");
        let none = typed(&mut picker(), &[Key::Letter('#'), Key::Enter]);
        assert_eq!(none, Picked::Nothing);
        let back = typed(&mut picker(), &[Key::Letter('#'), Key::Backspace, Key::Enter]);
        assert_eq!(value(back), "mend the leap years");
        let long = Item { label: "a rule".to_owned(), about: "word ".repeat(9), ..Item::default() };
        let shown = Picker::new("Which?", vec![long.clone()]).lines(30, 9);
        let words: String = shown.iter().map(Line::words).collect();
        assert!(words.matches("word").count() > 9, "all of it is said below: {words}");
        let shown = Picker::new("Which?", vec![long]).lines(80, 9);
        assert_eq!(shown.len(), 4);
        for rows in 1..9 {
            assert!(picker().lines(30, rows).iter().all(|line| line.width() <= 30));
        }
    }
}
