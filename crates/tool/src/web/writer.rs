//! The page that is being written, and its parts: blocks, marks, items, links, rows.

use reqwest::Url;

use super::html::{attribute, decoded};

/// Lists and quotations nested deeper than this are shown at this depth.
pub(super) const DEPTH_MAX: usize = 16;

pub(super) struct Writer<'b> {
    pub(super) page: String,
    pub(super) base: &'b Url,
    pub(super) title: Option<String>,
    /// Line ends owed before the next text.
    pub(super) owed: usize,
    pub(super) quotes: usize,
    /// The next number of each open list; `None` for one without numbers.
    pub(super) lists: Vec<Option<u64>>,
    pub(super) pre: usize,
    pub(super) left_out: Option<(String, usize)>,
    pub(super) links: Vec<Option<String>>,
    pub(super) row: Option<Row>,
}

#[derive(Default)]
pub(super) struct Row {
    pub(super) cells: usize,
    pub(super) is_head: bool,
}

impl<'b> Writer<'b> {
    pub(super) fn new(base: &'b Url) -> Self {
        Self {
            page: String::new(),
            base,
            title: None,
            owed: 0,
            quotes: 0,
            lists: Vec::new(),
            pre: 0,
            left_out: None,
            links: Vec::new(),
            row: None,
        }
    }

    /// At least so many line ends before what follows. Within a row of a table: a space.
    pub(super) fn block(&mut self, ends: usize) {
        match self.row {
            Some(_) => self.space(),
            None => self.owed = self.owed.max(ends),
        }
    }

    pub(super) fn space(&mut self) {
        if !self.page.ends_with([' ', '\n']) && !self.page.is_empty() {
            self.page.push(' ');
        }
    }

    /// Goes to where the next text begins.
    pub(super) fn settle(&mut self) {
        if self.owed == 0 {
            return;
        }
        let owed = std::mem::take(&mut self.owed);
        if !self.page.is_empty() {
            self.page.truncate(self.page.trim_end_matches(' ').len());
            self.page.extend(std::iter::repeat_n('\n', owed));
        }
        self.page.push_str(&"> ".repeat(self.quotes));
        self.page.push_str(&"  ".repeat(self.lists.len().saturating_sub(1)));
    }

    pub(super) fn mark(&mut self, mark: &str) {
        self.settle();
        self.page.push_str(mark);
    }

    /// Ends a mark, or takes it back if nothing is marked.
    pub(super) fn end_mark(&mut self, mark: &str) {
        if self.page.ends_with(mark) {
            self.page.truncate(self.page.len() - mark.len());
        } else {
            let has_space = self.page.ends_with(' ');
            self.page.truncate(self.page.trim_end_matches(' ').len());
            self.page.push_str(mark);
            if has_space {
                self.page.push(' ');
            }
        }
    }

    pub(super) fn text(&mut self, text: &str) {
        if self.left_out.is_some() {
            return;
        }
        let text = decoded(text);
        if self.pre > 0 {
            self.settle();
            self.page.push_str(&text);
            return;
        }
        if text.starts_with(char::is_whitespace) && self.owed == 0 {
            self.space();
        }
        for (number, word) in text.split_whitespace().enumerate() {
            if number > 0 {
                self.page.push(' ');
            }
            self.settle();
            self.page.push_str(word);
        }
        if text.ends_with(char::is_whitespace) && self.owed == 0 {
            self.space();
        }
    }

    pub(super) fn item(&mut self) {
        self.block(1);
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                *number = number.saturating_add(1);
                format!("{}. ", *number - 1)
            }
            _ => "- ".to_owned(),
        };
        self.mark(&mark);
    }

    pub(super) fn link(&mut self, attributes: &str) {
        let target = attribute(attributes, "href").filter(|it| !it.starts_with('#'));
        let target = target.and_then(|it| self.base.join(it.trim()).ok());
        let target = target.filter(|url| matches!(url.scheme(), "http" | "https" | "mailto"));
        if self.links.len() < DEPTH_MAX {
            if target.is_some() {
                self.mark("[");
            }
            self.links.push(target.map(String::from));
        }
    }

    pub(super) fn end_link(&mut self) {
        let Some(Some(target)) = self.links.pop() else { return };
        if self.page.ends_with('[') {
            self.page.pop();
        } else {
            self.page.truncate(self.page.trim_end_matches(' ').len());
            self.page.push_str(&format!("]({target})"));
        }
    }

    pub(super) fn picture(&mut self, attributes: &str) {
        let words = attribute(attributes, "alt").map(|words| one_line(&words));
        if let Some(words) = words.filter(|words| !words.is_empty()) {
            self.mark(&format!("![{words}]"));
        }
    }

    pub(super) fn cell(&mut self, is_head: bool) {
        self.settle();
        if let Some(row) = &mut self.row {
            self.page.push_str(if row.cells == 0 { "| " } else { " | " });
            row.cells += 1;
            row.is_head |= is_head;
        }
    }

    pub(super) fn end_row(&mut self) {
        if let Some(row) = self.row.take().filter(|row| row.cells > 0) {
            self.page.truncate(self.page.trim_end_matches(' ').len());
            self.page.push_str(" |");
            if row.is_head {
                self.page.push_str(&format!("\n|{}", "---|".repeat(row.cells.min(100))));
            }
        }
        self.block(1);
    }
}

pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
