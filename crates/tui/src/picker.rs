//! A list to choose from, with fuzzy search. Pure: the caller decides what a choice means.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

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
            InputKey::Char(digit @ '1'..='9') if self.is_numbered() => {
                let at = usize::try_from(u32::from(*digit) - u32::from('1')).unwrap_or(usize::MAX);
                let item = self.items.get(at).filter(|item| !item.value.is_empty());
                return item.cloned().map_or(PickerOutcome::Pending, PickerOutcome::Chosen);
            }
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

    /// A few choices are seen at a glance: their numbers choose, and there is no search line.
    fn is_numbered(&self) -> bool {
        self.items.len() <= GLANCE_ITEMS_MAX && self.query.is_empty()
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
        let shows_search = !self.is_numbered();
        let mut head = StyledLine::from_text(self.title.clone(), TextStyle::Heading);
        if shows_search {
            head.push(format!("  {} of {}", self.matches.len(), self.items.len()), TextStyle::Dim);
        }
        let mut lines = vec![head.truncate_to_width(width)];
        let more = self.render_description(width);
        let room = rows.saturating_sub(3 + more.len()).max(1);
        let first = self.selected.saturating_sub(room.saturating_sub(1));
        let shown = self.matches.iter().enumerate().skip(first).take(room);
        let rows =
            shown.filter_map(|(number, at)| Some((number, PickerRow::new(self.items.get(*at)?))));
        let rows: Vec<(usize, PickerRow)> = rows.collect();
        let is_numbered = !shows_search && rows.iter().any(|(_, row)| row.may_be_chosen);
        // Notes are aligned, as far as long labels leave room for them.
        let notes = rows.iter().map(|(_, row)| row.note.width()).max().unwrap_or(0);
        let labels = rows.iter().map(|(_, row)| row.label.width()).max().unwrap_or(0);
        let free = width.saturating_sub(ROW_MARGIN);
        let label_room = free.saturating_sub(notes).max(width * 3 / 5).max(free.min(NAME_MAX));
        let column = labels.min(label_room);
        lines.extend(rows.into_iter().map(|(number, row)| {
            let is_selected = number == self.selected;
            let (sign, style) =
                if is_selected { ("› ", TextStyle::Selected) } else { ("  ", TextStyle::Plain) };
            let number = match (is_numbered, row.may_be_chosen) {
                (true, true) => format!("{}. ", number + 1),
                (true, false) => "   ".to_owned(),
                (false, _) => String::new(),
            };
            let label = StyledLine::from_text(format!("{sign}{number}{}", row.label), style);
            let column = sign.width() + number.len() + column;
            let line = if row.note.is_empty() { label } else { label.truncate_to_width(column) };
            let gap = " ".repeat(column.saturating_sub(line.width()) + 2);
            line.with_span(format!("{gap}{}", row.note), TextStyle::Dim)
                .trim_end()
                .truncate_to_width(width)
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

/// An item as it is shown.
struct PickerRow {
    may_be_chosen: bool,
    label: String,
    note: String,
}

impl PickerRow {
    fn new(item: &PickerItem) -> Self {
        Self {
            may_be_chosen: !item.value.is_empty(),
            label: text::to_one_line(&item.label),
            note: text::to_one_line(&item.description),
        }
    }
}

/// The sign of the selected row, its number, and the gap between label and note.
const ROW_MARGIN: usize = 7;
/// A label up to this long may be a name, which must be told from the next one on a narrow screen, too.
const NAME_MAX: usize = 30;
/// Up to this many items need no search line.
const GLANCE_ITEMS_MAX: usize = 6;
const PAGE_ROWS: usize = 10;
const DESCRIPTION_LINES_MAX: usize = 4;
