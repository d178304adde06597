//! A list to choose from, with fuzzy search. Pure: the caller decides what a choice means.

use unicode_segmentation::UnicodeSegmentation;

use crate::fuzzy;
use crate::input::{CursorMove, Deletion, InputKey, Shortcut};
use crate::styled_line::{StyledLine, TextStyle};
use crate::{text, words};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PickerItem {
    /// Empty if the item cannot be chosen. In pickers of the host this is a prompt such as `/rewind 3`:
    /// the host resolves a choice exactly as if it had been typed, so there is one parser of commands.
    pub value: String,
    pub label: String,
    pub description: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Picker {
    pub title: String,
    items: Vec<PickerItem>,
    query: String,
    /// Indices of the items that match, the best first.
    matches: Vec<usize>,
    selected: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PickerOutcome {
    Pending,
    Cancelled,
    Chosen(PickerItem),
}

impl Picker {
    /// The first item is selected.
    pub fn new(title: impl Into<String>, items: Vec<PickerItem>) -> Self {
        let matches = (0..items.len()).collect();
        Self { title: title.into(), items, query: String::new(), matches, selected: 0 }
    }

    pub fn select_last(mut self) -> Self {
        self.selected = self.matches.len().saturating_sub(1);
        self
    }

    pub fn handle_key(&mut self, key: &InputKey) -> PickerOutcome {
        let last = self.matches.len().saturating_sub(1);
        match key {
            InputKey::Escape | InputKey::Cancel => return PickerOutcome::Cancelled,
            InputKey::Enter | InputKey::Tab => {
                let item = self.matches.get(self.selected).and_then(|at| self.items.get(*at));
                return match item {
                    Some(item) if !item.value.is_empty() => PickerOutcome::Chosen(item.clone()),
                    // Nothing fits the search: it can be changed.
                    Some(_) | None => PickerOutcome::Pending,
                };
            }
            InputKey::Move(CursorMove::Up) => self.selected = self.selected.saturating_sub(1),
            InputKey::Move(CursorMove::Down) | InputKey::Shortcut(Shortcut::SearchHistory) => {
                self.selected = (self.selected + 1).min(last);
            }
            InputKey::PageUp => self.selected = self.selected.saturating_sub(PAGE_ROWS),
            InputKey::PageDown => self.selected = (self.selected + PAGE_ROWS).min(last),
            InputKey::Move(CursorMove::Home) => self.selected = 0,
            InputKey::Move(CursorMove::End) => self.selected = last,
            InputKey::Char(letter) => {
                self.query.push(*letter);
                self.update_matches();
            }
            InputKey::Delete(Deletion::CharBefore) => {
                let at = self.query.grapheme_indices(true).next_back().map_or(0, |(at, _)| at);
                self.query.truncate(at);
                self.update_matches();
            }
            InputKey::Delete(Deletion::ToHome | Deletion::WordBefore) => {
                self.query.clear();
                self.update_matches();
            }
            InputKey::Move(_)
            | InputKey::NewLine
            | InputKey::EndOfInput
            | InputKey::BackTab
            | InputKey::Paste(_)
            | InputKey::Delete(_)
            | InputKey::Shortcut(_) => {}
        }
        PickerOutcome::Pending
    }

    /// Items that contain the query as it is come before fuzzy matches.
    fn update_matches(&mut self) {
        let query = self.query.to_lowercase();
        let score = |item: &PickerItem| {
            let text = format!("{} {}", item.label, item.description).to_lowercase();
            if text.contains(&query) { Some(i64::MAX) } else { fuzzy::score(&query, &item.label) }
        };
        let mut scored: Vec<(i64, usize)> = self
            .items
            .iter()
            .enumerate()
            .filter_map(|(at, item)| score(item).map(|score| (score, at)))
            .collect();
        scored.sort_by(|one, other| other.0.cmp(&one.0).then(one.1.cmp(&other.1)));
        self.matches = scored.into_iter().map(|(_, at)| at).collect();
        self.selected = 0;
    }

    /// The selected item in full, if its row has no room for it.
    fn render_description(&self, width: usize) -> Vec<StyledLine> {
        let item = self.matches.get(self.selected).and_then(|at| self.items.get(*at));
        let Some(item) = item else { return Vec::new() };
        let label = text::to_one_line(&item.label);
        let description = text::to_one_line(&item.description);
        if StyledLine::from_text(format!("› {label}  {description}"), TextStyle::Dim).width()
            <= width
        {
            return Vec::new();
        }
        let mut lines =
            StyledLine::from_text(format!("    {label}  {description}"), TextStyle::Dim)
                .wrap(width, 4);
        lines.truncate(DESCRIPTION_LINES_MAX);
        lines
    }

    pub fn render(&self, width: usize, rows: usize) -> Vec<StyledLine> {
        // A few choices are seen at a glance.
        let shows_search = self.items.len() > GLANCE_ITEMS_MAX || !self.query.is_empty();
        let mut head = StyledLine::from_text(self.title.clone(), TextStyle::Heading);
        if shows_search {
            head.push(format!("  {} of {}", self.matches.len(), self.items.len()), TextStyle::Dim);
        }
        let mut lines = vec![head.truncate_to_width(width)];
        let more = self.render_description(width);
        let room = rows.saturating_sub(3 + more.len()).max(1);
        let first = self.selected.saturating_sub(room.saturating_sub(1));
        let shown = self.matches.iter().enumerate().skip(first).take(room);
        lines.extend(shown.filter_map(|(number, at)| {
            let item = self.items.get(*at)?;
            let is_selected = number == self.selected;
            let (sign, style) =
                if is_selected { ("› ", TextStyle::Selected) } else { ("  ", TextStyle::Plain) };
            let line =
                StyledLine::from_text(sign, style).with_span(text::to_one_line(&item.label), style);
            Some(
                line.with_span(
                    format!("  {}", text::to_one_line(&item.description)),
                    TextStyle::Dim,
                )
                .truncate_to_width(width),
            )
        }));
        lines.extend(more);
        let hint = if shows_search { words::PICKER_KEYS_SEARCH } else { words::PICKER_KEYS };
        if shows_search {
            let search = StyledLine::from_text(words::PICKER_SEARCH, TextStyle::Dim)
                .with_span(self.query.clone(), TextStyle::Plain);
            lines.push(search.with_span("▏", TextStyle::Plain).truncate_to_width(width));
        }
        lines.push(StyledLine::from_text(hint, TextStyle::Dim).truncate_to_width(width));
        lines
    }
}

/// Up to this many items need no search line.
const GLANCE_ITEMS_MAX: usize = 6;
const PAGE_ROWS: usize = 10;
const DESCRIPTION_LINES_MAX: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    fn picker() -> Picker {
        let names = ["mend the leap years", "add a test", "write it down"];
        let item = |name: &&str| PickerItem {
            value: name.to_string(),
            label: name.to_string(),
            description: String::new(),
        };
        Picker::new("Which?", names.iter().map(item).collect())
    }

    fn press_keys(picker: &mut Picker, keys: &[InputKey]) -> PickerOutcome {
        let mut picked = PickerOutcome::Pending;
        for key in keys {
            picked = picker.handle_key(key);
        }
        picked
    }

    fn value(picked: PickerOutcome) -> String {
        match picked {
            PickerOutcome::Chosen(item) => item.value,
            PickerOutcome::Pending => "pending".to_owned(),
            PickerOutcome::Cancelled => "cancelled".to_owned(),
        }
    }

    #[test]
    fn a_short_list_has_no_search_line_until_something_is_typed() {
        let text = |picker: &Picker| -> String {
            picker.render(40, 12).iter().map(|line| line.plain_text() + "\n").collect()
        };
        let mut short = picker();
        assert!(!text(&short).contains("earch"), "{}", text(&short));
        assert!(!text(&short).contains("3 of 3"), "{}", text(&short));
        short.handle_key(&InputKey::Char('a'));
        assert!(text(&short).contains("Search: a▏"), "{}", text(&short));
        let item = |number| PickerItem { label: format!("{number}"), ..PickerItem::default() };
        let long = Picker::new("Which?", (0..7).map(item).collect());
        assert!(text(&long).contains("type to search"), "{}", text(&long));
        assert!(text(&long).contains("7 of 7"), "{}", text(&long));
    }

    #[test]
    fn letters_search_and_arrows_choose() {
        let down = InputKey::Move(CursorMove::Down);
        let taken = press_keys(&mut picker(), &[down.clone(), down.clone(), down, InputKey::Enter]);
        assert_eq!(value(taken), "write it down");
        let taken = press_keys(
            &mut picker(),
            &[InputKey::Char('t'), InputKey::Char('e'), InputKey::Char('s'), InputKey::Enter],
        );
        assert_eq!(value(taken), "add a test");
        let none = press_keys(&mut picker(), &[InputKey::Char('#'), InputKey::Enter]);
        assert_eq!(none, PickerOutcome::Pending);
        let back = press_keys(
            &mut picker(),
            &[InputKey::Char('#'), InputKey::Delete(Deletion::CharBefore), InputKey::Enter],
        );
        assert_eq!(value(back), "mend the leap years");
        let long = PickerItem {
            label: "a rule".to_owned(),
            description: "word ".repeat(9),
            ..PickerItem::default()
        };
        let shown = Picker::new("Which?", vec![long.clone()]).render(30, 9);
        let words: String = shown.iter().map(StyledLine::plain_text).collect();
        assert!(words.matches("word").count() > 9, "all of it is said below: {words}");
        let shown = Picker::new("Which?", vec![long]).render(80, 9);
        assert_eq!(shown.len(), 3);
        for rows in 1..9 {
            assert!(picker().render(30, rows).iter().all(|line| line.width() <= 30));
        }
    }
}
