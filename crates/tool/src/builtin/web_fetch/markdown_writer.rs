//! Writes Markdown: blocks, marks, list items, links, table rows.

use reqwest::Url;

use super::html_tokens::{decode_entities, find_attribute};

/// Deeper lists and quotations are shown at this depth.
pub(super) const DEPTH_MAX: usize = 16;

pub(super) struct HtmlMarkdownWriter<'b> {
    pub(super) output: String,
    pub(super) base: &'b Url,
    pub(super) title: Option<String>,
    pub(super) pending_breaks: usize,
    pub(super) quote_depth: usize,
    /// The next number of each open list; `None` for an unordered one.
    pub(super) lists: Vec<Option<u64>>,
    pub(super) pre_depth: usize,
    pub(super) skipped_element: Option<(String, usize)>,
    pub(super) links: Vec<Option<String>>,
    pub(super) row: Option<HtmlTableRow>,
}

#[derive(Default)]
pub(super) struct HtmlTableRow {
    pub(super) cells: usize,
    pub(super) is_head: bool,
}

impl<'b> HtmlMarkdownWriter<'b> {
    pub(super) fn new(base: &'b Url) -> Self {
        Self {
            output: String::new(),
            base,
            title: None,
            pending_breaks: 0,
            quote_depth: 0,
            lists: Vec::new(),
            pre_depth: 0,
            skipped_element: None,
            links: Vec::new(),
            row: None,
        }
    }

    /// Ensures this many line breaks before what follows; in a table row, a space.
    pub(super) fn break_lines(&mut self, ends: usize) {
        match self.row {
            Some(_) => self.push_space(),
            None => self.pending_breaks = self.pending_breaks.max(ends),
        }
    }

    pub(super) fn push_space(&mut self) {
        if !self.output.ends_with([' ', '\n']) && !self.output.is_empty() {
            self.output.push(' ');
        }
    }

    pub(super) fn flush_breaks(&mut self) {
        if self.pending_breaks == 0 {
            return;
        }
        let owed = std::mem::take(&mut self.pending_breaks);
        if !self.output.is_empty() {
            self.output.truncate(self.output.trim_end_matches(' ').len());
            self.output.extend(std::iter::repeat_n('\n', owed));
        }
        self.output.push_str(&"> ".repeat(self.quote_depth));
        self.output.push_str(&"  ".repeat(self.lists.len().saturating_sub(1)));
    }

    pub(super) fn push_mark(&mut self, mark: &str) {
        self.flush_breaks();
        self.output.push_str(mark);
    }

    /// Closes a mark, or removes it if it is empty.
    pub(super) fn end_mark(&mut self, mark: &str) {
        if self.output.ends_with(mark) {
            self.output.truncate(self.output.len() - mark.len());
        } else {
            let has_space = self.output.ends_with(' ');
            self.output.truncate(self.output.trim_end_matches(' ').len());
            self.output.push_str(mark);
            if has_space {
                self.output.push(' ');
            }
        }
    }

    pub(super) fn push_text(&mut self, text: &str) {
        if self.skipped_element.is_some() {
            return;
        }
        let text = decode_entities(text);
        if self.pre_depth > 0 {
            self.flush_breaks();
            self.output.push_str(&text);
            return;
        }
        if text.starts_with(char::is_whitespace) && self.pending_breaks == 0 {
            self.push_space();
        }
        for (number, word) in text.split_whitespace().enumerate() {
            if number > 0 {
                self.output.push(' ');
            }
            self.flush_breaks();
            self.output.push_str(word);
        }
        if text.ends_with(char::is_whitespace) && self.pending_breaks == 0 {
            self.push_space();
        }
    }

    pub(super) fn start_item(&mut self) {
        self.break_lines(1);
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                *number = number.saturating_add(1);
                format!("{}. ", *number - 1)
            }
            _ => "- ".to_owned(),
        };
        self.push_mark(&mark);
    }

    pub(super) fn start_link(&mut self, attributes: &str) {
        let target = find_attribute(attributes, "href").filter(|it| !it.starts_with('#'));
        let target = target.and_then(|it| self.base.join(it.trim()).ok());
        let target = target.filter(|url| matches!(url.scheme(), "http" | "https" | "mailto"));
        if self.links.len() < DEPTH_MAX {
            if target.is_some() {
                self.push_mark("[");
            }
            self.links.push(target.map(String::from));
        }
    }

    pub(super) fn end_link(&mut self) {
        let Some(Some(target)) = self.links.pop() else { return };
        if self.output.ends_with('[') {
            self.output.pop();
        } else {
            self.output.truncate(self.output.trim_end_matches(' ').len());
            self.output.push_str(&format!("]({target})"));
        }
    }

    pub(super) fn push_image(&mut self, attributes: &str) {
        let words = find_attribute(attributes, "alt").map(|words| collapse_whitespace(&words));
        if let Some(words) = words.filter(|words| !words.is_empty()) {
            self.push_mark(&format!("![{words}]"));
        }
    }

    pub(super) fn start_cell(&mut self, is_head: bool) {
        self.flush_breaks();
        if let Some(row) = &mut self.row {
            self.output.push_str(if row.cells == 0 { "| " } else { " | " });
            row.cells += 1;
            row.is_head |= is_head;
        }
    }

    pub(super) fn end_row(&mut self) {
        if let Some(row) = self.row.take().filter(|row| row.cells > 0) {
            self.output.truncate(self.output.trim_end_matches(' ').len());
            self.output.push_str(" |");
            if row.is_head {
                self.output.push_str(&format!("\n|{}", "---|".repeat(row.cells.min(100))));
            }
        }
        self.break_lines(1);
    }
}

pub(super) fn collapse_whitespace(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
