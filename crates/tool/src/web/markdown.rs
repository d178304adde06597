//! A page as Markdown: what a reader would read, without what only a browser needs.
//!
//! Works through the page once, with a few counters and no tree. Headings, paragraphs, lists,
//! links, code, quotations and tables survive; layout does not.

use reqwest::Url;

use super::html::{Piece, Pieces, attribute, decoded};

/// Lists and quotations nested deeper than this are shown at this depth.
const DEPTH_MAX: usize = 16;

/// The page, and its title if it has one.
pub(super) fn markdown(page: &str, base: &Url) -> (String, Option<String>) {
    let mut writer = Writer::new(base);
    let mut pieces = Pieces::of(page);
    while let Some(piece) = pieces.next() {
        match piece {
            Piece::Text(text) => writer.text(text),
            Piece::Open(name, attributes) => {
                let name = name.to_ascii_lowercase();
                if RAW.contains(&name.as_str()) {
                    let content = pieces.skip_raw(&name);
                    if name == "title" {
                        writer.title.get_or_insert_with(|| one_line(&decoded(content)));
                    }
                } else {
                    writer.open(&name, attributes);
                }
            }
            Piece::Close(name) => writer.close(&name.to_ascii_lowercase()),
        }
    }
    let title = writer.title.take().filter(|title| !title.is_empty());
    (writer.page.trim().to_owned(), title)
}

/// Not markup inside.
const RAW: &[&str] =
    &["script", "style", "title", "textarea", "noscript", "template", "svg", "iframe"];
/// Left out with everything in them.
const LEFT_OUT: &[&str] = &["nav", "button", "select", "dialog"];

struct Writer<'b> {
    page: String,
    base: &'b Url,
    title: Option<String>,
    /// Line ends owed before the next text.
    owed: usize,
    quotes: usize,
    /// The next number of each open list; `None` for one without numbers.
    lists: Vec<Option<u64>>,
    pre: usize,
    left_out: Option<(String, usize)>,
    links: Vec<Option<String>>,
    row: Option<Row>,
}

#[derive(Default)]
struct Row {
    cells: usize,
    is_head: bool,
}

impl<'b> Writer<'b> {
    fn new(base: &'b Url) -> Self {
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

    fn open(&mut self, name: &str, attributes: &str) {
        if let Some((left_out, depth)) = &mut self.left_out {
            *depth += usize::from(left_out == name);
            return;
        }
        match name {
            _ if LEFT_OUT.contains(&name) => self.left_out = Some((name.to_owned(), 1)),
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                self.block(2);
                let level = name.bytes().last().map_or(1, |digit| usize::from(digit - b'0'));
                self.mark(&format!("{} ", "#".repeat(level)));
            }
            "br" => self.block(1),
            "hr" => {
                self.block(2);
                self.mark("---");
                self.block(2);
            }
            "pre" => {
                self.block(2);
                self.mark("```");
                self.page.push('\n');
                self.pre += 1;
            }
            "code" | "kbd" | "samp" if self.pre == 0 => self.mark("`"),
            "strong" | "b" => self.mark("**"),
            "em" | "i" => self.mark("*"),
            "blockquote" => {
                self.block(2);
                self.quotes = (self.quotes + 1).min(DEPTH_MAX);
            }
            "ul" | "ol" => {
                self.block(if self.lists.is_empty() { 2 } else { 1 });
                if self.lists.len() < DEPTH_MAX {
                    let first = attribute(attributes, "start").and_then(|it| it.parse().ok());
                    self.lists.push((name == "ol").then_some(first.unwrap_or(1)));
                }
            }
            "li" => self.item(),
            "a" => self.link(attributes),
            "img" => self.picture(attributes),
            "tr" => {
                self.end_row();
                self.row = Some(Row::default());
            }
            "td" | "th" => self.cell(name == "th"),
            _ if BLOCKS.contains(&name) => self.block(2),
            _ => {}
        }
    }

    fn close(&mut self, name: &str) {
        if let Some((left_out, depth)) = &mut self.left_out {
            *depth -= usize::from(left_out == name);
            if *depth == 0 {
                self.left_out = None;
            }
            return;
        }
        match name {
            "pre" => {
                if self.pre > 0 {
                    self.pre -= 1;
                    if !self.page.ends_with('\n') {
                        self.page.push('\n');
                    }
                    self.page.push_str("```");
                }
                self.block(2);
            }
            "code" | "kbd" | "samp" if self.pre == 0 => self.end_mark("`"),
            "strong" | "b" => self.end_mark("**"),
            "em" | "i" => self.end_mark("*"),
            "blockquote" => {
                self.quotes = self.quotes.saturating_sub(1);
                self.block(2);
            }
            "ul" | "ol" => {
                self.lists.pop();
                self.block(if self.lists.is_empty() { 2 } else { 1 });
            }
            "a" => self.end_link(),
            "tr" => self.end_row(),
            "table" | "thead" | "tbody" => {
                self.end_row();
                self.block(2);
            }
            "td" | "th" => {}
            _ if BLOCKS.contains(&name) || name.starts_with('h') => self.block(2),
            _ => {}
        }
    }

    /// At least so many line ends before what follows. Within a row of a table: a space.
    fn block(&mut self, ends: usize) {
        match self.row {
            Some(_) => self.space(),
            None => self.owed = self.owed.max(ends),
        }
    }

    fn space(&mut self) {
        if !self.page.ends_with([' ', '\n']) && !self.page.is_empty() {
            self.page.push(' ');
        }
    }

    /// Goes to where the next text begins.
    fn settle(&mut self) {
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

    fn mark(&mut self, mark: &str) {
        self.settle();
        self.page.push_str(mark);
    }

    /// Ends a mark, or takes it back if nothing is marked.
    fn end_mark(&mut self, mark: &str) {
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

    fn text(&mut self, text: &str) {
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

    fn item(&mut self) {
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

    fn link(&mut self, attributes: &str) {
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

    fn end_link(&mut self) {
        let Some(Some(target)) = self.links.pop() else { return };
        if self.page.ends_with('[') {
            self.page.pop();
        } else {
            self.page.truncate(self.page.trim_end_matches(' ').len());
            self.page.push_str(&format!("]({target})"));
        }
    }

    fn picture(&mut self, attributes: &str) {
        let words = attribute(attributes, "alt").map(|words| one_line(&words));
        if let Some(words) = words.filter(|words| !words.is_empty()) {
            self.mark(&format!("![{words}]"));
        }
    }

    fn cell(&mut self, is_head: bool) {
        self.settle();
        if let Some(row) = &mut self.row {
            self.page.push_str(if row.cells == 0 { "| " } else { " | " });
            row.cells += 1;
            row.is_head |= is_head;
        }
    }

    fn end_row(&mut self) {
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

/// Begin and end on a line of their own.
const BLOCKS: &[&str] = &[
    "p",
    "div",
    "section",
    "article",
    "main",
    "header",
    "footer",
    "aside",
    "table",
    "thead",
    "tbody",
    "dl",
    "dt",
    "dd",
    "figure",
    "figcaption",
    "form",
    "fieldset",
    "details",
    "summary",
    "address",
    "head",
    "body",
    "html",
    "caption",
];

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
