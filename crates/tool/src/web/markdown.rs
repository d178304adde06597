//! A page as Markdown: what a reader would read, without what only a browser needs.
//!
//! Works through the page once, with a few counters and no tree. Headings, paragraphs, lists,
//! links, code, quotations and tables survive; layout does not.

use reqwest::Url;

use super::html::{Piece, Pieces, attribute, decoded};
use super::writer::{DEPTH_MAX, Row, Writer, one_line};

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

impl Writer<'_> {
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
